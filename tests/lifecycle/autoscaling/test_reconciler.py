"""What is decided about services depends on what was seen of them, and on nothing else."""

from collections.abc import Mapping

from ganglion.lifecycle.autoscaling.memory import Learnt
from ganglion.lifecycle.autoscaling.reading import Reading
from ganglion.lifecycle.autoscaling.reconciler import (
    HASTE_MS,
    KEEP_MS,
    TICK_MS,
    Decision,
    ObservedService,
    ServiceLoad,
    Services,
)
from ganglion.lifecycle.autoscaling.trust import IMPLAUSIBLE, LOST
from ganglion.model.behaviour import Pace, Scaling, Signal, Target

ANY = Pace(10_000, 0, 1_000)
BRISK = Scaling(
    1,
    9,
    (Target(Signal.REQUESTS, 2_000),),
    window_ms=4_000,
    panic_window_ms=1_000,
    up=ANY,
    down=ANY,
    hold_down_ms=2_000,
)
START = 1_000_000_000


class Course:
    """Second after second of one service, whose replicas are ready at once."""

    def __init__(self) -> None:
        self.services, self.now, self.replicas = Services(), START, 1
        self.alarms: Mapping[str, str] = {}
        self.kept = Learnt()

    def second(
        self, requests: int | None, lost: str = "", wrong: str = "", by_hand: int | None = None
    ) -> Decision:
        self.now += TICK_MS
        values = {Signal.REQUESTS: 1_000 * (requests or 0)}
        reading = None if requests is None else Reading(self.now, values)
        took = {str(index): 7_000 for index in range(self.replicas)}
        load, count = ServiceLoad(reading, lost, wrong), self.replicas
        seen = ObservedService(load, took, count, count, by_hand, self.alarms, self.kept)
        found = self.services.decide("chat", BRISK, seen, self.now)
        self.replicas, self.alarms = found.desired.replicas, found.alarms
        self.kept = found.learnt or self.kept
        return found

    def seconds(self, count: int, requests: int | None, lost: str = "") -> Decision:
        return [self.second(requests, lost) for _ in range(count)][-1]


def test_it_has_what_its_load_asks_for() -> None:
    course = Course()
    assert course.seconds(8, 10).desired.replicas == 5
    assert course.seconds(8, 1).desired.replicas == 1


def test_a_number_by_hand_stays_and_load_counts_again_after_it() -> None:
    course = Course()
    course.seconds(8, 2)
    assert course.second(2, by_hand=4).desired.replicas == 4
    assert course.second(2, by_hand=20).desired.replicas == 9, "no hand goes past the ceiling"
    assert course.seconds(8, 2).desired.replicas == 1


def test_a_silent_source_holds_it_under_an_alarm_that_names_it_and_does_not_change() -> None:
    course = Course()
    course.seconds(8, 10)
    held = course.seconds(20, None, lost="a: no answer")
    assert (held.desired.replicas, held.desired.hold) == (5, True)
    assert held.alarms == {LOST: "held: a: no answer"}
    assert course.seconds(20, None).alarms == held.alarms
    assert course.seconds(8, 10).alarms == {}


def test_of_some_that_are_silent_an_alarm_tells_though_it_scales() -> None:
    found = Course().second(10, lost="a: no answer", wrong="b: running is -1")
    assert not found.desired.hold
    assert found.alarms == {LOST: "a: no answer", IMPLAUSIBLE: "b: running is -1"}


def test_how_long_starts_take_is_given_to_be_kept_once_and_never_of_those_found_ready() -> None:
    course = Course()
    assert course.second(1).learnt is None
    course.seconds(8, 6)
    assert course.kept.started_ms == (7_000, 7_000)
    again = Services()
    seen = ObservedService(ServiceLoad(), {"0": 7_000}, 1, 1, kept=course.kept)
    again.decide("chat", BRISK, seen, START + KEEP_MS)
    memory = again.memory("chat")
    assert memory
    assert memory.started_ms == []


def test_it_is_due_in_haste_while_there_is_no_replica_and_when_its_bounds_change() -> None:
    services = Services()
    assert services.is_due("chat", BRISK, START)
    services.decide("chat", BRISK, ObservedService(ServiceLoad(), {}, 0, 0), START)
    assert not services.is_due("chat", BRISK, START + HASTE_MS - 1)
    assert services.is_due("chat", BRISK, START + HASTE_MS)
    services.decide("chat", BRISK, ObservedService(ServiceLoad(), {}, 0, 1), START)
    assert not services.is_due("chat", BRISK, START + TICK_MS - 1)
    assert services.is_due("chat", Scaling(2, 9), START)
    services.keep(set())
    assert services.memory("chat") is None
