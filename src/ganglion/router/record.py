"""The record that a router writes into its home, for the server that controls it."""

import os
from pathlib import Path

import msgspec

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
    """

    pid: int
    version: str
    host: str
    port: int
    url: str
    control: str
    token: str


def read(home: Path) -> RouterRecord | None:
    """Read the record of the last router; None = missing or unreadable."""
    try:
        return msgspec.json.decode((home / FILE).read_bytes(), type=RouterRecord)
    except (OSError, msgspec.DecodeError):
        return None


def write(home: Path, record: RouterRecord) -> None:
    """Announce a router; only the owner may read the token.

    Raises:
        OSError: the home cannot be written.
    """
    scratch = home / f".{FILE}.{os.getpid()}"
    scratch.unlink(missing_ok=True)
    fd = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(fd, "wb") as file:
        file.write(msgspec.json.encode(record) + b"\n")
    scratch.replace(home / FILE)


def withdraw(home: Path) -> None:
    """Remove the record of this process's router; keep that of another one."""
    found = read(home)
    if found and found.pid == os.getpid():
        (home / FILE).unlink(missing_ok=True)
