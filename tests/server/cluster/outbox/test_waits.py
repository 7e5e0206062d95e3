"""For what gangs of a cluster have waited follows from what its scheduler delivers."""

from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from ganglion.engine.cycle import cycle
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.lifecycle.cluster_gangs import DeliveredGang
from ganglion.lifecycle.clusters import ClusterBooks
from ganglion.lifecycle.waiting.sums import UNKNOWN, WaitSum
from ganglion.lifecycle.waiting.untold import BURST, EACH_MS
from ganglion.model import events as ev
from ganglion.model.fleet.node import Device, Node
from ganglion.model.queue import Queue
from ganglion.model.resources import Amount
from ganglion.server.cluster.outbox import order as ordering
from ganglion.server.cluster.outbox import waits
from ganglion.server.cluster.outbox.turns import delivered
from ganglion.server.cluster.outbox.waits import WaitReports
from ganglion.server.recovery.documents import document, value_of
from tests.effort import examples
from tests.lifecycle.test_waits import Watched, _drawn, _happened, gang, shape

FLEET: Sequence[ev.Event] = (
    ev.NodeAdded(0, Node("n", 64_000, 1 << 20, (Device("H100"),) * 4)),
    ev.QueueSet(0, Queue("p", limit={"*": Amount(2000)})),
    ev.QueueSet(0, Queue("q")),
)
LATE_MS = 50
"""By how much ends are older than the turn that sees them, at most."""


class Scheduler:
    """Decides, delivers, and is killed and started anew; the server has the books."""

    def __init__(self) -> None:
        self.books, self.now, self.number = ClusterBooks(), 0, 0
        self.gangs: dict[str, DeliveredGang] = {}
        self.start()

    def start(self, *found: ev.Event) -> None:
        """A scheduler that remembers nothing begins, and says what it finds."""
        self.number += 1
        self.state, self.reports = ClusterState(), WaitReports()
        began = ev.SchedulerStarted(self.now, "1", f"pod-{self.number}")
        self.hears([began, *self.decided(*FLEET, *found)])

    def decided(self, *facts: ev.Event) -> list[ev.Delivered]:
        """What a turn would deliver."""
        taken = [each for each in facts if self.state.apply(each)]
        plan = cycle(self.state, (), self.now)
        said = [*delivered(taken), *delivered(plan.decisions)]
        return [*said, *self.reports.of(self.state, plan, self.now, alone=not said)]

    def turn(self, *facts: ev.Event, after: int = 1_000) -> None:
        """A turn `after` ms later, that is delivered."""
        self.now += after
        self.hears(self.decided(*facts))

    def hears(self, said: Sequence[ev.Delivered]) -> None:
        """The server takes events in."""
        for each in said:
            self.books.note(ev.DeliveredEvent(self.now, "east", f"s{self.number}", 1, each))
        self.gangs |= self.books.of["east"].gangs
        self.gangs |= {each.gang.id: each for _, each in self.books.over()}

    def parts(self, name: str) -> tuple[WaitSum, ...]:
        return self.gangs[name].wait.parts(self.now)

    def shape(self, name: str) -> list[tuple[int, str, int, int]]:
        return shape(self.parts(f"{name}/0"))


def submitted(name: str, gpus: int, at: int, created: int | None = None) -> ev.GangSubmitted:
    made = gang(name, gpus, at if created is None else created, queue="q")
    return ev.GangSubmitted(at, replace(made, name=name))


@pytest.fixture
def east() -> Scheduler:
    """All GPUs are taken by a gang, and two equal ones wait."""
    made = Scheduler()
    made.turn(submitted("big", 4, 1_000))
    for name in "ab":
        made.turn(submitted(name, 2, made.now + 1_000))
    return made


def test_equal_gangs_are_named_once_and_share_what_changes(east: Scheduler) -> None:
    changed = east.decided(ev.GangUpdated(3_000, "a/0", held=True))
    assert [each for each in changed if isinstance(each, ev.WaitGroups)] == [
        ev.WaitGroups(3_000, {"held": ("a/0",)})
    ]
    east.hears(changed)
    east.turn(ev.GangUpdated(8_000, "a/0", held=False), after=5_000)
    east.turn(ev.GangEnded(10_000, "big/0", 1, ev.Outcome.SUCCEEDED), after=2_000)
    assert east.shape("big") == []
    assert east.shape("a") == [(1, "held", 5_000, 1), (1, "capacity", 3_000, 2)]
    assert east.shape("b") == [(1, "capacity", 7_000, 1)]


def order(east: Scheduler) -> tuple[str, ...]:
    return east.books.of["east"].waits.order


def test_the_order_of_what_waits_is_said_when_it_changes(
    east: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ordering, "MOST", 3)
    monkeypatch.setattr(ordering, "LEAST", 2)
    for name in "cdef":
        east.turn(submitted(name, 2, east.now + 1_000))
    east.turn(after=ordering.ORDER_MS)
    assert order(east) == ("a/0", "b/0", "c/0")
    reason = east.books.of["east"].waits.sentences["b/0"]
    assert (reason.token, reason.never, reason.places) == ("capacity", False, (1, 2, 3))
    assert "GPU" in reason.message
    said = [each for each in east.decided() if isinstance(each, ev.WaitOrder)]
    assert said == []
    east.turn(ev.GangEnded(east.now + 1_000, "big/0", 1, ev.Outcome.SUCCEEDED))
    assert order(east) == ("c/0",)  # two have started, and two others are not named yet
    east.turn(after=ordering.ORDER_MS)
    assert order(east) == ("c/0", "d/0", "e/0")
    east.turn(ev.GangUpdated(east.now + 1_000, "c/0", held=True))
    east.turn(after=ordering.ORDER_MS)
    assert order(east) == ("d/0", "e/0", "f/0")
    east.start()
    assert order(east) == ()  # another scheduler decides, and has not said it yet


def test_numbers_of_reasons_that_change_are_said_seldom(east: Scheduler) -> None:
    east.turn(after=ordering.ORDER_MS)
    before = east.books.of["east"].waits.sentences["a/0"].message
    east.turn(ev.NodeAdded(east.now + 1_000, Node("m", 64_000, 1 << 20, (Device("H100"),))))
    east.turn(after=ordering.ORDER_MS + ordering.LOOK_MS)
    assert east.books.of["east"].waits.sentences["a/0"].message == before
    east.turn(after=ordering.SENTENCES_MS)
    assert east.books.of["east"].waits.sentences["a/0"].message != before


def test_what_no_scheduler_saw_is_unknown(east: Scheduler) -> None:
    """It is killed, and another one starts 60 s later, which found the cluster as it was."""
    east.turn(after=9_000)
    live = [each.gang for each in east.state.gangs.records.values()]
    place = east.state.gangs.records["big/0"].placement
    east.now += 60_000
    assert place
    found = [ev.GangSubmitted(east.now, each) for each in live]
    east.start(*found, ev.GangPlaced(1_000, "big/0", 1, place))
    east.turn(after=3_000)
    # The last record of the first one came at 3,000: nothing changed after that.
    assert east.shape("a") == [(1, UNKNOWN, 69_000, 1), (1, "capacity", 4_000, 2)]
    # What came into being in between was seen at once by no one.
    east.turn(submitted("late", 2, east.now + 1_000, created=50_000))
    assert east.shape("late") == [(1, UNKNOWN, 26_000, 1)]


def test_while_nothing_changes_that_is_said(east: Scheduler) -> None:
    for _ in range(10):
        east.turn(after=waits.STILL_MS // 4)
    assert east.books.of["east"].waits.said >= east.now - waits.STILL_MS
    ended = ev.SchedulerEnded(east.now + 500)
    east.now += 20_000
    east.hears([ended])
    assert east.shape("b") == [(1, "capacity", 150_500, 1), (1, UNKNOWN, 19_500, 1)]


def test_after_a_gap_all_of_it_is_said_again(east: Scheduler) -> None:
    east.now += 10_000
    east.decided(ev.GangUpdated(east.now, "a/0", held=True))  # is lost
    east.reports.lost()
    east.hears([ev.RecordsLost(east.now + 5_000, ev.RecordLoss.FULL, 1, 2, 13_000, 18_000)])
    east.turn(after=waits.AGAIN_MS)
    east.turn(after=7_000)
    assert east.shape("a") == [
        (1, "capacity", 11_000, 1),
        (1, UNKNOWN, 10_000, 1),
        (1, "held", 7_000, 1),
    ]
    assert east.shape("b") == [(1, UNKNOWN, 10_000, 1), (1, "capacity", 17_000, 2)]
    assert east.shape("big") == []


def test_a_gang_that_waits_again_and_one_that_is_taken_back_are_told_apart(
    east: Scheduler,
) -> None:
    again = ev.GangEnded(5_000, "big/0", 1, ev.Outcome.FAILED, requeue=True, not_before=50_000)
    east.turn(again, after=2_000)
    assert east.shape("a") == [(1, "capacity", 3_000, 1)]
    assert east.shape("b") == [(1, "capacity", 2_000, 1)]
    east.turn(after=4_000)
    assert [(attempt, total) for attempt, _, total, _ in east.shape("big")] == [(2, 4_000)]
    gone = ev.GangEnded(12_000, "big/0", 1, ev.Outcome.CANCELLED)
    east.turn(gone, after=3_000)
    assert [(attempt, total) for attempt, _, total, _ in east.shape("big")] == [(2, 7_000)]


@settings(max_examples=examples(8), deadline=None)
@given(st.integers(0, 2**32 - 1).map(Random))
def test_a_server_adds_up_what_one_that_decides_itself_would(rng: Random) -> None:
    own, other = Watched(), Scheduler()
    own.turn(*FLEET, after=BURST * EACH_MS)  # at zero nothing may be written
    other.turn(after=BURST * EACH_MS)
    for count in range(25):
        after = rng.choice((0, 1, 999, 5_000, 60_000))
        at = own.now + after
        facts = [
            ev.GangSubmitted(at, replace(made, name=made.workload))
            for made in [_drawn(rng, count, at)][: rng.randint(0, 1)]
        ]
        records = list(own.state.gangs.records.values())
        more = _happened(rng, rng.choice(records), at) if records else []
        own.turn(*facts, *more, after=after)
        other.turn(*facts, *more, after=after)
    kept = value_of(document(other.books))
    for name in own.waited:
        parts = other.parts(name)
        assert sum(each.total_ms for each in parts) == own.expected(name), name
        if name in other.books.of["east"].gangs:
            assert kept.of["east"].gangs[name].wait.parts(other.now) == parts
        found, expected = _kinds(parts), _kinds(own.sums.parts(name, own.now))
        for key in {*found, *expected}:  # what started in the turn that saw it had no reason
            assert abs(found.get(key, 0) - expected.get(key, 0)) <= LATE_MS, (name, key)


def _kinds(parts: tuple[WaitSum, ...]) -> dict[tuple[int, str], int]:
    return {(each.attempt, each.kind): each.total_ms for each in parts}


@settings(max_examples=examples(8), deadline=None)
@given(st.integers(0, 2**32 - 1).map(Random))
def test_whatever_is_missing_no_time_is_counted_twice_and_none_is_made_up(rng: Random) -> None:
    made, lost = Scheduler(), False
    for count in range(40):
        facts: list[ev.Event] = [
            ev.GangSubmitted(made.now, replace(each, name=each.workload))
            for each in [_drawn(rng, count, made.now)][: rng.randint(0, 1)]
        ]
        records = list(made.state.gangs.records.values())
        if records:
            facts += _happened(rng, rng.choice(records), made.now)
        made.now += rng.choice((0, 999, 5_000, 60_000))
        said = made.decided(*facts)
        if rng.random() < 0.2:
            lost = True
            made.reports.lost()
            continue
        if lost:
            made.hears([ev.RecordsLost(made.now, ev.RecordLoss.FULL, 1)])
            lost = False
        made.hears(said)
    for name, found in made.gangs.items():
        parts, end = made.parts(name), found.ended or made.now
        assert sum(each.total_ms for each in parts) <= end - found.gang.submitted, name
        assert all(each.total_ms > 0 for each in parts)
