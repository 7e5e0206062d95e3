import pytest

from ganglion.engine.gangs.record import GangRecord
from ganglion.lifecycle.failures.history import CRASH_LOOP, OOM, QUICK_MS, FailureHistory
from ganglion.lifecycle.failures.retries import CRASHES, SERVICE_CRASHES, START_TRIES, decide
from ganglion.model.causes import Cause, CauseKind
from ganglion.model.events import GangEnded, Outcome
from ganglion.model.plan import Phase
from ganglion.model.workload import Gang, Kind, Retry, Workload

ALL = ("failure", "node_failure", "preemption", "start_failure")


def record(failures: int = 0, **others: object) -> GangRecord:
    gang = Gang("a-1/0", "a-1", "default")
    found = GangRecord(gang, (), None, Phase.RUNNING, 1, failures=failures)
    for name, value in others.items():
        setattr(found, name, value)
    return found


def ended(outcome: Outcome, at: int = 1000) -> GangEnded:
    return GangEnded(at, "a-1/0", 1, outcome, exit_code=1)


def workload(limit: int = 0, on: tuple[str, ...] = ALL, backoff_ms: int = 100) -> Workload:
    return Workload("a", retry=Retry(limit, on, backoff_ms))


def test_by_default_own_failures_end_a_gang() -> None:
    assert not decide(ended(Outcome.FAILED), record(), Workload("a")).requeue


@pytest.mark.parametrize("outcome", [Outcome.NODE_LOST, Outcome.PREEMPTED])
def test_what_a_gang_did_not_cause_is_retried_at_once_and_without_limit(outcome: Outcome) -> None:
    found = decide(ended(outcome), record(failures=99), Workload("a"))
    assert (found.requeue, found.not_before) == (True, 0)


@pytest.mark.parametrize(
    "kind", [CauseKind.PREEMPTED, CauseKind.RECLAIMED, CauseKind.MOVED, CauseKind.YIELDED]
)
def test_who_makes_room_for_others_waits_again_and_it_is_no_failure(kind: CauseKind) -> None:
    stopping = record(phase=Phase.STOPPING, cause=Cause(kind, gang="b/0"))
    found = decide(ended(Outcome.PREEMPTED), stopping, workload(limit=0))
    assert (found.requeue, found.not_before, found.outcome) == (True, 0, Outcome.PREEMPTED)


def test_work_that_was_done_before_the_stop_took_effect_is_done() -> None:
    stopping = record(phase=Phase.STOPPING, cause=Cause(CauseKind.PREEMPTED, gang="b/0"))
    assert not decide(ended(Outcome.SUCCEEDED), stopping, workload()).requeue


@pytest.mark.parametrize("outcome", [Outcome.SUCCEEDED, Outcome.TIMED_OUT, Outcome.CANCELLED])
def test_what_is_over_is_over(outcome: Outcome) -> None:
    assert not decide(ended(outcome), record(), workload(limit=5)).requeue


def test_failures_are_retried_up_to_the_limit_and_not_beyond() -> None:
    tries = [decide(ended(Outcome.FAILED), record(n), workload(limit=3)).requeue for n in range(5)]
    assert tries == [True, True, True, False, False]


def test_the_wait_doubles_up_to_64_times() -> None:
    waits = [
        decide(ended(Outcome.FAILED), record(n), workload(limit=20)).not_before - 1000
        for n in (0, 1, 2, 6, 7, 19)
    ]
    assert waits == [100, 200, 400, 6400, 6400, 6400]


def test_a_start_that_never_works_ends() -> None:
    tries = [
        decide(
            ended(Outcome.START_FAILED), record(), Workload("a"), FailureHistory(starts_failed=n)
        ).requeue
        for n in range(START_TRIES + 1)
    ]
    assert tries == [True, True, False, False]


def test_starts_may_fail_more_often_when_the_limit_says_so() -> None:
    last = decide(
        ended(Outcome.START_FAILED), record(), workload(limit=5), FailureHistory(starts_failed=4)
    )
    assert last.requeue
    assert last.not_before == 1000 + 100 * 16


@pytest.mark.parametrize(
    "outcome", [Outcome.FAILED, Outcome.NODE_LOST, Outcome.PREEMPTED, Outcome.START_FAILED]
)
def test_causes_that_do_not_count_end_a_gang(outcome: Outcome) -> None:
    assert not decide(ended(outcome), record(), workload(limit=5, on=())).requeue


@pytest.mark.parametrize("outcome", list(Outcome))
def test_a_gang_that_is_being_cancelled_is_never_started_again(outcome: Outcome) -> None:
    stopping = record(phase=Phase.STOPPING, cause=Cause(CauseKind.CANCELLED, user="ada"))
    found = decide(ended(outcome), stopping, workload(limit=5))
    assert not found.requeue
    kept = outcome is Outcome.SUCCEEDED
    assert found.outcome is (Outcome.SUCCEEDED if kept else Outcome.CANCELLED)


def test_nothing_else_of_the_event_changes() -> None:
    event = ended(Outcome.FAILED)
    found = decide(event, record(), workload(limit=1))
    assert (found.gang, found.attempt, found.outcome, found.exit_code, found.at) == (
        event.gang,
        event.attempt,
        event.outcome,
        event.exit_code,
        event.at,
    )


@pytest.mark.parametrize("outcome", [Outcome.SUCCEEDED, Outcome.FAILED])
def test_a_replica_that_ends_by_itself_is_started_again(outcome: Outcome) -> None:
    service = Workload("a", kind=Kind.SERVICE)
    assert decide(ended(outcome), record(failures=50), service).requeue


def test_the_restarts_of_a_replica_can_be_limited() -> None:
    service = Workload("a", kind=Kind.SERVICE, retry=Retry(limit=2))
    assert not decide(ended(Outcome.FAILED), record(failures=2), service).requeue


def test_a_service_that_is_cancelled_stays_so() -> None:
    stopping = record(phase=Phase.STOPPING, cause=Cause(CauseKind.CANCELLED, user="ada"))
    assert not decide(ended(Outcome.FAILED), stopping, Workload("a", kind=Kind.SERVICE)).requeue


def crashing(
    history: FailureHistory, code: int, ran_ms: int = 100, at: int = 1_000_000
) -> GangEnded:
    """The end of an attempt that follows on a history; the history is not told of it."""
    history.begun(at - ran_ms)
    return GangEnded(at, "a-1/0", 1, Outcome.FAILED, exit_code=code, message="no such file")


def crashes(retried: Workload, codes: list[int], ran_ms: int = 100) -> list[GangEnded]:
    """What becomes of attempts that end so, one after the other."""
    history, found = FailureHistory(), []
    for number, code in enumerate(codes):
        event = crashing(history, code, ran_ms)
        found.append(decide(event, record(failures=number), retried, history))
        history.ended(found[-1])
    return found


def test_what_crashes_at_once_in_the_same_way_ends_with_a_message_that_says_so() -> None:
    ends = crashes(workload(limit=1000), [3] * CRASHES)
    assert [end.requeue for end in ends] == [True] * (CRASHES - 1) + [False]
    assert ends[-1].cause == CRASH_LOOP
    assert ends[-1].message == (
        "crash loop: it ended with exit code 3 within 10 s of its start, 5 times in a row;"
        " the last time: no such file"
    )


def test_another_exit_code_or_an_attempt_that_worked_for_a_while_is_no_crash_loop() -> None:
    assert all(end.requeue for end in crashes(workload(limit=1000), [1, 2] * CRASHES))
    assert all(end.requeue for end in crashes(workload(limit=1000), [1] * 50, QUICK_MS + 1))


def test_a_replica_may_crash_for_longer_but_not_for_ever() -> None:
    service = Workload("a", kind=Kind.SERVICE)
    ends = crashes(service, [1] * SERVICE_CRASHES)
    assert [end.requeue for end in ends] == [True] * (SERVICE_CRASHES - 1) + [False]
    waited = sum(end.not_before - end.at for end in ends if end.requeue)
    assert waited > 10 * 60_000


def test_a_workload_may_say_how_often_it_may_crash() -> None:
    patient = Workload("a", retry=Retry(1000, ALL, 1, {CRASH_LOOP: 8}))
    assert [end.requeue for end in crashes(patient, [1] * 8)] == [True] * 7 + [False]


def test_losses_of_nodes_have_their_own_budget_where_one_is_given() -> None:
    bounded = Workload("a", retry=Retry(limits={"node_failure": 2}))
    history, found = FailureHistory(), []
    for _ in range(3):
        found.append(decide(ended(Outcome.NODE_LOST), record(), bounded, history))
        history.ended(found[-1])
    assert [end.requeue for end in found] == [True, True, False]
    assert found[-1].message == "3 losses of nodes or GPUs, and its retries allow 2"
    assert decide(ended(Outcome.PREEMPTED), record(), bounded, history).requeue


def test_a_limit_of_none_stops_a_cause_that_is_otherwise_retried_for_ever() -> None:
    never = Workload("a", retry=Retry(limits={"preemption": 0}))
    assert not decide(ended(Outcome.PREEMPTED), record(), never).requeue


def test_want_of_memory_does_not_use_up_the_budget_of_other_failures() -> None:
    retried = Workload("a", retry=Retry(1, ALL, 1, {OOM: 2}))
    history, outcomes = FailureHistory(), []
    for failures, cause in enumerate((OOM, OOM, "", OOM)):
        event = GangEnded(9**9, "a-1/0", 1, Outcome.FAILED, exit_code=137, cause=cause)
        outcomes.append(decide(event, record(failures=failures), retried, history).requeue)
        history.ended(event)
    assert outcomes == [True, True, True, False]


def test_a_limit_for_a_cause_is_reason_enough_to_retry_it() -> None:
    only = Workload("a", retry=Retry(on=(), limits={OOM: 1}))
    event = GangEnded(1, "a-1/0", 1, Outcome.FAILED, exit_code=137, cause=OOM)
    assert decide(event, record(), only).requeue
    assert not decide(ended(Outcome.FAILED), record(), only).requeue
