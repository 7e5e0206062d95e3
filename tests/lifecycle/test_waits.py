"""For what gangs have waited adds up to how long they waited, exactly."""

from random import Random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.effort import examples

from ganglion.engine.cycle import cycle
from ganglion.engine.gangs.record import HOLDING, WAITING, GangRecord
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.lifecycle.waiting.sums import MOST_ATTEMPTS, UNKNOWN, WaitSum, WaitSums
from ganglion.lifecycle.waiting.untold import ALONE_MS, BURST, UntoldReasons
from ganglion.model import events as ev
from ganglion.model.fleet.node import Device, Node
from ganglion.model.plan import Plan, Wait
from ganglion.model.queue import Queue
from ganglion.model.reasons import Reason, Token
from ganglion.model.resources import Amount, GpuRequest, PodRequest
from ganglion.model.workload import Gang, PodSet
from ganglion.server.recovery.documents import document, value_of


def gang(name: str, gpus: int = 1, at: int = 0, *, held: bool = False, queue: str = "q") -> Gang:
    pods = (PodSet(request=PodRequest(gpu=GpuRequest(gpus))),)
    return Gang(f"{name}/0", name, queue, pod_sets=pods, submitted=at, held=held)


class Watched:
    """A state whose waits are added up, as a server does it, and what is expected of them."""

    def __init__(self) -> None:
        self.state, self.sums, self.now = ClusterState(), WaitSums(), 0
        self.state.gangs.watcher = self.sums
        self.untold = UntoldReasons(self.sums.kind)
        self.log: list[tuple[int, list[ev.Event], list[ev.Event]]] = []
        self.since: dict[str, int] = {}
        self.waited: dict[str, int] = {}

    def turn(self, *facts: ev.Event, after: int = 1_000) -> Plan:
        """A turn `after` ms later; what it tells is written first."""
        self.now += after
        told = self.untold.due(self.state, self.now, alone=False)
        if told:
            self.apply(told)
        incoming = [each for each in facts if self.state.apply(each)]
        plan = cycle(self.state, (), self.now)
        self.untold.found(self.state, plan.waits, self.now)
        for event in (*incoming, *plan.decisions):
            self._expect(event)
        self.log.append((self.now, [*([told] if told else []), *incoming], plan.decisions))
        return plan

    def _expect(self, event: ev.Event) -> None:
        match event:
            case ev.GangSubmitted(gang=each):
                self.since[each.id], self.waited[each.id] = each.submitted, 0
            case ev.GangPlaced(gang=each):
                self.waited[each] += event.at - self.since.pop(each)
            case ev.GangEnded(gang=each):
                if each in self.since:
                    self.waited[each] += max(event.at - self.since.pop(each), 0)
                if event.requeue:
                    self.since[each] = event.at

    def expected(self, name: str) -> int:
        since = self.since.get(name)
        return self.waited[name] + (0 if since is None else self.now - since)

    def replayed(self) -> "Watched":
        """What the events alone give."""
        other = Watched()
        for at, incoming, decisions in self.log:
            for event in incoming:
                other.apply(event)
            other.state.again(at)
            for event in decisions:
                other.apply(event)
        return other

    def apply(self, event: ev.Event) -> None:
        self.state.apply(event)
        self.sums.note(event)


def shape(parts: tuple[WaitSum, ...]) -> list[tuple[int, str, int, int]]:
    return [(each.attempt, each.kind, each.total_ms, each.times) for each in parts]


@pytest.fixture
def small() -> Watched:
    """One node with two GPUs, and one queue."""
    made = Watched()
    node = Node("n", 64_000, 1 << 20, (Device("H100"),) * 2)
    made.turn(ev.NodeAdded(0, node), ev.QueueSet(0, Queue("q")))
    return made


def test_every_reason_has_its_time(small: Watched) -> None:
    big, other = gang("big", 2, 2_000), gang("other", 2, 3_000, held=True)
    small.turn(ev.GangSubmitted(2_000, big))
    small.turn(ev.GangSubmitted(3_000, other))
    small.turn(after=2_000)
    small.turn(ev.GangUpdated(9_000, other.id, held=False), after=4_000)
    small.turn(ev.GangEnded(20_000, big.id, 1, ev.Outcome.SUCCEEDED), after=11_000)
    assert shape(small.sums.parts(big.id, small.now)) == []
    assert shape(small.sums.parts(other.id, small.now)) == [
        (1, "held", 6_000, 1),
        (1, "capacity", 11_000, 1),
    ]


def test_equal_gangs_take_the_same_reasons_from_when_each_of_them_came(small: Watched) -> None:
    small.turn(ev.GangSubmitted(2_000, gang("big", 2, 2_000)))
    for number in range(3):
        at = small.now + 1_000
        small.turn(ev.GangSubmitted(at, gang(f"w{number}", 1, at)))
    small.turn(after=10_000)
    for number in range(3):
        parts = small.sums.parts(f"w{number}/0", small.now)
        assert shape(parts) == [(1, "capacity", 12_000 - 1_000 * number, 1)]
    told = [event for _, events, _ in small.log for event in _told(events)]
    assert [event.reasons for event in told] == [{"capacity": ("w0/0",)}]


def _told(events: list[ev.Event]) -> list[ev.ReasonsChanged]:
    return [each for each in events if isinstance(each, ev.ReasonsChanged)]


def test_each_wait_of_a_gang_is_kept_apart_until_there_are_many(small: Watched) -> None:
    one = gang("one", 2, 2_000)
    small.turn(ev.GangSubmitted(2_000, one))
    for attempt in range(1, MOST_ATTEMPTS + 6):
        end = ev.GangEnded(
            small.now + 500,
            one.id,
            attempt,
            ev.Outcome.FAILED,
            requeue=True,
            not_before=small.now + 3_000,
        )
        small.turn(end)
        small.turn(after=4_000)
    parts = small.sums.parts(one.id, small.now)
    assert len({each.attempt for each in parts}) == MOST_ATTEMPTS
    assert sum(each.total_ms for each in parts) == small.expected(one.id) > 0


def test_what_no_cycle_found_out_is_unknown(small: Watched) -> None:
    one = gang("one", 4, 2_000)
    small.now += 1_000
    small.state.apply(ev.GangSubmitted(2_000, one))
    assert shape(small.sums.parts(one.id, 9_000)) == [(1, UNKNOWN, 7_000, 1)]


def test_reasons_that_change_to_and_fro_are_counted_and_bounded() -> None:
    made = Watched()
    made.turn(ev.QueueSet(0, Queue("q")))
    made.turn(ev.GangSubmitted(2_000, gang("a", 1, 2_000)))
    kinds, told = (Token.QUOTA, Token.CAPACITY), 0
    for number in range(BURST + 1_000):
        made.now += 10
        wait = Wait("q", "a/0", 1, Reason(kinds[number % 2], ""))
        made.untold.found(made.state, [wait], made.now)
        event = made.untold.due(made.state, made.now, alone=False)
        if event:
            told += 1
            made.sums.note(event)
    assert told < BURST + 1_000
    parts = made.sums.parts("a/0", made.now)
    assert sum(each.total_ms for each in parts) == made.now - 2_000
    assert min(each.times for each in parts if each.kind in ("quota", "capacity")) > 1_000


def test_alone_a_change_is_written_after_a_second(small: Watched) -> None:
    small.state.apply(ev.GangSubmitted(2_000, gang("a", 4, 2_000)))
    plan = cycle(small.state, (), 2_000)
    small.untold.found(small.state, plan.waits, 2_000)
    small.now = 2_000
    assert small.untold.due(small.state, 2_000 + ALONE_MS - 1, alone=True) is None
    told = small.untold.due(small.state, 2_000 + ALONE_MS, alone=True)
    assert told and told.at == 2_000
    assert small.untold.due(small.state, 9_000, alone=False) is None


@settings(max_examples=examples(25), deadline=None)
@given(st.integers(0, 2**32 - 1).map(Random))
@example(Random(57))
def test_the_parts_add_up_and_follow_from_the_events(rng: Random) -> None:
    made = Watched()
    node = Node("n", 64_000, 1 << 20, (Device("H100"),) * 4)
    made.turn(
        ev.NodeAdded(0, node),
        ev.QueueSet(0, Queue("p", limit={"*": Amount(2000)})),
        ev.QueueSet(0, Queue("q")),
    )
    count = 0
    for _ in range(40):
        facts = list[ev.Event]()
        at = made.now
        for _ in range(rng.randint(0, 2)):
            count += 1
            facts.append(ev.GangSubmitted(at, _drawn(rng, count, at)))
        records = list(made.state.gangs.records.values())
        if records:
            facts += _happened(rng, rng.choice(records), made.now)
        made.turn(*facts, after=rng.choice((0, 1, 999, 60_000)))
        made.state.validate()
    for name in made.waited:
        parts = made.sums.parts(name, made.now)
        assert sum(each.total_ms for each in parts) == made.expected(name), name
        assert all(each.total_ms > 0 and each.times > 0 for each in parts)
    other = made.replayed().sums
    again = WaitSums.of(value_of(document(made.sums.saved())), made.state.gangs.records)
    assert again.saved() == made.sums.saved()
    for later in (made.now, made.now + 5_000):
        for name in made.waited:
            expected = _lasting(made.sums.parts(name, later))
            assert _lasting(other.parts(name, later)) == expected
            assert _lasting(again.parts(name, later)) == expected
    old = WaitSums.of({}, made.state.gangs.records)
    waiting = [each for each in made.state.gangs.records.values() if each.phase in WAITING]
    for record in waiting:
        parts = old.parts(record.gang.id, made.now)
        assert sum(each.total_ms for each in parts) == made.now - record.waits_since


def _lasting(parts: tuple[WaitSum, ...]) -> list[tuple[int, str, int, int]]:
    return [(each.attempt, each.kind, each.total_ms, each.until) for each in parts]


def _drawn(rng: Random, count: int, at: int) -> Gang:
    name, queue = f"g{count}", rng.choice("pq")
    return gang(name, rng.randint(1, 3), at, held=rng.random() < 0.2, queue=queue)


def _happened(rng: Random, record: GangRecord, now: int) -> list[ev.Event]:
    name = record.gang.id
    if record.phase in HOLDING:
        at = max(record.placed_at, now - rng.choice((0, 0, 50)))
        again, later = rng.random() < 0.5, rng.choice((0, 5_000))
        outcome = ev.Outcome.FAILED if again else ev.Outcome.SUCCEEDED
        wait = now + later if again and later else 0
        return [ev.GangEnded(at, name, record.attempt, outcome, requeue=again, not_before=wait)]
    if record.phase in WAITING:
        chance = rng.random()
        if chance < 0.2:
            return [ev.GangEnded(now, name, record.attempt, ev.Outcome.CANCELLED)]
        if chance < 0.5:
            return [ev.GangUpdated(now, name, held=not record.gang.held)]
        if chance < 0.7:
            return [ev.GangUpdated(now, name, priority=rng.randint(1, 9))]
    return []
