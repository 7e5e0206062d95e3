"""Replicas are asked how they are: while they start, after they failed, and while they serve."""

import pytest

from ganglion.router.balancing.table import RoutedService, RoutingState
from ganglion.router.proxy.probe import LONGEST_APART_S, apart_s
from tests.router.stage import Wire, act, ok, request, says, stage, until

SICK = b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n"


def test_one_that_serves_is_set_apart_when_its_health_is_bad_and_comes_back() -> None:
    async def story() -> None:
        well = [ok(b"")]

        async def script(wire: Wire) -> None:
            while True:
                head = await wire.head()
                await wire.send(well[-1] if b" /health " in head else ok(b"hi"))

        async with stage() as the:
            actor = await the.actor("chat/0", script)
            the.publish(RoutedService("chat", (actor.endpoint(),), health="/health"))
            assert the.stats().replicas[0].ready
            well.append(SICK)
            await until(lambda: not the.stats().replicas[0].ready)
            assert the.stats().replicas[0].apart_ms > 0
            well.append(ok(b""))
            await until(lambda: the.stats().replicas[0].ready)
            assert (await the.fetch(request("GET", "/chat/")))[1] == b"hi"

    act(story())


def test_one_bad_answer_among_good_ones_changes_nothing() -> None:
    async def story() -> None:
        asked = 0

        async def script(wire: Wire) -> None:
            nonlocal asked
            while True:
                await wire.head()
                asked += 1
                await wire.send(SICK if asked % 3 else ok(b""))

        async with stage() as the:
            actor = await the.actor("chat/0", script)
            the.publish(RoutedService("chat", (actor.endpoint(),), health="/health"))
            await until(lambda: asked > 30)
            assert the.stats().replicas[0].failed == 0

    act(story())


def test_one_that_is_wanted_again_after_it_drained_is_asked_again() -> None:
    async def story() -> None:
        async with stage() as the:
            actor = await the.actor("chat/0", says(ok(b"hi")))
            for state in (RoutingState.DRAINING, RoutingState.STARTING):
                the.publish(RoutedService("chat", (actor.endpoint(state),)))
            await until(lambda: the.stats().replicas[0].ready)

    act(story())


@pytest.mark.parametrize(("strikes", "seconds"), [(0, 0.0), (1, 0.05), (2, 0.1), (4, 0.4)])
def test_one_that_fails_again_is_left_alone_for_longer(strikes: int, seconds: float) -> None:
    assert apart_s(strikes) == pytest.approx(seconds)
    assert apart_s(100) == LONGEST_APART_S
