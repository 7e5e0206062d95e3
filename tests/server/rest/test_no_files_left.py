"""A server or a router that may open no more files says so once, and serves again afterwards."""

import contextlib
import json
import resource
import select
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx2
import pytest

from ganglion.client.home import read_server
from ganglion.router import record
from ganglion.router.link import RouterLink
from tests.server.process import Nursery, until

SPARE = 24
"""Files that the process may still open."""
CALLERS = 80
CLOSING = 8
"""Files that it closes after they were counted, as the connection of the last question."""
REFUSED = CALLERS - SPARE - CLOSING
"""Callers that are refused at least."""
SAID = "callers were refused"


@contextmanager
def a_server(home: Path) -> Iterator[tuple[int, int, Callable[[], None]]]:
    nursery = Nursery(home)
    try:
        nursery.start()
        found = until(lambda: read_server(home), 60)
        yield found.pid, int(found.url.rpartition(":")[2]), lambda: nursery.end(15) and None
    finally:
        nursery.close()


@contextmanager
def a_router(home: Path) -> Iterator[tuple[int, int, Callable[[], None]]]:
    home.mkdir(mode=0o700)
    link = RouterLink(home, port=0)
    try:
        link.start()
        link.publish(())
        found = record.read(home)
        assert found
        yield found.pid, found.port, lambda: link.stop(router=True)
    finally:
        link.stop(router=True)


def answers(port: int, path: str) -> bool:
    with contextlib.suppress(httpx2.TransportError):
        return httpx2.get(f"http://127.0.0.1:{port}{path}", timeout=15).status_code == 200
    return False


def files(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def beset(pid: int, port: int) -> None:
    """Connect more callers than the process may have: those beyond are answered at once."""
    _, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    most = files(pid) + SPARE
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (most, hard))
    with ExitStack() as stack:
        made = [stack.enter_context(socket.socket()) for _ in range(CALLERS)]
        for each in made:
            each.settimeout(10)
            each.connect(("127.0.0.1", port))

        def refused() -> list[socket.socket]:
            found = readable(made)
            return found if len(found) >= REFUSED else []

        answered = until(refused)
        assert len(answered) < CALLERS
        assert all(each.recv(100).startswith(b"HTTP/1.1 503 ") for each in answered)


def readable(callers: list[socket.socket]) -> list[socket.socket]:
    """Those for whom there is an answer, though they have asked nothing."""
    return select.select(callers, [], [], 0.1)[0]


@pytest.mark.parametrize(
    ("place", "log", "path"),
    [(a_server, "server.log", "/healthz"), (a_router, record.LOG, "/-/healthz")],
    ids=["server", "router"],
)
def test_without_files_it_says_so_once_and_serves_again_when_there_are_some(
    tmp_path: Path,
    place: Callable[[Path], contextlib.AbstractContextManager[tuple[int, int, Callable[[], None]]]],
    log: str,
    path: str,
) -> None:
    with place(tmp_path / "home") as (pid, port, end):
        assert answers(port, path)
        beset(pid, port)
        until(lambda: answers(port, path), 20)  # though no more files are allowed than before
        end()
    lines = (tmp_path / "home" / log).read_text().splitlines()
    once, counted = (json.loads(line) for line in lines if SAID in line)
    assert "repeated" not in once
    assert counted["repeated"] >= REFUSED - 1
    assert len(lines) < 20
