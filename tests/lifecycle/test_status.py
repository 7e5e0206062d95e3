import pytest

from ganglion.engine.gangs.record import GangRecord
from ganglion.lifecycle.status import State, Status, state_of
from ganglion.model.events import Outcome
from ganglion.model.plan import Phase
from ganglion.model.reasons import Reason, Token
from ganglion.model.workload import Gang, Kind

P = Phase


def gang(phase: Phase, outcome: Outcome | None = None, **others: object) -> GangRecord:
    found = GangRecord(Gang("a-1/0", "a-1", "q"), (), None, phase, outcome=outcome)
    for name, value in others.items():
        setattr(found, name, value)
    return found


def over(*outcomes: Outcome) -> list[GangRecord]:
    return [gang(P.ENDED, each, exit_code=i, message=f"m{i}") for i, each in enumerate(outcomes)]


@pytest.mark.parametrize(
    ("phases", "state"),
    [
        ([P.PENDING], State.QUEUED),
        ([P.STARTING], State.STARTING),
        ([P.RUNNING], State.RUNNING),
        ([P.STOPPING], State.STOPPING),
        ([P.PENDING, P.STARTING], State.STARTING),
        ([P.PENDING, P.RUNNING, P.STOPPING, P.STARTING], State.RUNNING),
        ([P.STOPPING, P.PENDING], State.STOPPING),
        ([P.ENDED, P.PENDING], State.QUEUED),
        ([P.RESERVED], State.QUEUED),
        ([P.RESERVED, P.STOPPING], State.STOPPING),
    ],
)
def test_the_liveliest_gang_decides_the_state(phases: list[Phase], state: State) -> None:
    assert state_of(Kind.SWEEP, [gang(each) for each in phases]).state is state


@pytest.mark.parametrize(
    ("outcomes", "status"),
    [
        ([Outcome.SUCCEEDED] * 2, Status(State.SUCCEEDED, "", "m0", 0)),
        ([Outcome.SUCCEEDED, Outcome.FAILED], Status(State.FAILED, "", "m1", 1)),
        ([Outcome.FAILED, Outcome.CANCELLED], Status(State.CANCELLED, "", "m1", 1)),
        ([Outcome.SUCCEEDED, Outcome.TIMED_OUT], Status(State.TIMED_OUT, "", "m1", 1)),
        ([Outcome.TIMED_OUT, Outcome.NODE_LOST], Status(State.FAILED, "", "m1", 1)),
    ],
)
def test_the_worst_end_decides_the_end(outcomes: list[Outcome], status: Status) -> None:
    assert state_of(Kind.SWEEP, over(*outcomes)) == status


@pytest.mark.parametrize("outcome", list(Outcome))
def test_every_end_has_a_state_and_failures_always_say_something(outcome: Outcome) -> None:
    silent = gang(P.ENDED, outcome)
    found = state_of(Kind.TRAIN, [silent])
    assert found.state in (State.SUCCEEDED, State.FAILED, State.CANCELLED, State.TIMED_OUT)
    if found.state is State.FAILED and outcome is not Outcome.FAILED:
        assert found.message


def test_a_wait_gives_its_reason() -> None:
    why = Reason(Token.CAPACITY, "8 needed, 4 free")
    found = state_of(Kind.TRAIN, [gang(P.PENDING)], [why])
    assert found == Status(State.QUEUED, "capacity", "8 needed, 4 free")


def test_what_waits_beside_what_runs_is_counted() -> None:
    why = Reason(Token.CAPACITY, "none free")
    records = [gang(P.RUNNING), gang(P.PENDING), gang(P.PENDING)]
    found = state_of(Kind.SERVICE, records, [None, why, why])
    assert found == Status(State.RUNNING, "capacity", "2 of 3 replicas wait: none free")


def test_who_holds_a_promise_counts_among_those_that_wait() -> None:
    why = Reason(Token.DRAINING, "reserved: starts when b-2 has stopped")
    records = [gang(P.RUNNING), gang(P.RESERVED), gang(P.PENDING)]
    found = state_of(Kind.SWEEP, records, [None, why, None])
    assert found.message == f"2 of 3 trials wait: {why.message}"


def test_a_restart_remembers_what_ended_the_attempt_before() -> None:
    found = state_of(Kind.TRAIN, [gang(P.PENDING, message="exit code 3")])
    assert found == Status(State.QUEUED, "", "exit code 3")
