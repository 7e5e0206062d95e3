"""What is no HTTP request is answered as every other refusal: with a problem, and never in text."""

import json
import socket
import threading
from collections.abc import Iterator

import pytest
from starlette.types import Receive, Scope, Send

from ganglion.server.app import guarded, make_app
from ganglion.server.requests.context import ServerContext
from ganglion.server.rest.listening.address import bind
from ganglion.server.rest.listening.listen import HttpListener
from ganglion.server.rest.request_id import Identified
from ganglion.transport.problem import MEDIA_TYPE
from tests.server.process import until

HEAD = b"\r\nHost: localhost\r\nAuthorization: Bearer secret\r\n"
MALFORMED = {
    "no HTTP": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    "no version": b"GET /healthz\r\n\r\n",
    "two hosts": b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n",
    "no host": b"GET /healthz HTTP/1.1\r\n\r\n",
    "a space before the colon": b"GET /healthz HTTP/1.1" + HEAD + b"X : 1\r\n\r\n",
    "a length that is none": b"POST /api/v1/workloads HTTP/1.1"
    + HEAD
    + b"Content-Length: x\r\n\r\n",
    "two lengths": b"POST /x HTTP/1.1" + HEAD + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n",
    "a chunk without a size": b"POST /api/v1/workloads HTTP/1.1"
    + HEAD
    + b"Transfer-Encoding: chunked\r\n\r\nxyz\r\n",
    "headers without end": b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 200_000,
    "a handshake without a key": b"GET /healthz HTTP/1.1"
    + HEAD
    + b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\r\n",
    "a handshake of another version": b"GET /healthz HTTP/1.1"
    + HEAD
    + b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 7\r\n"
    + b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
}


def answered(port: int, data: bytes) -> tuple[int, dict[str, str], bytes]:
    """Send bytes; status, headers and body of what comes until the end."""
    with socket.create_connection(("127.0.0.1", port), 10) as connected:
        connected.sendall(data)
        said = b""
        try:
            while piece := connected.recv(65_536):
                said += piece
        except ConnectionResetError:
            pass
    head, _, body = said.partition(b"\r\n\r\n")
    status, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): text for name, text in (line.split(": ", 1) for line in lines)}
    return int(status.split()[1]), headers, body


def is_problem(status: int, headers: dict[str, str], body: bytes) -> bool:
    """Whether an answer is a problem of its status."""
    found = json.loads(body)
    return (
        headers["content-type"] == MEDIA_TYPE
        and found["status"] == status
        and found["type"] == f"urn:ganglion:problem:{found['code']}"
        and bool(found["detail"] and found["hint"])
    )


@pytest.fixture
def port(context: ServerContext) -> Iterator[int]:
    with bind("127.0.0.1", 0) as taken:
        ready = threading.Event()
        app = guarded(make_app(context), "secret", loopback=True)
        listener = HttpListener(app, ready.set, context.feed.close)
        thread = threading.Thread(target=listener.run, args=([taken],))
        thread.start()
        assert ready.wait(30)
        yield int(taken.getsockname()[1])
        listener.halt()
        thread.join()


@pytest.mark.parametrize("data", MALFORMED.values(), ids=MALFORMED)
def test_what_is_no_request_is_answered_with_a_problem(port: int, data: bytes) -> None:
    status, headers, body = answered(port, data)
    assert status == 400
    assert headers["connection"] == "close"
    assert is_problem(status, headers, body)


def test_the_server_goes_on_after_all_of_them(port: int) -> None:
    for data in MALFORMED.values():
        answered(port, data)
    good = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    until(lambda: answered(port, good)[0] == 200, 10)


async def broken(_scope: Scope, _receive: Receive, _send: Send) -> None:
    raise RuntimeError("a bug outside of the application")


def test_a_defect_outside_of_the_application_is_a_problem_too() -> None:
    with bind("127.0.0.1", 0) as taken:
        ready = threading.Event()
        listener = HttpListener(Identified(broken), ready.set, lambda: None)
        listener.config.lifespan = "off"
        thread = threading.Thread(target=listener.run, args=([taken],))
        thread.start()
        assert ready.wait(30)
        data = b"GET /x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        found = answered(int(taken.getsockname()[1]), data)
        listener.halt()
        thread.join()
    assert found[0] == 500
    assert is_problem(*found)
    assert found[1]["x-request-id"]
