"""Requests wait for a replica, within limits; the others get the time to retry."""

import asyncio
import json
from functools import partial

from ganglion.router.balancing.table import Limits, RoutedService
from tests.router.stage import Wire, act, ok, request, says, stage, until


class Gate:
    """A replica that answers one request each time it is let."""

    def __init__(self) -> None:
        self.let = asyncio.Semaphore(0)

    async def script(self, wire: Wire) -> None:
        while True:
            await wire.head()
            await self.let.acquire()
            await wire.send(ok(b"done"))


def test_requests_wait_for_the_first_replica_and_the_scaler_is_told() -> None:
    async def story() -> None:
        async with stage() as the:
            the.publish(RoutedService("chat"))
            seen = the.services.news
            calls = [asyncio.create_task(the.fetch(request("GET", "/chat/"))) for _ in range(5)]
            await the.services.news_beyond(seen, 10_000)
            assert the.services.news > seen
            await until(lambda: the.stats().waiting == 5)
            assert the.stats().waiting_since_ms > 0
            the.route(await the.actor("chat/0", says(ok(b"hi"))))
            for call in calls:
                assert (await call)[1] == b"hi"
            assert (the.stats().waiting, the.stats().done) == (0, 5)

    act(story())


def test_whoever_waited_long_enough_is_told_to_come_again() -> None:
    async def story() -> None:
        async with stage() as the:
            the.publish(RoutedService("chat", limits=Limits(hold_ms=30)))
            head, body = await the.fetch(request("GET", "/chat/"))
            assert head.startswith(b"HTTP/1.1 503 ")
            assert b"Retry-After: 5\r\n" in head
            assert json.loads(body) == {
                "type": "urn:ganglion:problem:router.unserved",
                "title": "Service Unavailable",
                "status": 503,
                "detail": "chat has no replica that is ready",
                "instance": "",
                "code": "router.unserved",
                "hint": "see `ganglion describe chat`",
                "errors": [],
            }
            assert (the.stats().waiting, the.stats().unserved) == (0, 1)

    act(story())


def test_a_service_that_does_not_wake_is_refused_at_once() -> None:
    async def story() -> None:
        async with stage() as the:
            the.publish(RoutedService("chat", wakes=False))
            head, _ = await the.fetch(request("GET", "/chat/"))
            assert head.startswith(b"HTTP/1.1 503 ")

    act(story())


def test_those_who_wait_are_told_when_their_service_is_gone() -> None:
    async def story() -> None:
        async with stage() as the:
            the.publish(RoutedService("chat"))
            call = asyncio.create_task(the.fetch(request("GET", "/chat/")))
            await until(lambda: the.stats().waiting == 1)
            the.publish()
            assert (await call)[0].startswith(b"HTTP/1.1 503 ")

    act(story())


def test_a_full_queue_pushes_back() -> None:
    async def story() -> None:
        gate = Gate()
        async with stage() as the:
            the.route(await the.actor("chat/0", gate.script), per_replica=1, queue=2)
            calls = [asyncio.create_task(the.fetch(request("GET", "/chat/"))) for _ in range(3)]
            await until(lambda: the.stats().waiting == 2)
            head, body = await the.fetch(request("GET", "/chat/"))
            assert head.startswith(b"HTTP/1.1 429 ")
            assert b"\r\nRetry-After: " in head
            assert json.loads(body)["detail"] == "2 requests wait for chat already"
            for _ in calls:
                gate.let.release()
            for call in calls:
                assert (await call)[1] == b"done"
            assert (the.stats().refused, the.stats().done) == (1, 3)

    act(story())


def test_no_replica_has_more_than_it_may_and_all_are_used() -> None:
    async def story() -> None:
        gates = [Gate(), Gate()]
        async with stage() as the:
            actors = [await the.actor(f"chat/{n}", gate.script) for n, gate in enumerate(gates)]
            the.route(*actors, per_replica=3)
            calls = [asyncio.create_task(the.fetch(request("GET", "/chat/"))) for _ in range(20)]
            await until(lambda: the.stats().arrived == 20)
            for served in range(20):
                assert [each.running for each in the.stats().replicas] == [3, 3] or served > 14
                gates[served % 2].let.release()
                await until(partial(lambda count: the.stats().done == count, served + 1))
            await asyncio.gather(*calls)

    act(story())


def test_a_busy_service_says_that_it_is_busy() -> None:
    async def story() -> None:
        gate = Gate()
        async with stage() as the:
            the.route(await the.actor("chat/0", gate.script), per_replica=1, hold_ms=40)
            first = asyncio.create_task(the.fetch(request("GET", "/chat/")))
            await until(lambda: the.stats().running == 1)
            head, body = await the.fetch(request("GET", "/chat/"))
            assert head.startswith(b"HTTP/1.1 503 ")
            assert json.loads(body)["code"] == "router.busy"
            gate.let.release()
            await first

    act(story())


def test_one_that_drains_gets_nothing_new_and_loses_nothing() -> None:
    async def story() -> None:
        gate = Gate()
        async with stage() as the:
            old = await the.actor("chat/0", gate.script)
            the.route(old)
            call = asyncio.create_task(the.fetch(request("GET", "/chat/")))
            await until(lambda: the.stats().running == 1)
            new = await the.actor("chat/1", says(ok(b"new")))
            the.publish(RoutedService("chat", (old.draining(), new.endpoint())))
            for _ in range(10):
                assert (await the.fetch(request("GET", "/chat/")))[1] == b"new"
            assert the.stats().replicas[0].running == 1
            seen = the.services.news
            gate.let.release()
            assert (await call)[1] == b"done"
            await the.services.news_beyond(seen, 10_000)
            assert the.stats().replicas[0].running == 0

    act(story())


def test_equal_keys_go_to_the_same_replica() -> None:
    async def story() -> None:
        async with stage() as the:
            actors = [await the.actor(f"chat/{n}", says(ok(b"%d" % n))) for n in range(4)]
            endpoints = tuple(actor.endpoint() for actor in actors)
            the.publish(RoutedService("chat", endpoints, affinity="X-Session"))
            for key in ("ada", "bob", "eve", "zoe"):
                extra = f"x-session: {key}\r\n"
                found = [await the.fetch(request("GET", "/chat/", extra=extra)) for _ in range(5)]
                assert len({body for _, body in found}) == 1

    act(story())
