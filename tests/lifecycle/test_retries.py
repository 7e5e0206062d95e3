import pytest

from ganglion.engine.record import GangRecord
from ganglion.lifecycle.retries import START_TRIES, decide
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
    "cause", ["preempted for b/0", "reclaimed for b/0", "moved for b/0", "yielded for b/0"]
)
def test_who_makes_room_for_others_waits_again_and_it_is_no_failure(cause: str) -> None:
    stopping = record(phase=Phase.STOPPING, cause=cause)
    found = decide(ended(Outcome.PREEMPTED), stopping, workload(limit=0))
    assert (found.requeue, found.not_before, found.outcome) == (True, 0, Outcome.PREEMPTED)


def test_work_that_was_done_before_the_stop_took_effect_is_done() -> None:
    stopping = record(phase=Phase.STOPPING, cause="preempted for b/0")
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
        decide(ended(Outcome.START_FAILED), record(), Workload("a"), starts_failed=n).requeue
        for n in range(START_TRIES + 1)
    ]
    assert tries == [True, True, False, False]


def test_starts_may_fail_more_often_when_the_limit_says_so() -> None:
    last = decide(ended(Outcome.START_FAILED), record(), workload(limit=5), starts_failed=4)
    assert last.requeue
    assert last.not_before == 1000 + 100 * 16


@pytest.mark.parametrize(
    "outcome", [Outcome.FAILED, Outcome.NODE_LOST, Outcome.PREEMPTED, Outcome.START_FAILED]
)
def test_causes_that_do_not_count_end_a_gang(outcome: Outcome) -> None:
    assert not decide(ended(outcome), record(), workload(limit=5, on=())).requeue


@pytest.mark.parametrize("outcome", list(Outcome))
def test_a_gang_that_is_being_cancelled_is_never_started_again(outcome: Outcome) -> None:
    stopping = record(phase=Phase.STOPPING, cause="cancelled by ada")
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
    stopping = record(phase=Phase.STOPPING, cause="cancelled by ada")
    assert not decide(ended(Outcome.FAILED), stopping, Workload("a", kind=Kind.SERVICE)).requeue
