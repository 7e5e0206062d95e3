"""What `ganglion doctor` asks of the server, and of its port where none runs."""

import errno
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ganglion import __version__
from ganglion.cli.server.checkup import FAIL, OK, WARN, Check, CheckFinding
from ganglion.model.errors import GanglionError

if TYPE_CHECKING:
    from ganglion.client.home import ServerRecord

PORT = 7077
TIMEOUT_S = 3.0
_STATUS = {OK: OK, WARN: WARN, FAIL: FAIL}


def server(home: Path, environ: Mapping[str, str]) -> Iterator[CheckFinding]:
    """The server runs, works, and has the version of this command."""
    from ganglion.client.home import read_server

    try:
        record = read_server(home)
    except GanglionError as error:
        yield CheckFinding("server", FAIL, error.message, error.hint)
        return
    if record is None and not environ.get("GANGLION_URL"):
        yield CheckFinding("server", WARN, "none is running", "ganglion up")
        yield from _port()
        return
    if record and not _lives(record) and not environ.get("GANGLION_URL"):
        message = f"server.json names process {record.pid}, which is gone"
        yield CheckFinding("server", WARN, message, "ganglion up")
        yield from _port()
        return
    if record:
        yield from _listens(record)
    yield from _asked()


def _asked() -> Iterator[CheckFinding]:
    from ganglion.cli.connection.connect import connect

    try:
        with connect(TIMEOUT_S) as client:
            version, health = client.version().version, client.readiness()
    except GanglionError as error:
        yield CheckFinding("server", FAIL, error.message, error.hint)
        return
    if version != __version__:
        message = f"it is version {version}, this command {__version__}"
        yield CheckFinding("server", WARN, message, "ganglion down, then: ganglion up")
    else:
        yield CheckFinding("server", OK, f"runs, version {version}")
    for each in health.checks:
        hint = "" if each.status == OK else "see docs/runbooks/server.md"
        status = _STATUS.get(each.status, WARN)
        yield CheckFinding(f"server: {each.name}", status, each.message or "works", hint)


def _listens(record: "ServerRecord") -> Iterator[CheckFinding]:
    """Who reaches the server: this machine alone, or others, and whether with TLS."""
    from ganglion.transport.hosts import is_loopback

    if not record.host or is_loopback(record.host):
        return
    if record.url.startswith("https:"):
        message = f"other machines reach {record.host}, with TLS"
        yield CheckFinding("server: address", OK, message)
    else:
        message = f"other machines reach {record.host} without TLS: a proxy has to speak it"
        hint = "let none but the proxy connect, or start the server with --tls-cert and --tls-key"
        yield CheckFinding("server: address", WARN, message, hint)


def _lives(record: "ServerRecord") -> bool:
    import psutil

    return psutil.pid_exists(record.pid)


def _port() -> Iterator[CheckFinding]:
    """Whether a server could take its port."""
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            taken.bind(("127.0.0.1", PORT))
        except OSError as error:
            said = "is in use" if error.errno == errno.EADDRINUSE else error.strerror
            yield CheckFinding("port", WARN, f"{PORT} {said}", f"ganglion up --port {PORT + 10}")
            return
    yield CheckFinding("port", OK, f"{PORT} is free")


CHECKS: tuple[Check, ...] = (server,)
