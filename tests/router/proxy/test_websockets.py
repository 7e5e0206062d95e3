"""WebSockets pass in both directions, with their kinds, their names and their ends."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
from aiohttp import WSMsgType, web

from ganglion.router.balancing.table import Limits, ReplicaEndpoint, RoutedService, RoutingState
from ganglion.router.port import bind
from ganglion.transport.hosts import LOOPBACK
from tests.router.stage import Stage, act, request, says, stage, until

Talk = Callable[[web.WebSocketResponse], Awaitable[None]]


@asynccontextmanager
async def speaker(talk: Talk, *, protocols: tuple[str, ...] = ()) -> AsyncIterator[ReplicaEndpoint]:
    """A replica that speaks WebSocket."""

    async def handle(asked: web.BaseRequest) -> web.StreamResponse:
        if asked.headers.get("X-Refuse"):
            return web.Response(status=403)
        socket = web.WebSocketResponse(protocols=protocols, autoclose=False, autoping=False)
        await socket.prepare(asked)
        await talk(socket)
        return socket

    runner = web.ServerRunner(web.Server(handle), shutdown_timeout=0.1)
    await runner.setup()
    taken = bind(LOOPBACK, 0)
    port = taken.getsockname()[1]
    await web.SockSite(runner, taken).start()
    try:
        yield ReplicaEndpoint("lab/0", f"{LOOPBACK}:{port}", RoutingState.READY)
    finally:
        await runner.cleanup()


@asynccontextmanager
async def talking(
    the: Stage, path: str = "/lab/ws", **options: Any
) -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
    """A caller's side."""
    url = f"http://{LOOPBACK}:{the.port}{path}"
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(url, autoping=False, **options) as socket,
    ):
        yield socket


async def echo(socket: web.WebSocketResponse) -> None:
    async for message in socket:
        match message.type:
            case WSMsgType.TEXT:
                await socket.send_str(message.data.upper())
            case WSMsgType.BINARY:
                await socket.send_bytes(message.data[::-1])
            case WSMsgType.PING:
                await socket.pong(message.data)


def lab(endpoint: ReplicaEndpoint, **limits: int) -> RoutedService:
    return RoutedService("lab", (endpoint,), Limits(**limits), keep_prefix=True)


def test_messages_pass_in_both_directions_as_what_they_are() -> None:
    async def story() -> None:
        async with stage() as the, speaker(echo) as endpoint:
            the.publish(lab(endpoint))
            async with talking(the) as socket:
                for number in range(50):
                    await socket.send_str(f"message {number}")
                    assert await socket.receive_str() == f"MESSAGE {number}"
                await socket.send_bytes(bytes(range(256)) * 4_000)
                assert await socket.receive_bytes() == bytes(range(255, -1, -1)) * 4_000
                await socket.ping(b"there?")
                answer = await socket.receive()
                assert (answer.type, answer.data) == (WSMsgType.PONG, b"there?")
                assert the.stats("lab").running == 1
            await until(lambda: the.stats("lab").done == 1)
            assert the.stats("lab").running == 0

    act(story())


def test_replicas_may_speak_first_and_end_with_a_code_and_a_reason() -> None:
    async def story() -> None:
        async def talk(socket: web.WebSocketResponse) -> None:
            await socket.send_str("welcome")
            await socket.close(code=4_321, message=b"enough")

        async with stage() as the, speaker(talk) as endpoint:
            the.publish(lab(endpoint))
            async with talking(the, autoclose=False) as socket:
                assert await socket.receive_str() == "welcome"
                end = await socket.receive()
                assert (end.type, end.data, end.extra) == (WSMsgType.CLOSE, 4_321, "enough")

    act(story())


def test_callers_may_end_with_a_code() -> None:
    async def story() -> None:
        ends = asyncio.Queue[int | None]()

        async def talk(socket: web.WebSocketResponse) -> None:
            end = await socket.receive()
            ends.put_nowait(end.data)
            await socket.close(code=end.data)

        async with stage() as the, speaker(talk) as endpoint:
            the.publish(lab(endpoint))
            async with talking(the) as socket:
                await socket.close(code=4_000)
                assert socket.close_code == 4_000
            assert await ends.get() == 4_000

    act(story())


def test_a_caller_that_vanishes_ends_the_replicas_side() -> None:
    async def story() -> None:
        ended = asyncio.Event()

        async def talk(socket: web.WebSocketResponse) -> None:
            await socket.receive()
            ended.set()

        async with stage() as the, speaker(talk) as endpoint:
            the.publish(lab(endpoint))
            handshake = (
                "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
            )
            wire, head = await the.ask(request("GET", "/lab/ws", extra=handshake))
            assert head.startswith(b"HTTP/1.1 101 ")
            wire.reset()
            await ended.wait()
            await until(lambda: the.stats("lab").running == 0)

    act(story())


def test_a_replica_that_vanishes_ends_the_callers_side() -> None:
    async def story() -> None:
        async def talk(socket: web.WebSocketResponse) -> None:
            await socket.send_str("soon")
            transport = socket._req and socket._req.transport
            assert transport
            transport.abort()

        async with stage() as the, speaker(talk) as endpoint:
            the.publish(lab(endpoint))
            async with talking(the) as socket:
                assert await socket.receive_str() == "soon"
                end = await socket.receive()
                assert end.type in {WSMsgType.CLOSE, WSMsgType.CLOSED}
                assert socket.close_code in {1001, 1006}

    act(story())


def test_the_protocol_that_the_replica_chose_is_the_callers() -> None:
    async def story() -> None:
        async with stage() as the, speaker(echo, protocols=("v1.kernel",)) as endpoint:
            the.publish(lab(endpoint))
            async with talking(the, protocols=("v0", "v1.kernel")) as socket:
                assert socket.protocol == "v1.kernel"

    act(story())


def test_a_handshake_that_the_replica_declines_is_declined() -> None:
    async def story() -> None:
        async with stage() as the, speaker(echo) as endpoint:
            the.publish(lab(endpoint))
            try:
                async with talking(the, headers={"X-Refuse": "1"}):
                    raise AssertionError("it was taken")
            except aiohttp.WSServerHandshakeError as error:
                assert error.status == 403

    act(story())


def test_opening_a_workspace_that_sleeps_waits_until_it_is_awake() -> None:
    async def story() -> None:
        async with stage() as the, speaker(echo) as endpoint:
            the.publish(RoutedService("lab"))

            async def talk() -> str:
                async with talking(the) as socket:
                    await socket.send_str("awake?")
                    return await socket.receive_str()

            call = asyncio.create_task(talk())
            await until(lambda: the.stats("lab").waiting == 1)
            the.publish(lab(endpoint))
            assert await call == "AWAKE?"

    act(story())


def test_a_message_over_the_limit_ends_the_connection() -> None:
    async def story() -> None:
        async with stage() as the, speaker(echo) as endpoint:
            the.publish(lab(endpoint, body_bytes=1_000))
            async with talking(the) as socket:
                await socket.send_bytes(b"x" * 1_001)
                end = await socket.receive()
                assert end.type == WSMsgType.CLOSE
                assert socket.close_code == 1009

    act(story())


def test_a_service_that_knows_no_websockets_says_so() -> None:
    async def story() -> None:
        async with stage() as the:
            the.route(
                await the.actor("chat/0", says(b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n"))
            )
            try:
                async with talking(the, "/chat/ws"):
                    raise AssertionError("it was taken")
            except aiohttp.WSServerHandshakeError as error:
                assert error.status == 404

    act(story())
