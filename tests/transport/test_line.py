"""Short requests through a Unix socket: errors are those of httpx2."""

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import httpx2
import pytest

from ganglion.transport import unix
from ganglion.transport.http import Unproven
from ganglion.transport.line import SocketLine

pytestmark = pytest.mark.skipif(not unix.SUPPORTED, reason="needs SO_PEERCRED and /proc")

DONE = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-A: b\r\n\r\n{}"


class Far:
    """The other end: gives the answers of a test, one answer for each request.

    Args:
        path: of the socket.
    """

    def __init__(self, path: Path) -> None:
        self.taken, self.answers = unix.bind(path), list[bytes | None]()
        self.heard, self.callers = list[bytes](), 0
        self.taken.listen(8)
        self._open, self._answering = list[socket.socket](), list[threading.Thread]()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                caller, _ = self.taken.accept()
            except OSError:
                return
            self.callers += 1
            self._open.append(caller)
            answering = threading.Thread(target=self._answer, args=(caller,), daemon=True)
            self._answering.append(answering)
            answering.start()

    def _answer(self, caller: socket.socket) -> None:
        while heard := caller.recv(1 << 16):
            self.heard.append(heard)
            answer = self.answers.pop(0)
            if answer is None:
                continue  # silence
            if answer:
                caller.sendall(answer)
            if not answer or b"close" in answer:
                caller.close()
                return

    def close(self) -> None:
        self.taken.shutdown(socket.SHUT_RDWR)
        self.taken.close()
        self._thread.join()
        for each in self._open:
            with suppress(OSError):  # it has hung up itself
                each.shutdown(socket.SHUT_RDWR)
        for answering in self._answering:
            answering.join()
        for each in self._open:
            each.close()


@pytest.fixture
def far(tmp_path: Path) -> Iterator[Far]:
    made = Far(tmp_path / "s")
    yield made
    made.close()


@pytest.fixture
def line(tmp_path: Path) -> Iterator[SocketLine]:
    made = SocketLine(tmp_path / "s", timeout_s=10.0, connect_s=10.0)
    yield made
    made.close()


def get(line: SocketLine) -> httpx2.Response:
    return line.send("GET", "/x", {"X-C": "d"}, None)


def test_a_connection_is_kept_and_a_request_is_one_write(far: Far, line: SocketLine) -> None:
    far.answers = [DONE, DONE]
    assert get(line).json() == {}
    response = line.send("POST", "/y?a=b", {"X-C": "d"}, b"body")
    assert (response.status_code, response.headers["x-a"]) == (200, "b")
    assert far.callers == 1
    head, _, body = far.heard[1].partition(b"\r\n\r\n")
    assert head.startswith(b"POST /y?a=b HTTP/1.1\r\nHost: localhost\r\n")
    assert (b"\r\nContent-Length: 4" in head, b"\r\nX-C: d" in head, body) == (True, True, b"body")


def test_a_connection_that_the_server_ended_is_not_used_again(far: Far, line: SocketLine) -> None:
    closing = DONE.replace(b"X-A: b", b"Connection: close")
    far.answers = [closing, DONE, DONE]
    assert [get(line).status_code for _ in range(2)] == [200, 200]
    far._open[-1].shutdown(socket.SHUT_WR)  # while it is idle
    assert get(line).status_code == 200
    assert far.callers == 3


def test_what_goes_wrong_is_told_as_httpx2_tells_it(far: Far, tmp_path: Path) -> None:
    line = SocketLine(tmp_path / "s", timeout_s=0.05, connect_s=10.0)
    for answer, error in (
        (b"", httpx2.RemoteProtocolError),
        (b"no HTTP at all\r\n\r\n close", httpx2.RemoteProtocolError),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nclose", httpx2.RemoteProtocolError),
        (None, httpx2.ReadTimeout),
    ):
        far.answers = [answer]
        with pytest.raises(error):
            get(line)
    far.answers = [DONE]
    assert get(line).status_code == 200  # none of the broken ones was kept
    line.close()
    with pytest.raises(httpx2.ConnectError):
        get(SocketLine(tmp_path / "none", timeout_s=1.0, connect_s=1.0))


def test_nothing_is_sent_to_a_listener_of_another_user(
    far: Far, line: SocketLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    uid = os.geteuid()
    monkeypatch.setattr(unix, "peer_uid", lambda _connected: uid + 1)
    with pytest.raises(Unproven, match="nothing was sent"):
        get(line)
    assert not far.heard
