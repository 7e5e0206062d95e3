"""Connections that become WebSockets: their silence is no error, and their end leaves room."""

import socket
import threading
from collections.abc import Iterator

import httpx2
import pytest
import uvicorn
from starlette.types import Receive, Scope, Send

from ganglion.server.rest.listening.connections import CallerServer, limited
from tests.server.process import until

MOST = 4


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers every message with itself."""
    assert scope["type"] == "websocket"
    await receive()
    await send({"type": "websocket.accept"})
    while (message := await receive())["type"] == "websocket.receive":
        await send({"type": "websocket.send", "bytes": message["bytes"]})


@pytest.fixture
def hasty() -> type[CallerServer]:
    """Connections that wait for almost nothing."""
    made = limited(MOST)
    made.headers_s = made.body_s = 0.05
    return made


@pytest.fixture
def url(hasty: type[CallerServer]) -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        config = uvicorn.Config(echo, http=hasty, ws="wsproto", lifespan="off", log_config=None)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [taken]})
        thread.start()
        until(lambda: server.started)
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"
        server.should_exit = True
        thread.join()


def test_silence_is_no_error(url: str) -> None:
    with httpx2.Client() as client, client.websocket(url) as there:
        with pytest.raises(TimeoutError):
            there.receive_bytes(timeout=0.3)
        there.send_bytes(b"still here")
        assert there.receive_bytes(timeout=30) == b"still here"


def test_the_end_of_one_leaves_room_for_another(url: str) -> None:
    for _ in range(MOST):
        with httpx2.Client() as client, client.websocket(url) as there:
            there.send_bytes(b"hello")
            assert there.receive_bytes(timeout=30) == b"hello"
