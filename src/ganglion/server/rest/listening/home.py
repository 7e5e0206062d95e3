"""Ganglion's home directory: token, record of the running server, places of logs."""

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import msgspec
import structlog

from ganglion.model.errors import EnvironmentFault
from ganglion.seams import acl
from ganglion.seams.effects import SYSTEM, Effects
from ganglion.seams.files import Files, exists, make_folder, remove, replace_whole

TOKEN_BYTES = 32
OTHERS = stat.S_IRWXG | stat.S_IRWXO
TREES = ("runs", "logs")
"""Folders with many files of the server's own."""
ACCOUNTS = "accounts.yaml"
"""File of the home that says whose programs run as which Unix account."""
SOCKET = "api.sock"
"""Name of the Unix socket of the API in the home."""

log = structlog.get_logger(__name__)


class ServerRecord(msgspec.Struct, frozen=True):
    """What a running server writes about itself into `server.json`."""

    pid: int
    url: str
    started_ms: int
    socket: str = ""
    host: str = ""


class Home:
    """The files below one home directory.

    Args:
        root: the directory; made, for its owner only, where it is missing.
        effects: files, chance, and the pid.

    Raises:
        EnvironmentFault: it cannot be made or written.
    """

    def __init__(self, root: Path, effects: Effects = SYSTEM) -> None:
        self.root, self._effects = root.absolute(), effects
        files, self._pid = effects.files, effects.processes.own()
        try:
            make_folder(files, self.root)
            close_to_others(files, self.root, shared=exists(files, self.root / ACCOUNTS))
            probe = self.root / f".probe.{self._pid}"
            files.close(files.open(probe, os.O_WRONLY | os.O_CREAT))
            files.unlink(probe)
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
        made = self._effects.randomness.token_urlsafe(TOKEN_BYTES)
        self._write("token", made.encode() + b"\n")
        return made

    def announce(self, record: ServerRecord) -> None:
        """Publish the server's address to clients.

        Raises:
            EnvironmentFault: it cannot be written.
        """
        self._write("server.json", msgspec.json.encode(record) + b"\n")

    def withdraw(self) -> None:
        """The server of this process is gone; a record of another one stays.

        A record that cannot be removed names a process that is gone, and clients see that.
        """
        record = self.announced()
        if record and record.pid == self._pid:
            try:
                remove(self._effects.files, self.root / "server.json")
            except OSError as error:
                log.warning("server.json cannot be removed", error=str(error))

    def announced(self) -> ServerRecord | None:
        """What the last server wrote; None = nothing that can be read."""
        try:
            found = self._effects.files.read(self.root / "server.json")
            return msgspec.json.decode(found, type=ServerRecord)
        except (OSError, msgspec.DecodeError):
            return None

    def free(self) -> int:
        """Bytes that may be written to the disk of the home.

        Raises:
            OSError: the machine does not say.
        """
        return self._effects.files.free(self.root)

    def size_of(self, ledger: str) -> int:
        """Bytes of a ledger that lies in files, its log included; 0 = it lies elsewhere."""
        total = 0
        for end in ("", "-wal"):
            try:
                total += self._effects.files.stat(ledger + end).st_size
            except OSError:
                continue  # PostgreSQL, or a log that was just folded in
        return total

    def _write(self, name: str, content: bytes) -> None:
        path = self.root / name
        try:
            replace_whole(self._effects.files, path, content, self._pid)
        except OSError as error:
            raise EnvironmentFault(
                f"cannot write {path}: {error.strerror}", "check the folder and its disk"
            ) from error


def close_to_others(files: Files, root: Path, *, shared: bool = False) -> None:
    """Take all rights of other users from a home that an earlier version or a copy left open.

    Folders of runs and logs are only entered when the home was open: otherwise they could not
    be reached, and there may be very many.

    Args:
        files: the file system.
        root: the home.
        shared: whether single accounts that have an entry of their own keep it: their programs
            may run.

    Raises:
        OSError: it belongs to another user.
    """
    if _closed(files, root.resolve(), shared):
        for folder in TREES:
            for path in _below(files, root / folder):
                _closed(files, path, shared)
    for name in files.names(root):
        _closed(files, root / name, shared)


def _below(files: Files, folder: Path) -> Iterator[Path]:
    """All that lies in a folder, at any depth; what cannot be listed is left out."""
    names = list[str]()
    with contextlib.suppress(OSError):
        names = files.names(folder)
    for name in names:
        path = folder / name
        yield path
        with contextlib.suppress(OSError):  # a job that runs has removed it
            if stat.S_ISDIR(files.stat(path, follow=False).st_mode):
                yield from _below(files, path)


def _closed(files: Files, path: Path, shared: bool) -> bool:
    """Take rights of other users from one file or folder; returns whether there were some."""
    try:
        mode = files.stat(path, follow=False).st_mode
        if stat.S_ISLNK(mode) or not mode & OTHERS:
            return False
        # With such entries, the bits of the group are the most that these give.
        taken = stat.S_IRWXO if shared and acl.has_list(path) else OTHERS
        if not mode & taken:
            return False
        files.chmod(path, stat.S_IMODE(mode) & ~taken)
    except FileNotFoundError:  # a job that runs has removed it
        return False
    return True
