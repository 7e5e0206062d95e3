"""The router as a process that outlives the process that started it."""

import subprocess
import sys
import threading
from pathlib import Path

import httpx2
import psutil

from ganglion import __version__
from ganglion.model.errors import EnvironmentFault
from ganglion.router import record
from ganglion.router.port import refusal
from ganglion.router.record import RouterRecord
from ganglion.seams.clock import SYSTEM_CLOCK, Clock
from ganglion.transport.http import Unproven, unix_transport
from ganglion.transport.tls.files import TlsFiles

START_S = 30.0
LEAVE_S = 10.0
POLL_S = 0.02
ANSWER_S = 2.0


def adopt_or_start(
    home: Path,
    host: str,
    port: int,
    clock: Clock = SYSTEM_CLOCK,
    tls: TlsFiles | None = None,
) -> RouterRecord:
    """Return the router of a home: the running one if its settings match, else a new one.

    Args:
        home: Ganglion's home directory.
        host: address to listen on.
        port: 0 = any free one.
        clock: to wait by.
        tls: certificate and key; None = plain HTTP.

    Raises:
        EnvironmentFault: no router started; the message says why.
    """
    found = record.read(home)
    if found and answers(home, found):
        wanted = (__version__, host, port or found.port, tls)
        if (found.version, found.host, found.port, found.tls) == wanted:
            return found
        end(home, found)
    return _start(home, host, port, clock, tls)


def blocked(home: Path, host: str, port: int) -> str:
    """Why no router of a home could be started; empty = one could be, or runs.

    Args:
        home: Ganglion's home directory.
        host: address to listen on.
        port: 0 = any free one.
    """
    found = refusal(host, port)
    own = record.read(home) if found else None
    return "" if own and own.port == port and answers(home, own) else found


def answers(home: Path, found: RouterRecord) -> bool:
    """Whether the router runs and wrote this record."""
    try:
        with control(home, found) as client:
            return client.get("/stats", timeout=ANSWER_S).status_code == httpx2.codes.OK
    except (httpx2.HTTPError, Unproven):
        return False


def control(home: Path, found: RouterRecord) -> httpx2.Client:
    """Client of a router's control endpoint; the kernel reports who listens at a Unix socket."""
    headers = {"Authorization": f"Bearer {found.token}"}
    if found.control.startswith("http:"):
        return httpx2.Client(base_url=found.control, headers=headers, trust_env=False)
    transport = unix_transport(home / found.control)
    return httpx2.Client(base_url="http://localhost", headers=headers, transport=transport)


def end(home: Path, found: RouterRecord) -> None:
    """Stop a router: it accepts no more connections, finishes its requests and exits.

    Return once it no longer listens; it finishes its open requests by itself.

    Raises:
        EnvironmentFault: it still listens after the wait.
    """
    try:
        with control(home, found) as client:
            client.post("/leave", timeout=LEAVE_S).raise_for_status()
    except httpx2.HTTPError as error:
        if psutil.pid_exists(found.pid) and answers(home, found):
            raise EnvironmentFault(
                f"the router (pid {found.pid}) does not leave: {error}"
            ) from error


def _start(home: Path, host: str, port: int, clock: Clock, tls: TlsFiles | None) -> RouterRecord:
    log = home / record.LOG
    try:
        with log.open("ab") as out:
            begin = out.tell()
            process = _spawn(home, host, port, tls, out.fileno())
    except OSError as error:
        raise EnvironmentFault(f"cannot write {log}: {error.strerror}") from error
    # A thread must wait for its end, or the process stays a zombie.
    threading.Thread(target=process.wait, name="router-end", daemon=True).start()
    deadline = clock.monotonic() + START_S
    while process.poll() is None and clock.monotonic() < deadline:
        found = record.read(home)
        if found and found.pid == process.pid and answers(home, found):
            return found
        clock.sleep(POLL_S)
    if process.poll() is None:
        process.terminate()
    raise EnvironmentFault(_said(log, begin), f"see {log}")


def _spawn(
    home: Path, host: str, port: int, tls: TlsFiles | None, out: int
) -> "subprocess.Popen[bytes]":
    where = ["--home", str(home), "--host", host, "--port", str(port)]
    if tls:
        where += ["--tls-cert", tls.cert, "--tls-key", tls.key]
    return subprocess.Popen(
        [sys.executable, "-m", "ganglion.router", *where],
        stdin=subprocess.DEVNULL,
        stdout=out,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


def _said(log: Path, begin: int) -> str:
    with log.open("rb") as file:
        file.seek(begin)
        text = file.read().decode("utf-8", "replace")
    lines = [line for line in text.strip().splitlines() if not line.startswith("hint: ")]
    return f"the router did not start: {lines[-1]}" if lines else "the router did not start"
