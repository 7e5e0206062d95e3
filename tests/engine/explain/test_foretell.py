"""What a dry run says comes true when the gang is submitted in the same state."""

from random import Random

import pytest
from msgspec.structs import replace

from ganglion.engine.cycle import cycle
from ganglion.engine.explain.explain import explain
from ganglion.engine.explain.foretell import foretell, impossible
from ganglion.engine.gangs.preemption_cost import gpu_milli, unsaved_ms
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.model import events as ev
from ganglion.model.causes import MOVES, Cause
from ganglion.model.plan import Phase
from ganglion.model.policy import Entitlement, EvictionRules, Future, Order, Policy
from ganglion.model.reasons import Yielding
from ganglion.model.workload import Checkpoint, Gang
from tests.effort import sample
from tests.engine import random_fleets as make

MINUTE = 60_000
HOUR = 60 * MINUTE
POLICIES = {
    "usual": Policy(),
    "strict": Policy(strict=True),
    "priority, without reservations": Policy(
        order=Order.FIFO, future=Future(reservations=0), evict=EvictionRules(restart_ms=0)
    ),
    "quota": Policy(entitlement=Entitlement.QUOTA),
    "kai": Policy(entitlement=Entitlement.KAI),
}


def drawn(rng: Random, number: int, now: int) -> Gang:
    """A gang that may run for a known time, and save its work by some contract."""
    return replace(
        make.gang(rng, number, now),
        time_limit_ms=rng.choice((0, 10 * MINUTE, HOUR, 5 * HOUR)),
        priority=rng.choice((40, 50, 50, 80)),
        checkpoint=rng.choice((None, None, Checkpoint(interval_ms=7 * MINUTE), Checkpoint())),
    )


def lived(rng: Random, policy: Policy) -> tuple[ClusterState, int]:
    """A fleet on which gangs have come, started, saved and ended for some hours, and the time."""
    state, now, number = ClusterState(policy), 0, 0
    cycle(state, [ev.QueueSet(0, queue) for queue in make.queue_tree(rng)], 0)
    cycle(state, [ev.NodeAdded(0, make.node(rng, f"n{i}")) for i in range(rng.randint(2, 6))], 0)
    for _ in range(rng.randint(3, 9)):
        now += rng.choice((1_000, MINUTE, 11 * MINUTE))
        news: list[ev.Event] = []
        for record in state.gangs.records.values():
            id_, attempt = record.gang.id, record.attempt
            if record.phase is Phase.STARTING:
                news.append(ev.GangStarted(now, id_, attempt))
            elif record.phase is Phase.STOPPING and rng.random() < 0.8:
                news.append(ev.GangEnded(now, id_, attempt, ev.Outcome.PREEMPTED, requeue=True))
            elif record.phase is Phase.RUNNING and rng.random() < 0.15:
                news.append(ev.GangEnded(now, id_, attempt, ev.Outcome.SUCCEEDED))
            elif record.phase is Phase.RUNNING and rng.random() < 0.2:
                news.append(ev.CheckpointCommitted(now, id_, attempt, now - 500))
        fresh = [drawn(rng, number + each, now) for each in range(rng.randint(0, 5))]
        number += len(fresh)
        cycle(state, [*news, *(ev.GangSubmitted(now, each) for each in fresh)], now)
    return state, now + rng.choice((0, 1, 5_000, HOUR))


def sensible(rng: Random, state: ClusterState, now: int) -> Gang:
    """A gang that could start some day, unless several draws find none."""
    for _ in range(8):
        asked = replace(drawn(rng, 1_000, now), priority=rng.choice((50, 80, 90)))
        if not impossible(state, asked, now):
            break
    return asked


def truth(state: ClusterState, gang: Gang, now: int) -> tuple[list[ev.Event], int]:
    """Submit it, and decide until it has a place or nothing more happens: decisions, and when."""
    decided: list[ev.Event] = []
    for at in range(now, now + 64):
        decided += cycle(state, [ev.GangSubmitted(now, gang)] if at == now else [], at).decisions
        record = state.gangs.records[gang.id]
        if record.placement or record.promise or state.agenda.again_at is None:
            return decided, at
    return decided, at


def whom(decided: list[ev.Event], gang: str) -> dict[str, Yielding]:
    """Gangs that have to yield for one, and how."""
    found: dict[str, Yielding] = {}
    for each in decided:
        cause: Cause | None = getattr(each, "cause", None)
        if cause is None or cause.gang != gang:
            continue
        if isinstance(each, ev.GangStopping):
            found[each.gang] = Yielding.MOVED if cause.kind in MOVES else Yielding.REQUEUED
        elif isinstance(each, ev.GangResized):
            found[each.gang] = Yielding.SHRUNK
        elif isinstance(each, ev.GangReserved) and each.placement is None:
            found[each.gang] = Yielding.WAITS
    return found


@pytest.mark.parametrize("name", POLICIES)
def test_a_dry_run_comes_true(name: str) -> None:
    """Its place, whom it displaces at which loss, or when it starts: as `why` says it then."""
    seen: dict[str, int] = {}
    for seed in sample(range(240), 12, turn=len(name) % 12):
        rng = Random(seed)
        state, now = lived(rng, POLICIES[name])
        asked = sensible(rng, state, now)
        told = foretell(state, asked, now)
        before = {key: (e.placement, unsaved_ms(e, now)) for key, e in state.gangs.records.items()}

        decided, at = truth(state, asked, now)

        gave = (each for each in decided if isinstance(each, ev.GangPlaced | ev.GangReserved))
        place = next((each.placement for each in gave if each.gang == asked.id), None)
        assert told.verdict.placement == place, seed
        if place:
            assert {e.gang: e.fate for e in told.displaced} == whom(decided, asked.id), seed
            assert told.start is None
            assert told.unknown is None
            for each in told.displaced:
                held, unsaved = before[each.gang]
                stopped = each.fate in (Yielding.REQUEUED, Yielding.MOVED)
                pods = held.pods if held else ()
                lost = gpu_milli(pods) * unsaved // 1000 if stopped else 0
                assert each.most_gpu_ms == lost, seed
        else:
            why = explain(state, asked.id, at, trials=False)
            assert (told.start, told.guesses) == (why.start, why.guesses), seed
            assert (told.start is None) == (told.unknown is not None), seed
            assert told.verdict.reason
            assert why.reason
            assert told.verdict.reason.token is why.reason.token, seed
        kind = "displaces" if told.displaced else "starts" if place else str(told.unknown or "band")
        seen[kind] = seen.get(kind, 0) + 1
    assert {"starts", "displaces", "band"} <= seen.keys(), seen
