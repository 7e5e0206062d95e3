"""Callers that go away leave nothing behind: no work, no place in line, no count."""

import asyncio

from ganglion.router.balancing.table import RoutedService
from tests.router.stage import Wire, act, ok, request, says, stage, until


def test_a_caller_that_goes_away_before_the_answer_ends_the_work() -> None:
    async def story() -> None:
        begun, ended = asyncio.Event(), asyncio.Event()

        async def script(wire: Wire) -> None:
            await wire.head()
            begun.set()
            await wire.ended()
            ended.set()

        async with stage() as the:
            the.route(await the.actor("chat/0", script))
            wire = await the.call()
            await wire.send(request("POST", "/chat/", b"think"))
            await begun.wait()
            assert the.stats().running == 1
            wire.close()
            await ended.wait()
            await until(lambda: the.stats().running == 0)
            assert the.stats().left == 1
            # That was not the replica's fault.
            assert the.stats().replicas[0].failed == 0

    act(story())


def test_a_caller_that_goes_away_amid_the_answer_ends_the_work() -> None:
    async def story() -> None:
        ended = asyncio.Event()

        async def script(wire: Wire) -> None:
            await wire.head()
            await wire.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n")
            await wire.ended()
            ended.set()

        async with stage() as the:
            the.route(await the.actor("chat/0", script))
            wire, _ = await the.ask(request("GET", "/chat/"))
            assert await wire.chunk() == b"x"
            wire.reset()
            await ended.wait()
            await until(lambda: the.stats().left == 1)
            assert the.stats().replicas[0].failed == 0

    act(story())


def test_a_caller_that_goes_away_amid_its_upload_ends_it() -> None:
    async def story() -> None:
        begun, ended = asyncio.Event(), asyncio.Event()

        async def script(wire: Wire) -> None:
            await wire.head()
            begun.set()
            await wire.ended()
            ended.set()

        async with stage() as the:
            the.route(await the.actor("chat/0", script))
            wire = await the.call()
            await wire.send(request("POST", "/chat/", extra="Content-Length: 1000\r\n") + b"some")
            await begun.wait()
            assert the.stats().running == 1
            wire.close()
            await ended.wait()
            await until(lambda: the.stats().running == 0)
            assert the.stats().replicas[0].failed == 0

    act(story())


def test_a_caller_that_goes_away_while_it_waits_gives_up_its_place() -> None:
    async def story() -> None:
        async with stage() as the:
            the.publish(RoutedService("chat"))
            wire = await the.call()
            await wire.send(request("GET", "/chat/"))
            await until(lambda: the.stats().waiting == 1)
            wire.close()
            await until(lambda: the.stats().waiting == 0)
            actor = await the.actor("chat/0", says(ok(b"hi")))
            the.route(actor)
            assert (await the.fetch(request("GET", "/chat/")))[1] == b"hi"
            assert actor.connections == 1
            assert (the.stats().left, the.stats().running) == (1, 0)

    act(story())
