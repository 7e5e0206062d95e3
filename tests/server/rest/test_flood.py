"""Slow callers and too many of them: they are refused, all others are served."""

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx2
import pytest

from ganglion.server.app import guarded, make_app
from ganglion.server.requests.context import ServerContext
from ganglion.server.rest.listening.address import bind
from ganglion.server.rest.listening.connections import CallerServer
from ganglion.server.rest.listening.guard import MOST_BYTES
from ganglion.server.rest.listening.listen import HttpListener
from ganglion.transport import unix
from ganglion.transport.http import unix_transport
from tests.server.many import measure
from tests.server.process import until

HALF = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: "
WHOLE = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
FIRST, OTHER = "127.0.0.1", "127.0.0.2"
CAP = 16


class Place:
    """A server that really listens, and connections to it."""

    def __init__(self, port: int, path: Path, stack: ExitStack) -> None:
        self.port, self.path, self._stack = port, path, stack

    def dial(self, address: str = FIRST) -> socket.socket:
        """Connect from an address of this machine."""
        source = (address, 0)
        made = socket.create_connection((FIRST, self.port), 10, source_address=source)
        return self._stack.enter_context(made)

    def half(self, address: str = FIRST) -> socket.socket:
        """A connection whose headers do not end."""
        made = self.dial(address)
        made.sendall(HALF)
        return made

    def serves(self, address: str = FIRST) -> bool:
        return ask(self.dial(address), WHOLE).startswith(b"HTTP/1.1 200")

    def serves_the_socket(self) -> bool:
        with httpx2.Client(transport=unix_transport(self.path)) as client:
            return client.get("http://localhost/api/v1/nodes").is_success


def ask(connected: socket.socket, data: bytes) -> bytes:
    """Send and read what comes first; empty = the end."""
    connected.sendall(data)
    return connected.recv(65_536)


def rest(connected: socket.socket) -> bytes:
    """Read to the end."""
    said = b""
    while piece := connected.recv(65_536):
        said += piece
    return said


@pytest.fixture
def patience(monkeypatch: pytest.MonkeyPatch) -> Callable[[float, float], None]:
    def changed(headers_s: float, body_s: float) -> None:
        monkeypatch.setattr(CallerServer, "headers_s", headers_s)
        monkeypatch.setattr(CallerServer, "body_s", body_s)

    return changed


@pytest.fixture
def place(context: ServerContext, tmp_path: Path) -> Iterator[Place]:
    up, path = threading.Event(), tmp_path / "s"
    with ExitStack() as stack:
        taken = [stack.enter_context(bind(FIRST, 0)), stack.enter_context(unix.bind(path))]
        app = guarded(make_app(context), "secret", loopback=True)
        listener = HttpListener(app, up.set, context.feed.close, most=CAP)
        thread = threading.Thread(target=listener.run, kwargs={"sockets": taken})
        thread.start()
        assert up.wait(10)
        with ExitStack() as dialled:
            yield Place(taken[0].getsockname()[1], path, dialled)
        listener.halt()
        thread.join(10)
        assert not thread.is_alive()


def test_callers_beyond_the_cap_are_refused_at_once_and_others_are_served(place: Place) -> None:
    for _ in range(CAP // 2):
        place.half()
    for _ in range(3):
        begun = time.monotonic()
        said = rest(place.dial())
        assert said.startswith(b"HTTP/1.1 503 ")
        assert b"Retry-After: 5" in said
        assert b'"code":"environment.busy"' in said
        assert time.monotonic() - begun < 5
    assert place.serves(OTHER)
    assert place.serves_the_socket()


def test_with_all_room_taken_the_socket_in_the_home_serves(place: Place) -> None:
    for address in (FIRST, OTHER):
        for _ in range(CAP // 2):
            place.half(address)
    assert rest(place.dial("127.0.0.3")).startswith(b"HTTP/1.1 503 ")
    assert place.serves_the_socket()


def test_room_comes_back(place: Place) -> None:
    taken = [place.half() for _ in range(CAP // 2)]
    assert not place.serves()
    for each in taken:
        each.close()
    until(place.serves)


def test_headers_have_to_end_in_time_however_they_drip(
    place: Place, patience: Callable[[float, float], None]
) -> None:
    patience(0.3, 30.0)
    slow, silent = place.half(), place.dial()
    begun = time.monotonic()
    said = b""
    slow.settimeout(0.02)
    while not said and time.monotonic() - begun < 10:
        try:
            said = slow.recv(100)
        except TimeoutError:
            slow.sendall(b"x")
    assert said.startswith(b"HTTP/1.1 408 ")
    assert rest(silent).startswith(b"HTTP/1.1 408 ")


def test_an_idle_connection_is_kept_and_a_half_request_on_it_is_not(
    place: Place, patience: Callable[[float, float], None]
) -> None:
    patience(0.1, 0.1)
    kept = place.dial()
    assert b"200 OK" in ask(kept, WHOLE)
    other = place.half()
    assert rest(other).startswith(b"HTTP/1.1 408 ")  # more time than it has has gone by
    kept.settimeout(10)
    said = ask(kept, WHOLE)
    while b"200 OK" not in said:  # the body of the first answer may come on its own
        said = kept.recv(65_536)
    kept.sendall(HALF)
    assert b"HTTP/1.1 408 " in rest(kept)


def test_a_body_that_stops_is_given_up(
    place: Place, patience: Callable[[float, float], None]
) -> None:
    patience(30.0, 0.2)
    head = b"POST /api/v1/workloads HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer secret\r\n"
    stuck = place.dial()
    stuck.sendall(head + b'Content-Length: 100\r\n\r\n{"name":')
    assert rest(stuck).startswith(b"HTTP/1.1 408 ")


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_that_is_too_large_is_answered_and_not_reset(place: Place, chunked: bool) -> None:
    """The caller writes all of it before it reads, as most clients do."""
    size = 20 * MOST_BYTES
    head = b"POST /api/v1/workloads HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer secret\r\n"
    length = b"Transfer-Encoding: chunked" if chunked else b"Content-Length: %d" % size
    large = place.dial()
    large.sendall(head + length + b"\r\n\r\n")
    part = b"x" * MOST_BYTES
    for _ in range(20):
        large.sendall(b"%x\r\n%b\r\n" % (len(part), part) if chunked else part)
    large.sendall(b"0\r\n\r\n" if chunked else b"")
    said = large.recv(65_536)
    assert said.startswith(b"HTTP/1.1 413 ")
    until(lambda: b"input.size" in said or large.recv(65_536))
    assert place.serves()


MANY = os.environ.get("GANGLION_FLOOD", "")


@pytest.mark.skipif(not MANY, reason="GANGLION_FLOOD=IDLE,STREAMS measures many connections")
def test_thousands_of_connections_do_not_slow_a_list_down(tmp_path: Path) -> None:
    """Prints what the runbook of the server says."""
    idle, streams = map(int, MANY.split(","))
    measure(tmp_path, idle, streams)
