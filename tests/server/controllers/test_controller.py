"""Keepers are part of every turn, remember what is written, and cannot harm each other."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ganglion.model.errors import Conflict, EnvironmentFault
from ganglion.model.events import AlarmSet, Event, GangPlaced, GangSubmitted, NodeCordoned
from ganglion.server.commands import live
from ganglion.server.state.transaction import Transaction
from tests.server.conftest import Rig

Tend = Callable[[Transaction], int | None]


class Diary:
    """A keeper that writes down what it sees and does what a test says."""

    def __init__(self, name: str = "diary") -> None:
        self.name = name
        self.noted: list[Event] = []
        self.asked: list[int] = []
        self.then: Tend = lambda _draft: None

    def note(self, event: Event) -> None:
        self.noted.append(event)

    def forget(self) -> None:
        self.noted.clear()

    def memory(self) -> list[Event]:
        return self.noted

    def recall(self, memory: list[Event]) -> None:
        self.noted = memory

    def tend(self, draft: Transaction) -> int | None:
        self.asked.append(draft.now)
        return self.then(draft)


class Desk:
    """A server with two keepers; every server that starts has new ones."""

    def __init__(self, folder: Path) -> None:
        self.rig = Rig(folder, self._seated)

    def _seated(self) -> tuple[Diary, Diary]:
        self.first, self.second = Diary("first"), Diary("second")
        return self.first, self.second


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path / "home")
    yield made
    made.rig.ledger.close()


def _alarms(rig: Rig) -> list[str]:
    with rig.service.read() as mind:
        return [each.message for each in mind.book.alarms.values()]


def test_it_is_told_every_event_once_in_the_order_of_the_ledger(desk: Desk) -> None:
    desk.rig.submit("a")
    desk.rig.turn(2)
    assert desk.first.noted == list(desk.rig.ledger.replay())
    kinds = [type(event) for event in desk.first.noted]
    assert kinds.index(GangSubmitted) < kinds.index(GangPlaced)


def test_after_a_crash_it_is_told_everything_again(desk: Desk) -> None:
    desk.rig.submit("a")
    desk.rig.turn()
    before = list(desk.first.noted)
    desk.rig.crash()
    assert desk.first.noted[: len(before)] == before
    assert desk.first.asked


def test_what_it_applies_is_written_and_decided_upon_in_the_same_turn(desk: Desk) -> None:
    def close_both(draft: Transaction) -> None:
        if not draft.state.fleet.nodes["n0"].cordoned:
            for node in ("n0", "n1"):
                draft.apply(NodeCordoned(draft.now, node, "closed"))

    desk.first.then = close_both
    job = desk.rig.submit("a")
    assert desk.rig.state(job) == "QUEUED"
    last = [type(e) for e in list(desk.rig.ledger.cycles())[-1].incoming]
    assert last == [GangSubmitted, NodeCordoned, NodeCordoned]


def test_it_is_asked_when_it_wanted_to_be_and_when_something_happened(desk: Desk) -> None:
    desk.first.then = lambda draft: 50_000
    desk.rig.submit("a")
    desk.rig.turn(3)
    desk.first.asked.clear()
    desk.rig.turn(5)
    assert desk.first.asked == []
    desk.rig.machine.time = 50_000
    desk.rig.turn()
    assert len(desk.first.asked) == 1
    desk.first.then = lambda draft: None
    desk.rig.turn()
    desk.first.asked.clear()
    desk.rig.submit("b")
    assert len(desk.first.asked) == 1


def test_a_turn_that_cannot_be_written_is_forgotten(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_batch: object) -> None:
        raise EnvironmentFault("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(desk.rig.ledger, "append", full)
        with pytest.raises(EnvironmentFault):
            desk.rig.submit("a")
    desk.rig.turn()
    assert desk.first.noted == list(desk.rig.ledger.replay())
    assert not any(isinstance(event, GangSubmitted) for event in desk.first.noted)


def _half(draft: Transaction) -> None:
    draft.apply(NodeCordoned(draft.now, "n1", "half"))
    raise ValueError("stumbled")


def test_one_that_fails_half_way_leaves_no_trace_and_stops_nobody_else(desk: Desk) -> None:
    desk.first.then = _half
    desk.second.asked.clear()
    job = desk.rig.submit("a")
    assert desk.rig.state(job) == "STARTING"
    assert desk.second.asked
    assert _alarms(desk.rig) == ["first are not managed: ValueError('stumbled')"]
    with desk.rig.service.read() as mind:
        assert mind.state.fleet.nodes["n1"].cordoned == ""
    assert "half" not in str(list(desk.rig.ledger.replay()))


def test_one_that_failed_is_asked_again_after_a_while_and_its_alarm_taken_back(desk: Desk) -> None:
    desk.first.then = _half
    desk.rig.submit("a")
    desk.first.asked.clear()
    desk.rig.turn(5)
    assert desk.first.asked == []
    desk.first.then = lambda draft: None
    desk.rig.machine.time += 2_000
    desk.rig.turn()
    assert len(desk.first.asked) == 1
    assert _alarms(desk.rig) == []
    alarms = [each for each in desk.rig.ledger.replay() if isinstance(each, AlarmSet)]
    assert [bool(each.message) for each in alarms] == [True, False]


def test_one_that_goes_on_failing_is_asked_ever_more_rarely(desk: Desk) -> None:
    desk.first.then = _raise(Conflict("never"))
    desk.rig.submit("a")
    desk.first.asked.clear()
    for _ in range(600):
        desk.rig.machine.time += 1_000
        desk.rig.turn()
    assert 9 <= len(desk.first.asked) <= 20
    assert _alarms(desk.rig) == ["first are not managed: never"]


def test_one_that_cannot_take_notice_is_not_asked_with_a_wrong_memory(desk: Desk) -> None:
    desk.first.note = _raise(KeyError("gone"))  # type: ignore[method-assign]
    job = desk.rig.submit("a")
    desk.first.asked.clear()
    for _ in range(3):
        desk.rig.machine.time += 100_000
        desk.rig.turn()
    assert desk.rig.state(job) == "RUNNING"
    assert desk.first.asked == []
    assert _alarms(desk.rig) == ["first are not managed: KeyError('gone')"]


def test_an_alarm_survives_a_crash_and_is_taken_back_by_the_next_server(desk: Desk) -> None:
    desk.first.then = _raise(Conflict("never"))
    desk.rig.submit("a")
    assert _alarms(desk.rig)
    desk.rig.crash()
    assert _alarms(desk.rig) == []


def test_alarms_of_a_workload_end_with_it(desk: Desk) -> None:
    job = desk.rig.submit("a")
    desk.rig.do(lambda draft: draft.record(AlarmSet(draft.now, job, "metrics.lost", "no answer")))
    desk.rig.do(lambda draft: draft.record(AlarmSet(draft.now, "a-1/0", "x.y", "gang")))
    assert _alarms(desk.rig) == ["no answer", "gang"]
    desk.rig.do(lambda draft: live.cancel(draft, job, "ada"))
    desk.rig.turn()
    assert _alarms(desk.rig) == []


def test_an_idle_server_with_keepers_writes_nothing(desk: Desk) -> None:
    desk.first.then = lambda draft: draft.now
    desk.rig.turn()
    before = (desk.rig.ledger.head, desk.rig.ledger.cycle)
    desk.rig.turn(10)
    assert (desk.rig.ledger.head, desk.rig.ledger.cycle) == before


def _raise(error: Exception) -> Any:
    def fail(*_: object) -> None:
        raise error

    return fail
