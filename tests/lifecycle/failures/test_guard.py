from collections.abc import Sequence

from msgspec.structs import replace
from tests.engine.build import gang, node, state_of

from ganglion.engine.cycle import cycle
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.lifecycle.failures.guard import SICK, SLOW, SPARE, FleetGuard
from ganglion.lifecycle.failures.stragglers import LEAST_STEPS
from ganglion.model import events as ev
from ganglion.model.causes import CordonKind
from ganglion.model.placement import Placement, PodPlacement
from ganglion.model.policy import Failures, Policy

HOUR, DAY = 3_600_000, 86_400_000
STRICT = Failures(quarantine_after=2, quarantine_ms=HOUR, window_ms=DAY, most_permille=500)


class Fleet:
    """A fleet with a guard; every fact goes to both, and so does what the guard decides."""

    def __init__(self, settings: Failures, nodes: int = 4) -> None:
        self.guard, self.state = FleetGuard(settings), ClusterState()
        self.told: list[ev.Event] = []
        built = state_of(*(node(f"n{i}", rack=f"r{i // 2}") for i in range(nodes)))
        self.state = built
        for each in built.fleet.nodes.values():
            self.guard.note(ev.NodeAdded(0, each))

    def at(self, now: int, *facts: ev.Event) -> list[ev.Event]:
        """Take facts in; returns what the guard decides."""
        found: list[ev.Event] = []
        self._take(facts)
        while more := self.guard.tend(self.state, now):
            self._take(more)
            found += more
        plan = cycle(self.state, [], now)
        for event in plan.decisions:
            self.guard.note(event)
        self.told += [*facts, *found, *plan.decisions]
        self.state.validate()
        return found

    def _take(self, events: Sequence[ev.Event]) -> None:
        for event in events:
            self.state.apply(event)
            self.guard.note(event)

    def lose(self, name: str, now: int) -> list[ev.Event]:
        lost = self.at(now, ev.NodeLost(now, name))
        return lost + self.at(now + 1, ev.NodeAdded(now + 1, node(name, rack="r9")))

    def reason(self, name: str) -> str:
        return self.state.fleet.nodes[name].cordoned


def test_a_node_that_fails_again_and_again_is_cordoned_and_told_until_when() -> None:
    fleet = Fleet(STRICT)
    assert fleet.lose("n1", 10) == []
    fleet.lose("n1", HOUR)
    assert fleet.reason("n1") == (
        "quarantined, as it was lost again and again (01-01 00:00, 01-01 01:00 UTC);"
        " until 1970-01-01 02:00 UTC, or `ganglion uncordon n1`"
    )
    assert fleet.guard.next_due(HOUR) == 2 * HOUR


def test_its_cordon_is_lifted_when_its_term_is_over() -> None:
    fleet = Fleet(STRICT)
    fleet.lose("n1", 10)
    fleet.lose("n1", HOUR)
    assert fleet.at(2 * HOUR - 1) == []
    assert fleet.at(2 * HOUR) == [ev.NodeCordoned(2 * HOUR, "n1", "")]


def test_a_cordon_of_a_person_stays_whatever_its_words() -> None:
    fleet = Fleet(STRICT)
    reasons = ("quarantined by hand", "draining: the fan", SPARE)
    shut = [
        ev.NodeCordoned(5, f"n{i}", reason, CordonKind.PERSON) for i, reason in enumerate(reasons)
    ]
    assert fleet.at(5, *shut) == []
    assert fleet.at(3 * HOUR) == []
    assert [fleet.reason(f"n{i}") for i in range(3)] == list(reasons)


def test_cordons_of_people_are_left_alone() -> None:
    fleet = Fleet(STRICT)
    fleet.at(5, ev.NodeCordoned(5, "n1", "fan broken"))
    for now in (10, 20, 30):
        fleet.guard.note(ev.NodeLost(now, "n1"))
        fleet.guard.note(ev.NodeAdded(now, replace(node("n1"), cordoned="fan broken")))
    assert fleet.at(40) == []
    assert fleet.at(3 * HOUR) == []
    assert fleet.reason("n1") == "fan broken"


def test_a_person_who_opens_a_node_before_its_time_is_believed() -> None:
    fleet = Fleet(STRICT)
    fleet.lose("n1", 10)
    fleet.lose("n1", 20)
    assert fleet.state.fleet.nodes["n1"].cordon is CordonKind.QUARANTINE
    assert fleet.at(30, ev.NodeCordoned(30, "n1", "")) == []
    assert fleet.lose("n1", 40) == []


def test_a_node_that_a_waiting_gang_cannot_do_without_is_opened_again() -> None:
    fleet = Fleet(STRICT)
    for now in (10, 20):
        fleet.lose("n1", now)
    assert fleet.state.fleet.nodes["n1"].cordon is CordonKind.QUARANTINE
    assert fleet.at(30, ev.GangSubmitted(30, gang("small", 3, 8))) == []
    fleet.at(40, ev.GangEnded(40, "small/0", 1, ev.Outcome.SUCCEEDED))
    fleet.at(50, ev.GangSubmitted(50, gang("large", 4, 8)))
    fleet.at(51)
    assert fleet.reason("n1") == ""
    place = fleet.state.gangs.record("large/0").placement
    assert place
    assert len({pod.node for pod in place.pods}) == 4


def test_a_gpu_that_is_sick_raises_an_alarm_until_it_is_well() -> None:
    fleet = Fleet(Failures(quarantine_after=0))
    sick = ev.DeviceHealth(5, "n1", 3, healthy=False, cause="Xid 79: it fell off the bus")
    assert fleet.at(5, sick) == [ev.AlarmSet(5, "n1", SICK, "GPU 3: Xid 79: it fell off the bus")]
    assert fleet.at(6) == []
    well = ev.DeviceHealth(9, "n1", 3, healthy=True)
    assert fleet.at(9, well) == [ev.AlarmSet(9, "n1", SICK, "")]


def placed(guard: FleetGuard, job: str, attempt: int, name: str, step_ms: int, at: int) -> int:
    """An attempt runs there for long enough to be measured; returns when it ends."""
    place = Placement((PodPlacement("main", 0, name),))
    guard.note(ev.GangPlaced(at, f"{job}/0", attempt, place))
    for step in range(1, LEAST_STEPS + 2):
        at += step_ms
        guard.note(ev.CheckpointCommitted(at, f"{job}/0", attempt, 100 * attempt + step))
    guard.note(ev.GangEnded(at, f"{job}/0", attempt, ev.Outcome.PREEMPTED, requeue=True))
    return at


def test_a_slow_node_raises_one_alarm_and_nobody_is_stopped() -> None:
    fleet, now = Fleet(Failures(quarantine_after=0)), 1
    for job in ("a", "b"):
        now = placed(fleet.guard, job, 1, "n1", 1000, now)
        now = placed(fleet.guard, job, 2, "n3", 2000, now)
    found = fleet.at(now)
    assert [(each.subject, each.alarm) for each in found if isinstance(each, ev.AlarmSet)] == [
        ("n3", SLOW)
    ]
    assert len(found) == 1
    assert fleet.at(now + 1) == []


def test_spares_are_kept_free_and_given_free_for_a_node_that_is_lost() -> None:
    fleet = Fleet(Failures(spares=1))
    assert fleet.at(1) == [ev.NodeCordoned(1, "n0", SPARE, CordonKind.SPARE)]
    found = fleet.at(5, ev.NodeLost(5, "n1"))
    assert found == [ev.NodeCordoned(5, "n0", "")]
    back = fleet.at(9, ev.NodeAdded(9, node("n1", rack="r0")))
    assert back == [ev.NodeCordoned(9, "n0", SPARE, CordonKind.SPARE)]


def test_a_gang_that_lost_a_node_goes_on_on_the_spare_at_once() -> None:
    fleet = Fleet(Failures(spares=1))
    fleet.at(1)
    fleet.at(2, ev.GangSubmitted(2, gang("w", 3, 8, replace=True)))
    fleet.at(3, ev.GangStarted(3, "w/0", 1))
    fleet.at(5, ev.NodeLost(5, "n2"))
    record = fleet.state.gangs.record("w/0")
    assert record.attempt == 1
    assert record.placement
    assert sorted({pod.node for pod in record.placement.pods}) == ["n0", "n1", "n3"]


def test_a_node_that_does_not_come_back_is_not_waited_for() -> None:
    fleet = Fleet(Failures(spares=1, quarantine_ms=HOUR))
    fleet.at(1)
    fleet.at(5, ev.NodeLost(5, "n1"))
    later = 2 * HOUR
    found = fleet.at(later, ev.NodeCordoned(later, "n3", "by hand"))
    assert found == []
    assert fleet.at(later + 1, ev.NodeCordoned(later + 1, "n3", ""))


def test_a_replay_leads_to_the_same_guard() -> None:
    fleet = Fleet(STRICT)
    for now in (10, 20, HOUR):
        fleet.lose("n1", now)
    again = FleetGuard(STRICT)
    for number in range(4):
        again.note(ev.NodeAdded(0, node(f"n{number}", rack=f"r{number // 2}")))
    for event in fleet.told:
        again.note(event)
    assert again.next_due(HOUR) == fleet.guard.next_due(HOUR)
    assert again.tend(fleet.state, HOUR) == fleet.guard.tend(fleet.state, HOUR) == []
    assert again.tend(fleet.state, 20 * HOUR) == fleet.guard.tend(fleet.state, 20 * HOUR) != []


def test_a_policy_with_other_settings_counts_from_then_on() -> None:
    fleet = Fleet(Failures(quarantine_after=0))
    fleet.at(1, ev.PolicySet(1, Policy(failures=STRICT)))
    fleet.lose("n1", 10)
    fleet.lose("n1", 20)
    assert fleet.state.fleet.nodes["n1"].cordon is CordonKind.QUARANTINE
