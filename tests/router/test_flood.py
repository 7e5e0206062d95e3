"""Callers that are slow or too many keep no others from being served."""

import asyncio
from pathlib import Path

import pytest

from ganglion.router.balancing.table import RoutedService
from ganglion.router.link import RouterLink
from ganglion.router.proxy import request_body as upload
from ganglion.router.proxy.connections import CallerLimits
from ganglion.transport.limits import CallerLimit
from tests.router.stage import Stage, Wire, act, ok, request, says, stage, until

HALF = b"GET /chat/ HTTP/1.1\r\nHost: localhost\r\nX-Slow: "
OTHER = "127.0.0.2"
CAP = 8


def bounds(headers_s: float = 30.0) -> CallerLimits:
    return CallerLimits(CallerLimit(CAP), headers_s)


async def half(on: Stage, address: str = "127.0.0.1") -> Wire:
    wire = await on.call(address)
    await wire.send(HALF)
    return wire


async def is_served(on: Stage, address: str) -> bool:
    wire = await on.call(address)
    await wire.send(request("GET", "/chat/"))
    try:
        return b" 200 " in await wire.head()
    finally:
        await wire.gone()


def test_callers_beyond_the_cap_are_refused_at_once_and_others_are_served() -> None:
    async def story() -> None:
        async with stage(bounds()) as on:
            on.route(await on.actor("a", says(ok(b"hi"))))
            taken = [await half(on) for _ in range(CAP // 2)]
            refused = await on.call()
            assert b" 503 " in await refused.head()
            assert b"environment.busy" in await refused.rest()
            assert await is_served(on, OTHER)
            await taken[0].gone()
            while not await is_served(on, "127.0.0.1"):
                await asyncio.sleep(0.01)

    act(story())


def test_headers_have_to_end_in_time_on_the_first_request_and_on_the_next() -> None:
    async def story() -> None:
        async with stage(bounds(headers_s=0.1)) as on:
            on.route(await on.actor("a", says(ok(b"hi"))))
            slow, kept = await half(on), await on.call()
            await kept.send(request("GET", "/chat/"))
            assert b" 200 " in await kept.head()
            assert await kept.exactly(2) == b"hi"
            assert b" 408 " in await slow.head()
            await slow.ended()
            await kept.send(request("GET", "/chat/"))  # idle for longer than headers may take
            assert b" 200 " in await kept.head()
            assert await kept.exactly(2) == b"hi"
            await kept.send(HALF)
            assert b" 408 " in await kept.head()
            await kept.ended()

    act(story())


def test_a_body_that_stops_is_given_up_unless_an_answer_has_begun(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(upload.Upload.__init__.__kwdefaults__, "silent_s", 0.1)

    async def talks(wire: Wire) -> None:
        head = await wire.head()
        if b"/chat/never" in head:
            await wire.ended()
            return
        await wire.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n")
        assert await wire.chunk() == b"late"
        await wire.send(b"0\r\n\r\n")

    async def story() -> None:
        async with stage() as on:
            on.publish(RoutedService("chat", (), keep_prefix=True))
            actor = await on.actor("a", talks)
            on.publish(RoutedService("chat", (actor.endpoint(),), keep_prefix=True))
            begin = "Transfer-Encoding: chunked\r\n"
            stuck = await on.call()
            await stuck.send(request("POST", "/chat/never", extra=begin))
            assert b" 408 " in await stuck.head()
            both = await on.call()
            await both.send(request("POST", "/chat/", extra=begin))
            assert b" 200 " in await both.head()
            assert await both.chunk() == b"hi"
            await asyncio.sleep(0.2)  # longer than a silence that has no answer beside it
            await both.send(b"4\r\nlate\r\n0\r\n\r\n")
            assert await both.chunk() == b""
            await until(lambda: on.stats().done == 1)

    act(story())


def test_a_body_that_is_too_large_is_answered_and_not_reset() -> None:
    async def story() -> None:
        async with stage() as on:
            on.route(await on.actor("a", says(ok(b"hi"))), body_bytes=1_000)
            wire = await on.call()
            await wire.send(request("POST", "/chat/", b"x" * (8 << 20)))
            assert b" 413 " in await wire.head()
            await wire.ended()

    act(story())


def test_the_log_of_a_router_is_json(tmp_path: Path) -> None:
    link = RouterLink(tmp_path, port=0)
    link.start()
    link.stop(router=True)
    lines = (tmp_path / "router.log").read_text().splitlines()
    assert len(lines) == 1
    assert '"event": "routing"' in lines[0]
