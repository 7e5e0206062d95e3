"""Time-sharing among equals: who yields to whom, and how often at most."""

from collections.abc import Sequence
from copy import deepcopy
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from benchmarks.common.drive import Stage, drive
from ganglion.engine.cycle import cycle
from ganglion.engine.gangs.preemption_cost import attained
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.engine.timesharing import service_levels
from ganglion.engine.timesharing.running_attempt import RunningAttempt
from ganglion.model.events import Event, GangEnded, GangStarted, GangSubmitted, Outcome
from ganglion.model.plan import Phase, Plan
from ganglion.model.policy import Backfill, Future, Order, Policy, Repack
from ganglion.model.queue import Queue
from ganglion.model.workload import Checkpoint, Gang, Kind
from ganglion.worlds.simulated.job import SimJob
from tests.effort import examples
from tests.engine.build import gang, node, state_of, submit

HOUR = 3_600_000
SAVES = Checkpoint(grace_ms=10_000)
POLICY = Policy(
    future=Future(backfill=Backfill.ANY, reservations=0), repack=Repack(consolidate=False)
)


def sharing(*, gpus: int = 1, quantum_ms: int = HOUR) -> ClusterState:
    queues = (Queue("team", timeshare_ms=quantum_ms), Queue("other"))
    return state_of(node("n0", gpus), queues=queues, policy=POLICY)


def saving(name: str, gpus: int = 1, **more: Any) -> Gang:
    return gang(name, gpus=gpus, checkpoint=SAVES, **more)


def begin(state: ClusterState, first: Gang, now: int = 1) -> None:
    submit(state, first, now=now)
    cycle(state, [GangStarted(now, first.id, 1)], now)


def stopped(plan: Plan) -> list[tuple[str, str]]:
    return [(stop.gang, str(stop.cause)) for stop in plan.stops]


def test_a_gang_that_had_its_turn_yields_to_an_equal_that_had_none() -> None:
    state = sharing()
    begin(state, saving("long"))
    assert stopped(submit(state, saving("late"), now=HOUR + 1)) == [
        ("long/0", "yielded for late/0")
    ]


def test_a_gang_that_had_little_keeps_its_place() -> None:
    state = sharing()
    begin(state, saving("long"))
    assert not submit(state, saving("late"), now=HOUR - 1).stops


def test_nobody_yields_in_a_queue_that_does_not_share_time() -> None:
    state = sharing(quantum_ms=0)
    begin(state, saving("long"))
    assert not submit(state, saving("late"), now=100 * HOUR).stops


def test_nobody_yields_to_another_queue_or_priority() -> None:
    state = sharing()
    begin(state, saving("long"))
    others = (saving("low", priority=10), saving("stranger", queue="other"))
    assert not submit(state, *others, now=2 * HOUR).stops


def test_time_is_shared_by_default_and_not_in_order_of_arrival_nor_where_the_policy_says() -> None:
    later = 9 * HOUR
    for changes, yields in (({}, 1), ({"order": Order.FIFO}, 0), ({"timeshare": False}, 0)):
        policy = structs.replace(POLICY, **changes)
        state = state_of(node("n0", 1), queues=(Queue("team"),), policy=policy)
        begin(state, saving("long"))
        assert len(submit(state, saving("late"), now=later).stops) == yields, changes


@pytest.mark.parametrize("quantum_ms", [None, HOUR])
def test_only_gangs_with_a_checkpoint_contract_share_time(quantum_ms: int | None) -> None:
    for without in ("long", "late"):
        queues = (Queue("team", timeshare_ms=quantum_ms),)
        state = state_of(node("n0", 1), queues=queues, policy=POLICY)
        contract = {each: None if each == without else SAVES for each in ("long", "late")}
        begin(state, gang("long", checkpoint=contract["long"]))
        assert not submit(state, gang("late", checkpoint=contract["late"]), now=100 * HOUR).stops


def test_gangs_that_save_at_intervals_share_time_only_where_their_queue_says_how() -> None:
    by_the_clock = Checkpoint(interval_ms=HOUR)
    for quantum_ms, yields in ((None, False), (HOUR, True)):
        queues = (Queue("team", timeshare_ms=quantum_ms),)
        state = state_of(node("n0", 1), queues=queues, policy=POLICY)
        begin(state, gang("long", checkpoint=by_the_clock))
        plan = submit(state, gang("late", checkpoint=by_the_clock), now=100 * HOUR)
        assert bool(plan.stops) is yields


def test_services_do_not_share_time_by_default() -> None:
    state = state_of(node("n0", 1), queues=(Queue("team"),), policy=POLICY)
    begin(state, saving("chat", kind=Kind.SERVICE))
    assert not submit(state, saving("late"), now=100 * HOUR).stops


def test_a_gang_that_may_not_be_stopped_does_not_yield() -> None:
    state = sharing()
    begin(state, saving("long", preemptible=False))
    assert not submit(state, saving("late"), now=2 * HOUR).stops


def test_service_counts_every_gpu() -> None:
    state = sharing(gpus=4)
    begin(state, saving("wide", gpus=4))
    assert submit(state, saving("late", gpus=4), now=HOUR // 4 + 1).stops


def test_the_engine_asks_to_be_woken_when_a_turn_ends() -> None:
    state = sharing()
    begin(state, saving("long"))
    assert not submit(state, saving("late"), now=2).stops
    stops: list[tuple[str, str]] = []
    wake = state.next_wake()
    while wake and wake <= HOUR + 1 and not stops:
        stops = stopped(cycle(state, [], wake))
        wake = state.next_wake()
    assert stops == [("long/0", "yielded for late/0")]


def test_whoever_had_less_goes_first_when_room_comes_free() -> None:
    state = sharing()
    begin(state, saving("long"))
    plan = submit(state, saving("late"), now=HOUR + 1)
    end = GangEnded(HOUR + 2, "long/0", 1, Outcome.PREEMPTED, requeue=True)
    assert [each.gang.id for each in cycle(state, [end], HOUR + 2).starts] == ["late/0"]
    assert plan.stops
    submit(state, saving("newest"), now=HOUR + 3)
    done = GangEnded(HOUR + 4, "late/0", 1, Outcome.SUCCEEDED)
    after = cycle(state, [done], HOUR + 4)
    assert [each.gang.id for each in after.starts] == ["newest/0"], "long had an hour already"


@settings(deadline=None, max_examples=examples(30, nightly=1_200))
@given(st.integers(1, 8), st.integers(1, 400), st.integers(1, 64), st.integers(0, 9))
def test_a_gang_is_passed_as_soon_as_it_is_above_a_level_and_no_sooner(
    gpus: int, hours: int, before: int, level: int
) -> None:
    state = sharing(gpus=8)
    begin(state, saving("a", gpus=gpus))
    record = state.gangs.record("a/0")
    record.attained = before * HOUR * 100
    now = hours * HOUR // 10
    levels = service_levels.fixed(HOUR)
    attempt = RunningAttempt(record, levels)
    at = attempt.passes(level, now)
    assert at is not None
    kept = attempt.keeps_until
    assert at >= kept
    assert levels.level(record, at) > level
    assert at in (now, kept) or levels.level(record, at - 1) <= level


@settings(deadline=None, max_examples=examples(3))
@given(st.integers(0, 1 << 30))
def test_a_lane_that_stays_shut_holds_no_gang_that_could_start(seed: int) -> None:
    """Gangs of many lengths and sizes; after every cycle all lanes are opened in a copy."""
    chance = Random(seed)
    jobs, at = [], 0
    for number in range(40):
        at += chance.randrange(HOUR // 4)
        gpus = chance.choice((1, 1, 2, 4))
        gang = saving(f"j{number:02d}", gpus=gpus, submitted=at)
        jobs.append(SimJob(gang, HOUR // 50 << chance.randrange(12)))

    def look(state: ClusterState, _events: Sequence[Event], plan: Plan) -> None:
        if plan.starts or plan.stops or state.agenda.again_at is not None:
            return
        other = deepcopy(state)
        other.progress.changed()
        after = cycle(other, [], plan.at)
        assert not after.starts
        assert not after.stops

    stage = Stage([node("n0", 8)], [Queue("team")], jobs, POLICY, lambda _: 1_000)
    drive(stage, look=look)


@settings(deadline=None, max_examples=examples(12, nightly=500))
@given(st.lists(st.integers(1, 60), min_size=2, max_size=12), st.integers(1, 4))
def test_a_gang_yields_no_more_often_than_the_logarithm_of_its_service(
    sizes: list[int], gpus: int
) -> None:
    """Jobs arrive every ten minutes; each runs `size` x 20 minutes in all."""
    state = sharing(gpus=gpus)
    left = {f"j{i}/0": size * HOUR // 3 for i, size in enumerate(sizes)}
    arrivals = [(1 + i * HOUR // 6, f"j{i}") for i in range(len(sizes))]
    total, yields, now = dict(left), dict.fromkeys(left, 0), 0
    starts: dict[str, int] = {}
    while left:
        ends = {name: starts[name] + left[name] for name in starts}
        wake = state.next_wake()
        times = [*ends.values(), *(at for at, _ in arrivals[:1]), *((wake,) if wake else ())]
        now = max(now, min(times))
        events: list[Event] = []
        for name in [each for each in ends if ends[each] <= now]:
            record = state.gangs.record(name)
            events.append(GangEnded(now, name, record.attempt, Outcome.SUCCEEDED))
            del left[name], starts[name]
        while arrivals and arrivals[0][0] <= now:
            events.append(GangSubmitted(now, saving(arrivals.pop(0)[1], submitted=now)))
        while True:
            plan = cycle(state, events, now)
            events = []
            for stop in plan.stops:
                yields[stop.gang] += 1
                left[stop.gang] -= now - starts.pop(stop.gang)
                ended = GangEnded(now, stop.gang, stop.attempt, Outcome.PREEMPTED, requeue=True)
                events.append(ended)
            for start in plan.starts:
                starts[start.gang.id] = now
                events.append(GangStarted(now, start.gang.id, start.attempt))
            if not events:
                break
        state.validate()
    for name, service in total.items():
        slices = service // (HOUR // service_levels.SLICES) + 1
        most = most_yields(service)
        assert yields[name] <= min(most, slices)
    assert all(each.phase is Phase.ENDED for each in state.gangs.records.values())
    for name, service in total.items():
        assert attained(state.gangs.record(name), now) == service * 1000


def most_yields(service: int) -> int:
    """Attempts of a job that each bring one eighth of what it had, from one quantum on."""
    count, had = 1, HOUR
    while had < service:
        had += max(had // service_levels.PART, HOUR // service_levels.SLICES)
        count += 1
    return count
