"""Replicas that are killed under load: whatever may be repeated is answered all the same."""

import asyncio
from random import Random

from benchmarks.router.load import Heard, at_rate, callers
from benchmarks.router.stage import router_stage

KILLS = 15


def test_requests_that_may_be_repeated_survive_replicas_that_are_killed() -> None:
    async def story() -> Heard:
        dice = Random(20260101)
        async with router_stage() as stage, callers() as session:
            for _ in range(3):
                await stage.grow()
            end = asyncio.Event()
            url = f"{stage.url}/slow"
            load = asyncio.create_task(at_rate(session, url, 80.0, end, method="PUT"))
            for _ in range(KILLS):
                await stage.lose(dice.choice(list(stage.replicas.values())))
                await stage.grow()
            end.set()
            return await load

    heard = asyncio.run(asyncio.wait_for(story(), 120.0))
    assert heard.failures == []
    assert len(heard.took_ms) > KILLS
