"""Where the server of this user is: read from Ganglion's home directory."""

import os
from pathlib import Path

import msgspec

from ganglion.model.errors import EnvironmentFault, FileError
from ganglion.transport.unix import SUPPORTED

NO_SERVER = "no server is running"
START_HINT = "start one with: ganglion up"
UNIX = "unix:"
"""Begins URLs of Unix sockets on which the kernel says whose account calls."""
OWN_CERTIFICATE = Path("tls", "cert.pem")
"""In the home: the certificate of a server that makes its own."""


class Unreachable(EnvironmentFault):
    """No server took the request; it certainly had no effect."""


class ServerRecord(msgspec.Struct, frozen=True):
    """What a running server wrote about itself.

    Attributes:
        pid: its process.
        url: where it listens, as `http://127.0.0.1:7077`.
        started_ms: when it started.
        socket: name of its Unix socket in the home; empty = it has none.
        host: address that it listens on; empty = an earlier version did not say.
    """

    pid: int
    url: str
    started_ms: int = 0
    socket: str = ""
    host: str = ""


def home() -> Path:
    """Return Ganglion's home directory: `$GANGLION_HOME`, else `~/.ganglion`."""
    return Path(os.environ.get("GANGLION_HOME") or Path.home() / ".ganglion")


def no_server() -> Unreachable:
    """Return the error for commands that need a server when none runs."""
    return Unreachable(NO_SERVER, START_HINT)


def read_server(folder: Path) -> ServerRecord | None:
    """Return what the server wrote about itself; None when none did.

    Raises:
        FileError: the record is not what a server writes.
        EnvironmentFault: it cannot be read.
    """
    path = folder / "server.json"
    try:
        return msgspec.json.decode(path.read_bytes(), type=ServerRecord)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise EnvironmentFault(f"{path}: {error.strerror}", "set GANGLION_HOME") from error
    except msgspec.DecodeError as error:
        raise FileError(f"{path}: {error}", "remove the file, then: ganglion up") from error


def server_of(folder: Path) -> tuple[str, Path | None]:
    """Return the URL of the server of a home, and its Unix socket if it is reached by one.

    Raises:
        EnvironmentFault: no server is running.
    """
    record = read_server(folder)
    if record is None:
        raise no_server()
    return record.url, folder / record.socket if record.socket and SUPPORTED else None


def read_token(folder: Path) -> str:
    """Return the token that the server of this home accepts.

    Raises:
        EnvironmentFault: there is none, or it cannot be read.
    """
    path = folder / "token"
    try:
        return path.read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        raise no_server() from None
    except (OSError, UnicodeDecodeError) as error:
        raise EnvironmentFault(
            f"{path}: {error}", "check the owner and mode of the file"
        ) from error
