"""A replica that dies is replaced by another one where that is safe, and only there."""

import asyncio
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ganglion.router.balancing.balancer import Balancer
from ganglion.router.balancing.least_loaded import RequestPreferences
from ganglion.router.balancing.table import Limits, ReplicaEndpoint, RoutedService, RoutingState
from ganglion.router.process import connections
from ganglion.router.proxy.probe import Prober
from ganglion.router.proxy.request import Visit
from tests.effort import examples
from tests.router.stage import Actor, Script, Stage, Wire, act, ok, request, stage, until

READY = ReplicaEndpoint("chat/0", "127.0.0.1:1", RoutingState.READY, ("m",))
OTHER = ReplicaEndpoint("chat/1", "127.0.0.1:2", RoutingState.READY)


def dies_after(what: str) -> Script:
    """A replica that reads the head, or also the body, and resets the connection."""

    async def script(wire: Wire) -> None:
        await wire.head()
        if what == "body":
            await wire.exactly(5)
        wire.reset()

    return script


def answers(length: int = 0) -> Script:
    async def script(wire: Wire) -> None:
        while True:
            head = await wire.head()
            whole = ok(b"got:" + await wire.exactly(length))
            await wire.send(whole[:-4] if head.startswith(b"HEAD ") else whole)

    return script


async def with_unreachable(the: Stage, *good: Actor) -> None:
    """The service has a replica where nothing listens, and the request goes there first."""
    gone = await the.actor("chat/gone", answers())
    endpoint = gone.endpoint()
    await gone.shut()
    the.publish(RoutedService("chat", (endpoint, *(each.endpoint() for each in good))))


@pytest.mark.parametrize("method", ["GET", "POST", "PATCH"])
def test_whatever_was_never_sent_is_sent_to_another_one(method: str) -> None:
    async def story() -> None:
        async with stage() as the:
            good = await the.actor("chat/0", answers(5))
            await with_unreachable(the, good)
            for _ in range(20):
                _, body = await the.fetch(request(method, "/chat/", b"hello"))
                assert body == b"got:hello"
            gone, _ = the.stats().replicas
            assert (gone.ready, gone.failed >= 1) == (False, True)
            assert the.stats().done == 20

    act(story())


def test_a_request_waits_when_nobody_can_be_reached() -> None:
    async def story() -> None:
        async with stage() as the:
            actor = await the.actor("chat/0", answers(5))
            await actor.shut()
            the.route(actor)
            wire = await the.call()
            await wire.send(request("POST", "/chat/", b"hello"))
            await until(lambda: the.stats().waiting == 1)
            await actor.open()
            assert (await wire.head()).startswith(b"HTTP/1.1 200 OK")
            assert await wire.exactly(9) == b"got:hello"
            # Its next failure is its first again.
            await until(lambda: the.services.balancers["chat"].replicas["chat/0"].strikes == 0)

    act(story())


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "DELETE"])
def test_a_request_that_may_be_repeated_goes_to_another_one_when_its_replica_dies(
    method: str,
) -> None:
    async def story() -> None:
        async with stage() as the:
            bad = await the.actor("chat/0", dies_after("head"))
            good = await the.actor("chat/1", answers())
            the.publish(RoutedService("chat", (bad.endpoint(models=("m",)), good.endpoint())))
            wire, head = await the.ask(request(method, "/chat/", extra="X-Ganglion-Model: m\r\n"))
            assert b"X-Ganglion-Replica: chat/1" in head
            assert the.stats().retried == 1
            assert bad.connections >= 1
            wire.close()

    act(story())


def test_a_body_that_was_sent_in_part_is_sent_again_from_its_beginning() -> None:
    async def story() -> None:
        async with stage() as the:
            bad = await the.actor("chat/0", dies_after("body"))
            good = await the.actor("chat/1", answers(9))
            the.publish(RoutedService("chat", (bad.endpoint(models=("m",)), good.endpoint())))
            extra = "X-Ganglion-Model: m\r\n"
            _, body = await the.fetch(request("PUT", "/chat/", b"123456789", extra))
            assert body == b"got:123456789"

    act(story())


@pytest.mark.parametrize("method", ["POST", "PATCH"])
@pytest.mark.parametrize("when", ["head", "body"])
def test_what_a_dead_replica_may_have_done_is_not_asked_of_another_one(
    method: str, when: str
) -> None:
    async def story() -> None:
        async with stage() as the:
            bad = await the.actor("chat/0", dies_after(when))
            good = await the.actor("chat/1", answers(5))
            the.publish(RoutedService("chat", (bad.endpoint(models=("m",)), good.endpoint())))
            extra = "X-Ganglion-Model: m\r\n"
            head, body = await the.fetch(request(method, "/chat/", b"hello", extra))
            assert head.startswith(b"HTTP/1.1 502 ")
            assert b"chat/0 ended the connection without an answer" in body
            assert (bad.connections, good.connections) == (1, 0)

    act(story())


def test_a_post_without_a_body_is_sent_once_too() -> None:
    async def story() -> None:
        async with stage() as the:
            bad = [await the.actor(f"chat/{number}", dies_after("head")) for number in range(2)]
            the.route(*bad)
            head, _ = await the.fetch(request("POST", "/chat/"))
            assert head.startswith(b"HTTP/1.1 502 ")
            assert sum(actor.connections for actor in bad) == 1

    act(story())


def test_whoever_lost_a_request_is_not_asked_again_while_there_is_another() -> None:
    async def story() -> None:
        balancer = Balancer(RoutedService("chat", (READY, OTHER)), 0, Random(1), lambda: None)
        async with connections() as session:
            visit = Visit(balancer, RequestPreferences(model="m"), Prober(session))
            async with visit.seat() as first:
                visit.failed(first)
            balancer.revive(first, 0)
            async with visit.seat() as second:
                assert (first.name, second.name) == ("chat/0", "chat/1")

    act(story())


def test_tries_are_bounded() -> None:
    async def story() -> None:
        async with stage() as the:
            bad = [await the.actor(f"chat/{number}", dies_after("head")) for number in range(6)]
            the.route(*bad, tries=3)
            head, _ = await the.fetch(request("PUT", "/chat/", b"hello"))
            assert head.startswith(b"HTTP/1.1 502 ")
            assert the.stats().retried == 2

    act(story())


def test_a_large_body_that_was_sent_in_part_is_not_sent_again() -> None:
    async def story() -> None:
        async def script(wire: Wire) -> None:
            await wire.head()
            await wire.exactly(512 << 10)
            wire.reset()

        async with stage() as the:
            bad = await the.actor("chat/0", script)
            good = await the.actor("chat/1", answers(1 << 20))
            the.publish(RoutedService("chat", (bad.endpoint(models=("m",)), good.endpoint())))
            extra = "X-Ganglion-Model: m\r\n"
            head, _ = await the.fetch(request("PUT", "/chat/", b"x" * (1 << 20), extra))
            assert head.startswith(b"HTTP/1.1 502 ")
            assert good.connections == 0

    act(story())


def test_a_connection_that_was_closed_while_idle_costs_nobody_a_request() -> None:
    async def story() -> None:
        async def once(wire: Wire) -> None:
            await wire.head()
            await wire.send(ok(b"got:" + await wire.exactly(5)))

        async with stage() as the:
            actor = await the.actor("chat/0", once)
            the.route(actor)
            for number in range(10):
                _, body = await the.fetch(request("POST", "/chat/", b"hello"))
                assert body == b"got:hello"
                await until(lambda: not actor.busy)
                assert actor.connections == number + 1
            assert the.stats().broken == 0

    act(story())


def test_connections_to_replicas_are_not_kept_longer_than_replicas_keep_them() -> None:
    async def story() -> None:
        async with stage() as the:
            actor = await the.actor("chat/0", answers(5))
            the.route(actor)
            for _ in range(3):
                await the.fetch(request("POST", "/chat/", b"hello"))
            assert (actor.connections, actor.busy) == (1, True)
            # The usual server closes what is idle after 5 s; the router is well before it.
            began = asyncio.get_running_loop().time()
            await until(lambda: not actor.busy)
            assert asyncio.get_running_loop().time() - began < 5

    act(story())


@settings(max_examples=examples(15))
@given(st.integers(0, 5), st.sampled_from(["GET", "PUT", "POST"]), st.data())
def test_no_request_is_carried_out_twice_unless_it_may_be(
    dying: int, method: str, data: st.DataObject
) -> None:
    async def story() -> None:
        async with stage() as the:
            actors = [await the.actor(f"chat/{n}", dies_after("head")) for n in range(dying)]
            actors.append(await the.actor("chat/good", answers(5)))
            the.route(*data.draw(st.permutations(actors)), tries=10)
            head, _ = await the.fetch(request(method, "/chat/", b"hello"))
            seen = sum(actor.connections for actor in actors)
            if method == "POST":
                assert seen == 1
                assert head.startswith((b"HTTP/1.1 200 ", b"HTTP/1.1 502 "))
            else:
                assert head.startswith(b"HTTP/1.1 200 ")

    act(story())


def test_a_service_with_room_for_one_still_serves_after_a_replica_dies() -> None:
    async def story() -> None:
        async with stage() as the:
            bad = await the.actor("chat/0", dies_after("head"))
            good = await the.actor("chat/1", answers(5))
            endpoints = (bad.endpoint(), good.endpoint())
            the.publish(RoutedService("chat", endpoints, Limits(per_replica=1)))
            for _ in range(10):
                head, _ = await the.fetch(request("PUT", "/chat/", b"hello"))
                assert head.startswith(b"HTTP/1.1 200 ")
            assert the.stats().running == 0

    act(story())
