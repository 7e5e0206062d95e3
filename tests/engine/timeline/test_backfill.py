"""Reservations and backfill: predictions are kept."""

from collections import Counter
from heapq import heappop, heappush
from random import Random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from ganglion.engine.cycle import cycle
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.engine.timeline import backfill as future
from ganglion.engine.timeline.profile import ProfileInput
from ganglion.model import events as ev
from ganglion.model.fleet.booking import Booking
from ganglion.model.fleet.levels import Level
from ganglion.model.fleet.node import Node
from ganglion.model.placement import Placement
from ganglion.model.plan import Plan, Start
from ganglion.model.policy import Backfill, EvictionRules, Future, Order, Policy, Repack
from ganglion.model.queue import Queue
from ganglion.model.workload import Gang, Topology
from tests.effort import examples
from tests.engine import random_fleets as make
from tests.engine.build import gang, node

EASY = Policy(
    order=Order.FIFO,
    future=Future(backfill=Backfill.EASY, patience_permille=0),
    evict=EvictionRules(enabled=False),
    repack=Repack(consolidate=False),
)
"""No gang is stopped or moved: these tests are about time alone."""


class Replay:
    """Virtual time over jobs that run for a known time; checks every promise on the way."""

    def __init__(
        self, policy: Policy, nodes: list[Node], bookings: tuple[Booking, ...] = ()
    ) -> None:
        self.state = ClusterState(policy)
        self.bookings = bookings
        self.told: dict[str, int] = {}
        self.started: dict[str, int] = {}
        self.starts: dict[str, Start] = {}
        self.ends: list[tuple[int, str]] = []
        self.passed: dict[str, str] = {}
        self.cycle([ev.QueueSet(0, Queue(name)) for name in (*make.LEAVES, "team")], 0)
        self.cycle([ev.NodeAdded(0, each) for each in nodes], 0)
        self.cycle([ev.BookingSet(0, each) for each in bookings], 0)

    def run(self, jobs: list[tuple[Gang, int]]) -> None:
        """Jobs with their run times, in the order of submission, to the end of them all."""
        self.runs = {each.id: ran for each, ran in jobs}
        todo = sorted((each.submitted, number) for number, (each, _) in enumerate(jobs))
        now = 0
        while True:
            times = [at for at, *_ in (*todo[:1], *self.ends[:1])]
            wake = self.state.next_wake()
            if not times and wake is None:
                return
            now = min([*times, *([] if wake is None else [wake])])
            events: list[ev.Event] = []
            while self.ends and self.ends[0][0] <= now:
                _, name = heappop(self.ends)
                events.append(ev.GangEnded(now, name, 1, ev.Outcome.SUCCEEDED))
            while todo and todo[0][0] <= now:
                events.append(ev.GangSubmitted(now, jobs[todo.pop(0)[1]][0]))
            self.cycle(events, now)

    def cycle(self, events: list[ev.Event], now: int) -> Plan:
        plan = cycle(self.state, events, now)
        self.state.validate()
        for decision in plan.decisions:
            if isinstance(decision, ev.StartPlanned):
                self._planned(decision)
            if isinstance(decision, ev.GangPlaced) and decision.ahead_of:
                self.passed[decision.gang] = decision.ahead_of
        for start in plan.starts:
            self._started(start, now)
        return plan

    def _planned(self, event: ev.StartPlanned) -> None:
        assert event.placement, f"the reservation of {event.gang} was taken back: {event.cause}"
        assert event.start_ms <= self.told.get(event.gang, event.start_ms), "moved later"
        self.told[event.gang] = event.start_ms

    def _started(self, start: Start, now: int) -> None:
        name, limit = start.gang.id, start.gang.time_limit_ms
        assert now <= self.told.pop(name, now), f"{name} was told an earlier start"
        for held in self.state.timeline.future.reservations():
            met = _shares(held.placement) + _shares(start.placement)
            crowded = [device for device, milli in met.items() if milli > 1000]
            assert not crowded or now + limit <= held.start_ms, f"{name} overlaps a reservation"
        for each in self.bookings:
            if start.gang.queue not in each.queues and now < each.end:
                booked = {pod.node for pod in start.placement.pods} & set(each.nodes)
                assert not booked or now + limit <= each.begin, f"{name} overlaps a booking"
        self.started[name], self.starts[name] = now, start
        heappush(self.ends, (now + self.runs[name], name))


def _shares(placement: Placement) -> Counter[tuple[str, int]]:
    """Thousandths taken of each device."""
    found: Counter[tuple[str, int]] = Counter()
    for pod in placement.pods:
        for device in pod.devices:
            found[pod.node, device] += pod.milli
    return found


def _jobs(rng: Random, count: int) -> list[tuple[Gang, int]]:
    found, now = [], 0
    for number in range(count):
        limit = rng.choice((10, 100, 1000, 5000))
        now += rng.choice((0, 1, 30, 300))
        drawn = make.gang(rng, number, now)
        each = replace(drawn, priority=50, held=False, after=(), parallel=0, time_limit_ms=limit)
        found.append((each, rng.randint(1, limit)))
    return found


@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 6),
    st.sampled_from((Backfill.EASY, Backfill.CONSERVATIVE)),
    st.integers(1, 3),
    st.sampled_from((Order.FIFO, Order.FAIR)),
    st.sampled_from((0, 750)),
)
@example(13783937, 3, Backfill.EASY, 1, Order.FAIR, 0)  # the holder starts elsewhere
@settings(max_examples=examples(20, nightly=800), deadline=None)
def test_no_reservation_is_delayed_or_overlapped_when_limits_hold(
    seed: int, size: int, backfill: Backfill, reservations: int, order: Order, patience: int
) -> None:
    rng = Random(seed)
    ahead = Future(backfill=backfill, reservations=reservations, patience_permille=patience)
    nodes = [make.node(rng, f"n{number}") for number in range(size)]
    replay = Replay(replace(EASY, order=order, future=ahead), nodes)
    replay.run(_jobs(rng, 30))
    waiting = set(replay.state.timeline.future.reservations())
    assert not waiting, "a gang with a reservation never started"


@given(st.integers(0, 2**32 - 1), st.integers(1, 4))
@settings(max_examples=examples(12, nightly=500), deadline=None)
def test_no_gang_is_on_a_node_during_a_booking_that_is_not_for_it(seed: int, size: int) -> None:
    rng = Random(seed)
    nodes = [make.node(rng, f"n{number}") for number in range(size)]
    bookings = tuple(_booking(rng, number, nodes) for number in range(rng.randint(1, 3)))
    replay = Replay(EASY, nodes, bookings)
    replay.run(_jobs(rng, 20))


def _booking(rng: Random, number: int, nodes: list[Node]) -> Booking:
    names = rng.sample([each.name for each in nodes], rng.randint(1, len(nodes)))
    begin = rng.randint(0, 3000)
    queues = rng.choice(((), ("red",)))
    return Booking(f"b{number}", tuple(names), begin, begin + rng.choice((10, 1000)), queues)


def _two_nodes() -> list[Node]:
    return [node("a", rack="r"), node("b", rack="r")]


def _limited(name: str, gpus: int, limit: int, at: int = 0, **more: object) -> Gang:
    return gang(name, gpus=gpus, time_limit_ms=limit, submitted=at, **more)


def test_a_short_gang_overtakes_a_blocked_one_and_a_long_one_does_not() -> None:
    replay = Replay(EASY, [node("a")])
    replay.run(
        [
            (_limited("running", 4, 100), 100),
            (_limited("blocked", 8, 100, 1), 100),
            (_limited("long", 4, 200, 2), 200),
            (_limited("short", 4, 90, 3), 90),
        ]
    )
    assert replay.started == {"running/0": 0, "short/0": 3, "blocked/0": 100, "long/0": 200}
    assert replay.passed == {"short/0": "blocked/0"}


def test_a_long_gang_starts_beside_the_reserved_place() -> None:
    replay = Replay(EASY, _two_nodes())
    replay.run(
        [
            (_limited("left", 6, 100), 100),
            (_limited("right", 4, 1000), 1000),
            (_limited("blocked", 8, 100, 1), 100),
            (_limited("long", 2, 5000, 2), 5000),
        ]
    )
    assert replay.started["long/0"] == 2
    assert replay.starts["long/0"].placement.pods[0].node == "b"
    assert replay.started["blocked/0"] == 100


def test_a_gang_that_must_stay_in_one_rack_gets_its_reservation_there() -> None:
    nodes = [node("a", rack="r"), node("b", rack="r"), node("c", rack="s"), node("d", rack="s")]
    together = {"topology": Topology(required=Level.RACK)}
    replay = Replay(EASY, nodes)
    replay.run(
        [
            (_limited("one", 8, 100), 100),
            (_limited("two", 8, 300), 300),
            (_limited("three", 8, 500), 500),
            (gang("blocked", 2, 8, time_limit_ms=50, submitted=1, **together), 50),
            (_limited("long", 8, 9000, 2), 9000),
        ]
    )
    assert replay.started["blocked/0"] == 300
    taken = {pod.node for pod in replay.starts["blocked/0"].placement.pods}
    assert replay.starts["long/0"].placement.pods[0].node not in taken


def test_an_early_end_moves_a_reservation_forward() -> None:
    replay = Replay(EASY, [node("a")])
    replay.run([(_limited("running", 8, 1000), 10), (_limited("blocked", 8, 100, 1), 100)])
    assert replay.started["blocked/0"] == 10


def test_a_higher_priority_takes_the_reservation_over() -> None:
    state = ClusterState(EASY)
    cycle(state, [ev.QueueSet(0, Queue("team")), ev.NodeAdded(0, node("a"))], 0)
    low = _limited("low", 8, 100, 1)
    cycle(state, [ev.GangSubmitted(0, _limited("running", 8, 1000)), ev.GangSubmitted(0, low)], 0)
    assert state.timeline.future.reservation("low/0")
    high = _limited("high", 8, 100, 2, priority=90)
    cycle(state, [ev.GangSubmitted(2, high)], 2)
    assert state.timeline.future.reservation("low/0") is None
    held = state.timeline.future.reservation("high/0")
    assert held and held.start_ms == 1000


def test_the_place_of_a_cancelled_gang_is_open_again() -> None:
    state = ClusterState(EASY)
    cycle(state, [ev.QueueSet(0, Queue("team")), ev.NodeAdded(0, node("a"))], 0)
    gangs = (
        _limited("running", 4, 100),
        _limited("blocked", 8, 100, 1),
        _limited("long", 4, 500, 2),
    )
    plan = cycle(state, [ev.GangSubmitted(0, each) for each in gangs], 0)
    assert [each.gang.workload for each in plan.starts] == ["running"]
    plan = cycle(state, [ev.GangEnded(5, "blocked/0", 0, ev.Outcome.CANCELLED)], 5)
    assert [each.gang.workload for each in plan.starts] == ["long"]


def test_a_lost_node_moves_the_reservation_and_says_why() -> None:
    state = ClusterState(EASY)
    nodes = [ev.NodeAdded(0, each) for each in _two_nodes()]
    cycle(state, [ev.QueueSet(0, Queue("team")), *nodes], 0)
    gangs = (
        _limited("short", 8, 100),
        _limited("long", 8, 500),
        _limited("blocked", 8, 100, 1),
    )
    cycle(state, [ev.GangSubmitted(0, each) for each in gangs], 0)
    held = state.timeline.future.reservation("blocked/0")
    assert held and held.start_ms == 100
    plan = cycle(state, [ev.NodeLost(5, held.placement.pods[0].node)], 5)
    (moved,) = (each for each in plan.decisions if isinstance(each, ev.StartPlanned))
    assert moved.start_ms == 500
    assert str(moved.cause) == "its place is not free in time"


def test_without_reservations_everything_that_fits_overtakes() -> None:
    replay = Replay(replace(EASY, future=Future(backfill=Backfill.ANY)), [node("a")])
    replay.run(
        [
            (_limited("running", 4, 100), 100),
            (_limited("blocked", 8, 100, 1), 100),
            (_limited("long", 4, 200, 2), 200),
        ]
    )
    assert replay.started["long/0"] == 2
    assert replay.started["blocked/0"] == 202


@pytest.mark.parametrize("limit", [0, 100])
def test_without_a_limit_the_learnt_run_time_decides_who_may_overtake(limit: int) -> None:
    replay = Replay(EASY, [node("a")])
    habit = [
        (replace(gang(f"tune-{i}", gpus=4, submitted=i * 50, user="ada"), name=f"tune-{i}"), 20)
        for i in range(3)
    ]
    again = gang("tune-9", gpus=4, submitted=202, user="ada", time_limit_ms=limit)
    again = replace(again, name="tune-9")
    replay.run(
        [
            *habit,
            (_limited("running", 4, 100, 200), 100),
            (_limited("blocked", 8, 100, 201), 100),
            (again, 20),
        ]
    )
    assert replay.started["tune-9/0"] == (202 if not limit else 400)


def test_a_gang_with_a_reservation_is_not_held_up_by_an_equal_that_goes_first() -> None:
    state = ClusterState(replace(EASY, order=Order.SHORTEST))
    cycle(state, [ev.QueueSet(0, Queue("team")), ev.NodeAdded(0, node("a"))], 0)
    gangs = [_limited("running", 8, 100, expected_ms=1), _limited("old", 8, 50, 1, expected_ms=9)]
    cycle(state, [ev.GangSubmitted(1, each) for each in gangs], 1)
    cycle(state, [ev.GangSubmitted(2, _limited("new", 8, 50, 2, expected_ms=5))], 2)
    plan = cycle(state, [ev.GangEnded(10, "running/0", 1, ev.Outcome.SUCCEEDED)], 10)
    assert [each.gang.workload for each in plan.starts] == ["old"]


def test_a_start_that_rests_on_guesses_is_reserved_only_for_who_has_waited_long() -> None:
    state = ClusterState(EASY)
    cycle(state, [ev.QueueSet(0, Queue("team")), ev.NodeAdded(0, node("a"))], 0)
    gangs = [gang("unbounded", gpus=8), _limited("blocked", 8, 50, 1)]
    cycle(state, [ev.GangSubmitted(1, each) for each in gangs], 1)
    assert state.timeline.future.reservation("blocked/0") is None
    late = 31 * EASY.future.assumed_ms
    cycle(state, [ev.GangSubmitted(late, _limited("other", 4, 50, late))], late)
    assert state.timeline.future.reservation("blocked/0")


@pytest.mark.parametrize(
    ("limit", "searches", "ends"), [(0, 1, 0), (90, 1, 1)], ids=["no limits", "limits"]
)
def test_one_search_in_vain_serves_all_blocked_gangs_of_a_cycle(
    monkeypatch: pytest.MonkeyPatch, limit: int, searches: int, ends: int
) -> None:
    counted = Counter[str]()
    search, estimate = future.earliest, ProfileInput.ends  # type: ignore[attr-defined]
    monkeypatch.setattr(
        future, "earliest", lambda *args: counted.update(["searches"]) or search(*args)
    )
    monkeypatch.setattr(
        ProfileInput, "ends", lambda *args: counted.update(["ends"]) or estimate(*args)
    )
    state = ClusterState(EASY)
    cycle(state, [ev.QueueSet(0, Queue("team")), *(ev.NodeAdded(0, n) for n in _two_nodes())], 0)
    cycle(state, [ev.GangSubmitted(0, gang("guessed", gpus=8))], 0)
    cycle(state, [ev.GangSubmitted(0, _limited("limited", 1, limit))], 0)
    blocked = [gang(f"blocked-{size}", 2, size, submitted=1) for size in (5, 6, 7, 8)]
    cycle(state, [ev.GangSubmitted(1, each) for each in blocked], 1)
    assert not state.timeline.future.reservations()
    assert counted == +Counter(searches=searches, ends=ends)


def test_while_one_of_the_highest_priority_holds_the_reservation_nothing_is_searched(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    state = ClusterState(EASY)
    cycle(state, [ev.QueueSet(0, Queue("team")), ev.NodeAdded(0, node("a"))], 0)
    gangs = (_limited("running", 8, 100), _limited("blocked", 8, 100, 1))
    cycle(state, [ev.GangSubmitted(0, each) for each in gangs], 0)
    assert state.timeline.future.reservation("blocked/0")
    monkeypatch.setattr(future.BackfillPlanner, "_first", None)
    cycle(state, [ev.GangSubmitted(2, _limited(f"late-{i}", i, 500, 2)) for i in (3, 4, 5)], 2)
    assert len(state.timeline.future.reservations()) == 1


def test_a_gang_gets_a_reservation_once_it_has_waited_for_most_of_the_work_ahead_of_it() -> None:
    state = ClusterState(replace(EASY, future=Future()))
    cycle(state, [ev.QueueSet(0, Queue("team")), ev.NodeAdded(0, node("a"))], 0)
    cycle(state, [ev.GangSubmitted(0, _limited("running", 4, 1000))], 0)
    cycle(state, [ev.GangSubmitted(0, _limited("blocked", 8, 1000))], 0)
    # Half of the 1,000 ms are expected, on half of the GPUs.
    assert state.gangs.records["blocked/0"].turn_ms == 250
    for at, gpus in ((187, 6), (188, 7)):
        cycle(state, [ev.GangSubmitted(at, _limited(f"wide-{gpus}", gpus, 5000, at))], at)
        assert bool(state.timeline.future.reservation("blocked/0")) is (at == 188)


def test_declared_work_counts_by_what_runs_took_of_it() -> None:
    state = ClusterState(replace(EASY, future=Future()))
    cycle(state, [ev.QueueSet(0, Queue("team")), ev.NodeAdded(0, node("a"))], 0)
    cycle(state, [ev.GangSubmitted(0, _limited("first", 8, 1000))], 0)
    cycle(state, [ev.GangEnded(100, "first/0", 1, ev.Outcome.SUCCEEDED)], 100)
    cycle(state, [ev.GangSubmitted(100, _limited("second", 8, 1000, 100))], 100)
    cycle(state, [ev.GangSubmitted(100, _limited("third", 8, 500, 100))], 100)
    cycle(state, [ev.GangSubmitted(100, _limited("last", 8, 100, 100))], 100)
    assert state.gangs.records["last/0"].turn_ms == 150
