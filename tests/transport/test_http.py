"""The client's connections: what they send, and when."""

import socket
from collections.abc import Iterator

import httpcore2
import pytest

from ganglion.transport.http import JoinedRequest

HEAD = b"POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n"
AT_ONCE = (
    b"GET /x HTTP/1.1\r\nHost: h\r\n\r\n",
    b"POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n",
    b"POST /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n",
    b"\x81\x85POST content-length: 1\r\n\r\n",
)


class _Plain(httpcore2.NetworkStream):
    def __init__(self, end: socket.socket) -> None:
        self._end = end

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._end.settimeout(timeout)
        self._end.sendall(buffer)

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        self._end.settimeout(timeout)
        return self._end.recv(max_bytes)


@pytest.fixture
def ends() -> Iterator[tuple[JoinedRequest, socket.socket]]:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    theirs.settimeout(0)
    with ours, theirs:
        yield JoinedRequest(_Plain(ours)), theirs


def test_a_head_leaves_together_with_its_body(ends: tuple[JoinedRequest, socket.socket]) -> None:
    stream, theirs = ends
    stream.write(HEAD)
    with pytest.raises(BlockingIOError):
        theirs.recv(1_000)
    stream.write(b"{}")
    assert theirs.recv(1_000) == HEAD + b"{}"


@pytest.mark.parametrize("sent", AT_ONCE)
def test_what_no_body_follows_leaves_at_once(
    ends: tuple[JoinedRequest, socket.socket], sent: bytes
) -> None:
    stream, theirs = ends
    stream.write(sent)
    assert theirs.recv(1_000) == sent


def test_whoever_reads_has_sent_everything(ends: tuple[JoinedRequest, socket.socket]) -> None:
    stream, theirs = ends
    stream.write(HEAD)
    theirs.send(b"answer")
    assert stream.read(1_000, 1.0) == b"answer"
    assert theirs.recv(1_000) == HEAD
