"""What a dry run says comes true when the gang is submitted in the same state."""

from random import Random

import pytest
from msgspec.structs import replace

from ganglion.engine.cycle import cycle
from ganglion.engine.explain.explain import explain
from ganglion.engine.explain.foretell import foretell, impossible
from ganglion.engine.gangs.preemption_cost import gpu_milli, unsaved_ms
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.metering.rating import rounded
from ganglion.model import events as ev
from ganglion.model.causes import MOVES, Cause
from ganglion.model.fleet.price import Price
from ganglion.model.plan import Phase
from ganglion.model.policy import Entitlement, EvictionRules, Future, Order, Policy
from ganglion.model.reasons import StartUnknown, Yielding
from ganglion.model.workload import Checkpoint, Gang
from tests.effort import sample
from tests.engine import random_fleets as make
from tests.engine.build import gang, node, state_of, submit

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
    for seed in sample(range(240), 16, turn=len(name)):
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
    assert len(seen) >= 3, seen


def test_it_takes_over_at_the_next_checkpoint_of_those_in_its_way() -> None:
    """It says when, and whom it displaces then at which loss; and that comes true."""
    policy = Policy(evict=EvictionRules(checkpoint_wait_ms=HOUR))
    state = state_of(node("n0"), policy=policy)
    save = Checkpoint(interval_ms=20 * MINUTE)
    submit(state, gang("a", gpus=8, checkpoint=save), now=1)
    cycle(state, [ev.GangStarted(1, "a/0", 1)], 1)
    now = 18 * MINUTE
    cycle(state, [], now)
    asked = gang("b", gpus=8, priority=80, submitted=now)

    told = foretell(state, asked, now)

    assert told.verdict.placement is None
    assert 20 * MINUTE <= told.takeover_ms <= 24 * MINUTE
    (victim,) = told.displaced
    assert (victim.gang, victim.fate) == ("a/0", Yielding.REQUEUED)
    assert 0 < victim.most_gpu_ms < 8 * 4 * MINUTE
    cycle(state, [ev.GangSubmitted(now, asked)], now)
    assert not cycle(state, [], told.takeover_ms - 1).stops
    (stop,) = cycle(state, [], told.takeover_ms).stops
    assert stop.gang == "a/0"


def test_what_is_lost_is_charged_as_it_was_metered() -> None:
    """By the prices that held meanwhile; a part without one has no price at all."""
    state = state_of(node("n0"))
    prices = [Price("H100", 1, 1_000_000), Price("H100", HOUR + 1, 3_000_000)]
    cycle(state, [ev.PriceSet(1, each) for each in prices], 1)
    submit(state, gang("a", gpus=8), now=1)
    cycle(state, [ev.GangStarted(1, "a/0", 1)], 1)

    (victim,) = foretell(state, gang("b", gpus=8, priority=80), 2 * HOUR + 1).displaced

    assert (victim.lost_gpu_ms, victim.most_gpu_ms) == (None, 16 * HOUR)
    assert rounded([victim.cost or 0]) == [8 * 4_000_000]
    cycle(state, [ev.PriceSet(2 * HOUR, Price("H100", HOUR + 1, None))], 2 * HOUR)
    (victim,) = foretell(state, gang("b", gpus=8, priority=80), 2 * HOUR + 1).displaced
    assert victim.cost is None


def test_among_too_many_gangs_it_is_unknown_when_one_starts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    state = state_of(node("n0"))
    submit(state, gang("a", gpus=8, time_limit_ms=HOUR), now=0)
    late = gang("b", gpus=8, deadline_ms=10 * HOUR)  # which a copy of the state is made for
    assert foretell(state, late, 1).start
    monkeypatch.setattr("ganglion.engine.explain.rehearsal.WORK", 0)
    told = foretell(state, late, 1)
    assert (told.start, told.unknown) == (None, StartUnknown.LARGE)


def test_one_that_is_only_promised_a_place_loses_no_work() -> None:
    state = state_of(node("n0"))
    submit(state, gang("old", gpus=8), now=1)
    cycle(state, [ev.GangStarted(1, "old/0", 1)], 1)
    submit(state, gang("mid", gpus=8, priority=60), now=2)

    told = foretell(state, gang("top", gpus=8, priority=90), HOUR)

    (each,) = told.displaced
    assert (each.gang, each.fate) == ("mid/0", Yielding.WAITS)
    assert (each.gpu_milli, each.lost_gpu_ms, each.most_gpu_ms) == (8_000, 0, 0)
    assert told.verdict.stops == ("mid/0",)
