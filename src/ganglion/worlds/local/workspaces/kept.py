"""What a workspace keeps from one attempt to the next on this machine: folder, port and token."""

from pathlib import Path

from msgspec import Struct

from ganglion.model.workload import Gang, Kind, Run, Workload
from ganglion.seams.randomness import SYSTEM_RANDOMNESS
from ganglion.worlds.local.machine import host
from ganglion.worlds.local.run_files.paths import run_dir
from ganglion.worlds.local.run_files.records import Record, exchange
from ganglion.worlds.local.workspaces.telling import WARNING

FOLDER = "GANGLION_WORKSPACE_DIR"
"""Variable that names the folder which a workspace keeps."""
NOTE = "GANGLION_WARNING_FILE"
"""Variable that names the file in which a warning stands."""
TOKEN = "JUPYTER_TOKEN"
"""Variable from which Jupyter servers take the token that they want to see."""

TOKEN_BYTES = 24


class WorkspaceFolders(Struct, frozen=True):
    """Where the things of one workspace lie.

    Attributes:
        files: its folder, for its user.
        secret: file that holds its token.
    """

    files: Path
    secret: Path

    def token(self) -> str:
        """The token, the same for as long as the workspace lives; made when absent.

        Raises:
            OSError: the disk refuses.
        """
        if not host.exists(self.secret):
            made = SYSTEM_RANDOMNESS.token_hex(TOKEN_BYTES)
            host.replace_whole(self.secret, made.encode("ascii"), durable=True)
        return host.files.read(self.secret).decode("ascii")


def kept(home: Path, gang: Gang) -> WorkspaceFolders:
    """Where the things of a workspace lie, below Ganglion's home directory."""
    root = home / "workspaces" / gang.id
    return WorkspaceFolders(root / "files", root / "token")


def port_key(home: Path, gang: Gang, attempt: int) -> str:
    """What a gang's port is chosen by: a workspace has the same in every attempt, if it is free."""
    steady = gang.kind is Kind.WORKSPACE
    return f"{home} {gang.id}" if steady else f"{home} {gang.id}#{attempt}"


def furnish(home: Path, gang: Gang, workload: Workload, run: Run, spec: Record) -> None:
    """Give a workspace what it keeps, and its spec what watching it needs.

    Args:
        home: Ganglion's home directory.
        gang: the gang; nothing happens unless it is a workspace.
        workload: what was submitted.
        run: what the gang executes.
        spec: of the attempt; changed.

    Raises:
        OSError: the folder cannot be made.
    """
    if gang.kind is not Kind.WORKSPACE:
        return
    mine = kept(home, gang)
    host.make_folder(mine.files)
    token = run.env.get(TOKEN) or mine.token()
    warning = str(exchange(run_dir(home, gang.id, spec["attempt"]), spec) / WARNING)
    for pod in spec["pods"]:
        for rank in pod["ranks"]:
            rank["env"] |= {FOLDER: str(mine.files), TOKEN: token, NOTE: warning}
    spec["hook"] = workload.idle.hook
    spec["workspace"] = {
        "jupyter": any("jupyter" in word for word in run.command),
        "base": run.env.get("JUPYTER_BASE_URL", "/"),
    }
