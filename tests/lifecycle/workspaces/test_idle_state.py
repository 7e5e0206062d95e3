"""What is remembered of workspaces follows from events, and adds up."""

from ganglion.lifecycle.workspaces.idle_state import Wards
from ganglion.lifecycle.workspaces.returning import awake, returning_priority
from ganglion.lifecycle.workspaces.rule import Warned
from ganglion.model import events as ev
from ganglion.model.causes import Cause, CauseKind
from ganglion.model.placement import Placement
from ganglion.model.policy import Policy, PriorityClass
from ganglion.model.resources import GpuRequest, PodRequest
from ganglion.model.workload import Gang, Kind, PodSet, Workload

SETS = (PodSet(count=2, request=PodRequest(gpu=GpuRequest(4))),)
GANG = Gang("nb-1/0", "nb-1", "q", "ada", Kind.WORKSPACE, pod_sets=SETS)
HOUR = 3_600_000
ID = GANG.id


def wards(*events: ev.Event) -> Wards:
    made = Wards()
    for event in (ev.GangSubmitted(0, GANG), *events):
        made.note(event)
    return made


def running() -> list[ev.Event]:
    return [ev.GangPlaced(1, ID, 1, Placement(())), ev.GangStarted(2, ID, 1)]


IDLE = Cause(CauseKind.IDLE, text="idle for 30 min")


def asleep(cause: Cause = IDLE) -> list[ev.Event]:
    return [
        *running(),
        ev.GangUpdated(HOUR, ID, held=True, cause=cause),
        ev.GangStopping(HOUR, ID, 1, cause),
        ev.GangEnded(HOUR + 1_000, ID, 1, ev.Outcome.SUSPENDED, requeue=True),
    ]


def test_other_kinds_are_none_of_its_business() -> None:
    made = Wards()
    made.note(ev.GangSubmitted(0, Gang("t-1/0", "t-1", "q")))
    made.note(ev.GangStarted(1, "t-1/0", 1))
    made.note(ev.NodeLost(1, "n"))
    assert list(made) == []


def test_it_runs_from_its_start_until_it_is_told_to_stop() -> None:
    made = wards(*running())
    ward = made.get(ID)
    assert ward
    assert ward.runs
    made.note(ev.GangStopping(3, ID, 1, Cause(CauseKind.PREEMPTED, gang="x/0")))
    assert not ward.runs
    made.note(ev.GangEnded(4, ID, 1, ev.Outcome.PREEMPTED, requeue=True))
    assert (ward.runs, ward.held, ward.away) == (False, 0, 0)


def test_gpu_time_is_returned_from_the_end_of_the_processes_to_the_resumption() -> None:
    made = wards(*asleep())
    assert made.returned_gpu_ms(2 * HOUR + 1_000) == 8 * HOUR
    made.note(
        ev.GangUpdated(3 * HOUR + 1_000, ID, held=False, cause=Cause(CauseKind.RESUMED, user="ada"))
    )
    assert made.returned_gpu_ms(9 * HOUR) == 16 * HOUR
    assert (made.tally.idle, made.tally.resumed, made.tally.wrongful) == (1, 1, 0)


def test_whoever_comes_back_at_once_was_wronged_unless_he_had_asked_for_it() -> None:
    back = ev.GangUpdated(HOUR + 599_000, ID, held=False)
    assert wards(*asleep(), back).tally.wrongful == 1
    asked = wards(*asleep(Cause(CauseKind.SUSPENDED, user="ada")), back).tally
    assert (asked.wrongful, asked.asked, asked.idle) == (0, 1, 0)


def test_a_warning_stands_until_it_is_taken_back_or_the_workspace_goes() -> None:
    made = wards(*running(), ev.IdleWarned(5, ID, 1, 9, "idle"))
    ward = made.get(ID)
    assert ward
    assert ward.warned == Warned(5, 9)
    made.note(ev.IdleWarned(6, ID, 1, 0))
    assert (ward.warned, made.tally.warnings) == (None, 1)


def test_one_that_is_cancelled_in_its_sleep_is_forgotten_and_what_it_returned_is_not() -> None:
    made = wards(*asleep(), ev.GangEnded(2 * HOUR + 1_000, ID, 1, ev.Outcome.CANCELLED))
    assert made.get(ID) is None
    assert made.returned_gpu_ms(9 * HOUR) == 8 * HOUR


def test_a_hold_for_other_reasons_is_no_sleep() -> None:
    made = wards(
        ev.GangUpdated(1, ID, held=True, cause=Cause(CauseKind.OTHER, text="waits for approval"))
    )
    assert [each.held for each in made] == [0]


def test_it_returns_until_it_has_started_and_has_its_own_priority() -> None:
    made = wards(*asleep(), ev.GangUpdated(2 * HOUR, ID, priority=90, held=False))
    ward = made.get(ID)
    assert ward
    assert ward.returning
    made.note(ev.GangPlaced(2 * HOUR, ID, 2, Placement(())))
    made.note(ev.GangStarted(2 * HOUR, ID, 2))
    assert ward.returning
    made.note(ev.GangUpdated(2 * HOUR, ID, priority=50))
    assert not ward.returning


def test_the_policy_may_say_what_returning_is_worth_and_nobody_loses_by_it() -> None:
    plain, urgent = Workload("nb"), Workload("nb", priority=100)
    own = Policy(priorities={"returning": PriorityClass(60)})
    assert [returning_priority(w, Policy()) for w in (plain, urgent)] == [90, 100]
    assert [returning_priority(w, own) for w in (plain, urgent)] == [60, 100]


def test_only_what_is_awake_counts_for_its_user() -> None:
    assert awake(wards(*running()), "ada") == ["nb-1"]
    assert awake(wards(*running()), "bob") == []
    assert awake(wards(*asleep()), "ada") == []
