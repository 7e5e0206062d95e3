"""The guarantees of the engine hold whatever the policy: moves, growth, emptying, turns."""

from random import Random

import pytest
from msgspec.structs import replace

from ganglion.engine.state.cluster_state import ClusterState
from ganglion.model import events as ev
from ganglion.model.policy import (
    Backfill,
    Entitlement,
    EvictionRules,
    Future,
    Policy,
    Repack,
    VictimOrder,
)
from tests.effort import sample
from tests.engine import random_fleets as make
from tests.engine.guarded import OURS
from tests.engine.test_machine import Engine, random_step

HOUR = 3_600_000
AT_ONCE = EvictionRules(restart_ms=0)
NO_BACKFILL = Future(backfill=Backfill.ANY, reservations=0)
POLICIES = {
    "moving costs nothing": Policy(
        evict=AT_ONCE, future=NO_BACKFILL, repack=Repack(horizon_ms=1, moves=64)
    ),
    "nodes are emptied": Policy(repack=Repack(empty_nodes=True, horizon_ms=24 * HOUR)),
    "as KAI": Policy(
        entitlement=Entitlement.KAI, evict=replace(AT_ONCE, victims=VictimOrder.NEWEST)
    ),
    "everything reserved": Policy(future=Future(backfill=Backfill.CONSERVATIVE)),
    "nobody grows": Policy(elastic=False, evict=AT_ONCE),
}


class Lives(Engine):
    """The same, in queues that share time, with pods that leave one by one."""

    def __init__(self, policy: Policy) -> None:
        super().__init__()
        self.state, self.twin = ClusterState(policy), ClusterState(policy)

    def leave(self, rng: Random) -> None:
        """The pods of gangs that shrank are gone."""
        shrinking = [each for each in self.state.gangs.records.values() if each.leaving]
        if shrinking:
            record = rng.choice(shrinking)
            self.run(ev.PodsLeft(self.now, record.gang.id, record.attempt))

    def share_time(self, rng: Random) -> None:
        """Queues get, or lose, the choice of sharing time."""
        for name in make.LEAVES:
            queue = self.state.queues.by_name[name]
            turns = replace(queue, timeshare_ms=rng.choice((0, 1000, 4000)))
            self.run(ev.QueueSet(self.now, turns))


@pytest.mark.parametrize("name", POLICIES)
def test_long_lives_under_other_policies(name: str) -> None:
    for seed in sample(range(8), 4, turn=len(name)):
        rng = Random(seed)
        engine = Lives(POLICIES[name])
        engine.begin(rng, rng.randint(2, 8), cards=seed % 2 == 1)
        for _ in range(50):
            choice = rng.random()
            if choice < 0.05:
                engine.share_time(rng)
            elif choice < 0.15:
                engine.leave(rng)
            else:
                step, arguments = random_step(rng)
                getattr(engine, step)(rng=rng, **arguments)
            engine.every_invariant_holds()
            engine.decisions_come_to_rest()
            engine.limits_hold_at_every_start()
            engine.a_gang_ends_at_most_once()
            nobody_fixed_was_stopped(engine)
        engine.teardown()


def nobody_fixed_was_stopped(engine: Engine) -> None:
    """Gangs that may not be stopped are stopped by users and worlds only."""
    for event in engine.log:
        if isinstance(event, ev.GangStopping) and event.cause.kind in OURS:
            record = engine.state.gangs.records[event.gang]
            assert record.gang.preemptible
