"""Gangs leave nodes that are to be empty by a time, each after a checkpoint."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from ganglion.engine.cycle import cycle
from ganglion.engine.gangs.preemption_cost import LATE_MS
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.model import events as ev
from ganglion.model.fleet.booking import Booking
from ganglion.model.plan import Phase, Plan
from ganglion.model.queue import Queue
from ganglion.model.workload import Checkpoint, Kind
from tests.effort import examples
from tests.engine.build import gang, node, state_of, submit

MINUTE, HOUR = 60_000, 3_600_000
BEGIN = 4 * HOUR
WINDOW = Booking("repair", ("n1",), BEGIN, 8 * HOUR, reason="new fan", clears=True)


def run_on(state: ClusterState, name: str, now: int = 1, **more: object) -> None:
    """A gang of 4 GPUs starts, all of it at once."""
    submit(state, gang(name, 1, 4, **more), now=now)
    cycle(state, [ev.GangStarted(now, f"{name}/0", 1)], now)


def book(state: ClusterState, now: int = 2, booking: Booking = WINDOW) -> Plan:
    plan = cycle(state, [ev.NodeCordoned(now, "n1", "to go"), ev.BookingSet(now, booking)], now)
    state.validate()
    return plan


def at(state: ClusterState, now: int, *events: ev.Event) -> Plan:
    plan = cycle(state, events, now)
    assert not plan.rejected
    state.validate()
    return plan


def stopped(plan: Plan) -> list[str]:
    return [stop.gang for stop in plan.stops]


def until_stopped(state: ClusterState, now: int) -> int:
    """Let the time pass, as far as the state wants to be woken; when the first is stopped."""
    while not any(record.phase is Phase.STOPPING for record in state.gangs.records.values()):
        wake = state.next_wake()
        assert wake is not None
        now = max(wake, now + 1)
        at(state, now)
    return now


def test_a_gang_leaves_once_it_has_saved_and_is_promised_another_place() -> None:
    state = state_of(node("n1", 4))
    run_on(state, "a", checkpoint=Checkpoint(HOUR))
    at(state, 2, ev.NodeAdded(2, node("n2", 4)))
    assert stopped(book(state, now=30 * MINUTE)) == []

    plan = at(state, HOUR, ev.CheckpointCommitted(HOUR, "a/0", 1))

    assert stopped(plan) == ["a/0"]
    assert str(plan.stops[0].cause) == "moved for repair (new fan)"
    promise = state.gangs.record("a/0").promise
    assert promise
    assert {pod.node for pod in promise.pods} == {"n2"}
    at(state, HOUR + 9, ev.GangEnded(HOUR + 9, "a/0", 1, ev.Outcome.PREEMPTED, requeue=True))
    assert state.gangs.record("a/0").phase is Phase.STARTING


def test_without_reports_it_leaves_when_the_contract_says_that_it_has_saved() -> None:
    state = state_of(node("n1", 4))
    run_on(state, "a", checkpoint=Checkpoint(HOUR))
    at(state, 2, ev.NodeAdded(2, node("n2", 4)))
    book(state, now=30 * MINUTE)
    left = until_stopped(state, 30 * MINUTE)
    assert HOUR < left <= HOUR + LATE_MS + HOUR // 16 + 10


def test_who_finds_no_other_place_stays_until_the_last_checkpoint_before_the_deadline() -> None:
    state = state_of(node("n1", 4))
    run_on(state, "a", checkpoint=Checkpoint(HOUR))
    book(state)
    for hour in (1, 2):
        plan = at(state, hour * HOUR, ev.CheckpointCommitted(hour * HOUR, "a/0", 1))
        assert stopped(plan) == []
    plan = at(state, 3 * HOUR, ev.CheckpointCommitted(3 * HOUR, "a/0", 1))
    assert stopped(plan) == ["a/0"]


def test_a_gang_without_checkpoints_is_stopped_when_the_booking_begins() -> None:
    state = state_of(node("n1", 4), node("n2", 4))
    run_on(state, "a")
    run_on(state, "b")
    book(state)
    assert until_stopped(state, 2) == BEGIN


def test_a_gang_that_saves_when_it_is_told_leaves_at_once_if_there_is_room() -> None:
    state = state_of(node("n1", 4))
    run_on(state, "a", checkpoint=Checkpoint(0, grace_ms=MINUTE))
    at(state, 2, ev.NodeAdded(2, node("n2", 4)))
    assert stopped(book(state)) == ["a/0"]


def test_a_gang_that_saves_when_it_is_told_stays_as_long_as_it_can_where_there_is_none() -> None:
    state = state_of(node("n1", 4))
    run_on(state, "a", checkpoint=Checkpoint(0, grace_ms=MINUTE))
    assert stopped(book(state)) == []
    left = until_stopped(state, 2)
    assert BEGIN - 2 * MINUTE <= left < BEGIN - MINUTE


def test_room_that_comes_free_before_is_used_at_the_next_checkpoint() -> None:
    state = state_of(node("n1", 4))
    run_on(state, "a", checkpoint=Checkpoint(HOUR))
    book(state)
    assert stopped(at(state, HOUR, ev.CheckpointCommitted(HOUR, "a/0", 1))) == []
    half = HOUR + 30 * MINUTE
    assert stopped(at(state, half, ev.NodeAdded(half, node("n2", 4)))) == []
    plan = at(state, 2 * HOUR, ev.CheckpointCommitted(2 * HOUR, "a/0", 1))
    assert stopped(plan) == ["a/0"]


def test_replicas_of_a_service_leave_one_at_a_time() -> None:
    state = state_of(node("n1", 4))
    replicas = [
        gang("s", 1, 1, id=f"s/{index}", index=index, kind=Kind.SERVICE) for index in range(3)
    ]
    submit(state, *replicas)
    at(state, 1, *(ev.GangStarted(1, each.id, 1) for each in replicas))
    at(state, 2, ev.NodeAdded(2, node("n2", 4)))
    left = stopped(book(state))
    assert len(left) == 1
    for now in (10, 20):
        gone = ev.GangEnded(now, left[-1], 1, ev.Outcome.PREEMPTED, requeue=True)
        assert stopped(at(state, now, gone)) == []
        more = stopped(at(state, now + 5, ev.GangStarted(now + 5, left[-1], 2)))
        assert len(more) == 1
        left += more
    assert sorted(left) == ["s/0", "s/1", "s/2"]


def test_whoever_the_booking_is_for_stays() -> None:
    state = state_of(node("n1", 4))
    run_on(state, "a")
    booking = Booking("course", ("n1",), 5, 8 * HOUR, queues=("team",), clears=True)
    book(state, booking=booking)
    assert stopped(at(state, 10)) == []


def test_bookings_that_do_not_clear_stop_nobody() -> None:
    state = state_of(node("n1", 4))
    run_on(state, "a")
    book(state, booking=Booking("repair", ("n1",), 5, 8 * HOUR))
    assert stopped(at(state, 10)) == []


def test_a_booking_that_is_taken_back_in_time_moves_nobody() -> None:
    state = state_of(node("n1", 4))
    run_on(state, "a")
    book(state)
    at(state, 5, ev.BookingRemoved(5, "repair"), ev.NodeCordoned(5, "n1", ""))
    assert stopped(at(state, BEGIN)) == []


@settings(max_examples=examples(20, nightly=800), deadline=None)
@given(
    st.lists(
        st.sampled_from([None, Checkpoint(0), Checkpoint(HOUR), Checkpoint(90 * MINUTE)]),
        min_size=1,
        max_size=4,
    ),
    st.integers(0, 3),
    st.booleans(),
)
def test_the_nodes_are_empty_when_the_booking_begins_and_nobody_is_stopped_twice(
    contracts: list[Checkpoint | None], spare: int, reported: bool
) -> None:
    state = state_of(node("n1", 4))
    for number, contract in enumerate(contracts):
        submit(state, gang(f"g{number}", 1, 1, checkpoint=contract))
        cycle(state, [ev.GangStarted(1, f"g{number}/0", 1)], 1)
    if spare:
        at(state, 2, ev.NodeAdded(2, node("n2", spare)))
    now, stops = 3, stopped(book(state, now=3))
    while now < BEGIN:
        events: list[ev.Event] = [
            ev.GangEnded(now, gang_id, record.attempt, ev.Outcome.PREEMPTED, requeue=True)
            for gang_id, record in state.gangs.records.items()
            if record.phase is Phase.STOPPING
        ]
        if reported and now % HOUR < MINUTE:
            events += [
                ev.CheckpointCommitted(now, gang_id, record.attempt)
                for gang_id, record in state.gangs.records.items()
                if record.phase is Phase.RUNNING
            ]
        stops += stopped(at(state, now, *events))
        now = min(now + 7 * MINUTE, BEGIN)
    stops += stopped(at(state, BEGIN))
    assert len(set(stops)) == len(stops) == len(contracts)
    assert all(record.phase is not Phase.RUNNING for record in state.holdings.on_node("n1"))


def replicas(state: ClusterState, count: int, floor: int) -> None:
    """A service with a floor, all of it on the first node; a second one has room for it."""
    found = [
        gang("s", 1, 1, id=f"s/{index}", index=index, kind=Kind.SERVICE, floor=floor)
        for index in range(count)
    ]
    submit(state, *found)
    at(state, 1, *(ev.GangStarted(1, each.id, 1) for each in found))
    at(state, 2, ev.NodeAdded(2, node("n2", 4)))


@pytest.mark.parametrize("queues", [(), ("vip",)])
def test_no_service_is_taken_below_its_floor_for_a_booking(
    queues: tuple[str, ...],
) -> None:
    for count, floor in ((1, 1), (2, 1), (2, 2), (3, 2), (3, 3)):
        state = state_of(node("n1", 4), queues=(Queue("team"), Queue("vip")))
        replicas(state, count, floor)
        now, left = 3, stopped(book(state, 3, replace(WINDOW, queues=queues)))
        while now < BEGIN:
            runs = [each for each in state.gangs.records.values() if each.phase is Phase.RUNNING]
            assert len(runs) >= floor
            now = min(now + 10 * MINUTE, BEGIN)
            left += stopped(at(state, now, *obeyed(state, now)))
        assert len(set(left)) == (0 if floor == count else count)


def obeyed(state: ClusterState, now: int) -> list[ev.Event]:
    """What a world reports that carries orders out immediately."""
    found: list[ev.Event] = []
    for gang_id, record in state.gangs.records.items():
        if record.phase is Phase.STOPPING:
            outcome = ev.Outcome.PREEMPTED
            found.append(ev.GangEnded(now, gang_id, record.attempt, outcome, requeue=True))
        if record.phase is Phase.STARTING:
            found.append(ev.GangStarted(now, gang_id, record.attempt))
    return found
