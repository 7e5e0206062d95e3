"""Ganglion's home directory: token, record of the running server, places of logs."""

import os
import secrets
import stat
from pathlib import Path

import msgspec
import psutil

from ganglion.model.errors import EnvironmentFault

TOKEN_BYTES = 32
OTHERS = stat.S_IRWXG | stat.S_IRWXO
TREES = ("runs", "logs")
"""Folders with many files of the server's own."""
SOCKET = "api.sock"
"""Name of the Unix socket of the API in the home."""


class ServerRecord(msgspec.Struct, frozen=True):
    """What a running server writes about itself into `server.json`."""

    pid: int
    url: str
    started_ms: int
    socket: str = ""


class Home:
    """The files below one home directory.

    Args:
        root: the directory; made, for its owner only, where it is missing.

    Raises:
        EnvironmentFault: it cannot be made or written.
    """

    def __init__(self, root: Path) -> None:
        self.root = root.absolute()
        try:
            self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
            close_to_others(self.root)
            probe = self.root / f".probe.{os.getpid()}"
            probe.touch()
            probe.unlink()
        except OSError as error:
            raise EnvironmentFault(
                f"cannot write {self.root}: {error.strerror}",
                "set GANGLION_HOME to a folder on a writable disk",
            ) from error

    @property
    def ledger(self) -> Path:
        """The event store, unless another database is named."""
        return self.root / "ledger.db"

    def new_token(self) -> str:
        """Make the token of this start; the one before is worth nothing from now on.

        Raises:
            EnvironmentFault: it cannot be written.
        """
        path, made = self.root / "token", secrets.token_urlsafe(TOKEN_BYTES)
        try:
            _write(path, made.encode() + b"\n")
        except OSError as error:
            raise EnvironmentFault(
                f"cannot write {path}: {error.strerror}", "check the folder and its disk"
            ) from error
        return made

    def announce(self, record: ServerRecord) -> None:
        """Publish the server's address to clients."""
        _write(self.root / "server.json", msgspec.json.encode(record) + b"\n")

    def withdraw(self) -> None:
        """The server of this process is gone; a record of another one stays."""
        record = self.announced()
        if record and record.pid == os.getpid():
            (self.root / "server.json").unlink(missing_ok=True)

    def announced(self) -> ServerRecord | None:
        """What the last server wrote; None = nothing that can be read."""
        try:
            return msgspec.json.decode((self.root / "server.json").read_bytes(), type=ServerRecord)
        except (OSError, msgspec.DecodeError):
            return None


def close_to_others(root: Path) -> None:
    """Take all rights of other users from a home that an earlier version or a copy left open.

    Folders of runs and logs are only entered when the home was open: otherwise they could not
    be reached, and there may be very many.

    Raises:
        OSError: it belongs to another user.
    """
    if _closed(root.resolve()):
        for folder in TREES:
            for at, _, names in os.walk(root / folder):
                for name in (".", *names):
                    _closed(Path(at, name))
    for path in root.iterdir():
        _closed(path)


def _closed(path: Path) -> bool:
    """Take rights of other users from one file or folder; returns whether there were some."""
    try:
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode) or not mode & OTHERS:
            return False
        path.chmod(stat.S_IMODE(mode) & ~OTHERS)
    except FileNotFoundError:  # a job that runs has removed it
        return False
    return True


def _write(path: Path, content: bytes) -> None:
    """Readers see all of it or nothing, and only the owner sees any of it."""
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    scratch.unlink(missing_ok=True)
    fd = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(fd, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    scratch.replace(path)


def holder_of(port: int) -> str:
    """The process that listens on a TCP port, as `python (pid 42)`; empty when unknown."""
    try:
        for found in psutil.net_connections("tcp"):
            if found.status == psutil.CONN_LISTEN and found.laddr and found.laddr[1] == port:
                name = psutil.Process(found.pid).name() if found.pid else ""
                return f"{name} (pid {found.pid})" if name else ""
    except psutil.Error:
        return ""
    return ""
