"""The record that a router writes into its home, for the server that controls it."""

import contextlib
from pathlib import Path

import msgspec

from ganglion.seams.files import SYSTEM_FILES, Files, replace_whole
from ganglion.transport.tls.files import TlsFiles

FILE = "router.json"
SOCKET = "router.sock"
LOG = "router.log"


class RouterRecord(msgspec.Struct, frozen=True):
    """A running router.

    Attributes:
        pid: its process.
        version: Ganglion's version that it runs.
        host, port: what it listens on.
        url: URL of services.
        control: its control endpoint: the name of a Unix socket in the home. Where the
            system has none, and of routers of earlier versions, a URL on this machine.
        token: secret that `control` requires.
        cert, key: files of its certificate and private key; empty = it speaks plain HTTP.
    """

    pid: int
    version: str
    host: str
    port: int
    url: str
    control: str
    token: str
    cert: str = ""
    key: str = ""

    @property
    def tls(self) -> TlsFiles | None:
        """Its certificate and key; None = it speaks plain HTTP."""
        return TlsFiles(self.cert, self.key) if self.cert else None


def read(home: Path, files: Files = SYSTEM_FILES) -> RouterRecord | None:
    """Read the record of the last router; None = missing or unreadable."""
    try:
        return msgspec.json.decode(files.read(home / FILE), type=RouterRecord)
    except (OSError, msgspec.DecodeError):
        return None


def write(home: Path, record: RouterRecord, files: Files = SYSTEM_FILES) -> None:
    """Announce a router; only the owner may read the token.

    Raises:
        OSError: the home cannot be written.
    """
    content = msgspec.json.encode(record) + b"\n"
    replace_whole(files, home / FILE, content, record.pid, durable=False)


def withdraw(home: Path, pid: int, files: Files = SYSTEM_FILES) -> None:
    """Remove the record of the router that is a process; keep that of another one."""
    found = read(home, files)
    if found and found.pid == pid:
        with contextlib.suppress(FileNotFoundError):
            files.unlink(home / FILE)
