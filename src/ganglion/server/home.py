"""Ganglion's home directory: token, record of the running server, places of logs."""

import os
import secrets
from pathlib import Path

import msgspec
import psutil

from ganglion.model.errors import EnvironmentFault

TOKEN_BYTES = 32


class ServerRecord(msgspec.Struct, frozen=True):
    """What a running server writes about itself into `server.json`."""

    pid: int
    url: str
    started_ms: int


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
            probe = self.root / f".probe.{os.getpid()}"
            probe.touch()
            probe.unlink()
        except OSError as error:
            raise EnvironmentFault(
                f"cannot write {self.root}: {error.strerror}",
                "choose a folder on a writable disk with --home or GANGLION_HOME",
            ) from error

    @property
    def ledger(self) -> Path:
        """The event store, unless another database is named."""
        return self.root / "ledger.db"

    def token(self) -> str:
        """Read the token, or make one.

        Raises:
            EnvironmentFault: it cannot be read or written.
        """
        path = self.root / "token"
        try:
            found = path.read_text(encoding="ascii").strip() if path.exists() else ""
            if not found:
                found = secrets.token_urlsafe(TOKEN_BYTES)
                _write(path, found.encode() + b"\n")
        except (OSError, UnicodeDecodeError) as error:
            raise EnvironmentFault(
                f"cannot use {path}: {error}", "remove the file; a new one is made"
            ) from error
        return found

    def announce(self, record: ServerRecord) -> None:
        """Tell clients where the server is."""
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


def _write(path: Path, content: bytes) -> None:
    """Readers see all of it or nothing, and nobody but the owner sees any of it."""
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    scratch.unlink(missing_ok=True)
    fd = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(fd, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    scratch.replace(path)


def holder_of(port: int) -> str:
    """Who listens on a TCP port, as `python (pid 42)`; empty when that cannot be known."""
    try:
        for found in psutil.net_connections("tcp"):
            if found.status == psutil.CONN_LISTEN and found.laddr and found.laddr[1] == port:
                name = psutil.Process(found.pid).name() if found.pid else ""
                return f"{name} (pid {found.pid})" if name else ""
    except psutil.Error:
        return ""
    return ""
