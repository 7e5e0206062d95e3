"""What has to be over, or to have gone well, before a gang is looked at."""

import pytest

from ganglion.engine.cycle import cycle
from ganglion.engine.state import ClusterState
from ganglion.model.events import GangEnded, GangSubmitted, Outcome
from ganglion.model.plan import Phase, Plan
from ganglion.model.reasons import Token
from ganglion.model.workload import Gang
from tests.engine.build import gang, node, started, state_of, submit

ENDS = [each for each in Outcome if each not in (Outcome.PREEMPTED, Outcome.SUSPENDED)]


def over(state: ClusterState, name: str, outcome: Outcome, *, again: bool = False) -> Plan:
    attempt = state.record(name).attempt
    return cycle(state, [GangEnded(2, name, attempt, outcome, requeue=again)], 2)


def siblings(name: str, count: int) -> list[Gang]:
    return [gang(name, id=f"{name}/{n}", index=n) for n in range(count)]


@pytest.mark.parametrize("outcome", ENDS)
def test_any_end_is_enough_where_only_an_end_is_asked_for(outcome: Outcome) -> None:
    state = state_of(node("n0"))
    submit(state, gang("a"), gang("b", after_any=("a",)))
    assert state.record("b/0").phase is Phase.PENDING
    assert started(over(state, "a/0", outcome)) == ["b"]


@pytest.mark.parametrize("outcome", ENDS)
def test_only_success_is_enough_where_success_is_asked_for(outcome: Outcome) -> None:
    state = state_of(node("n0"))
    submit(state, gang("a"), gang("b", after=("a",)))
    fine = outcome in (Outcome.SUCCEEDED, Outcome.STOPPED_EARLY)
    assert started(over(state, "a/0", outcome)) == (["b"] if fine else [])
    reason = state.reason("b/0")
    assert fine or (reason is not None and reason.never and reason.token is Token.DEPENDENCY)


def test_an_attempt_that_is_followed_by_another_is_no_end() -> None:
    state = state_of(node("n0"))
    submit(state, gang("a"), gang("b", after_any=("a",)))
    assert "b" not in started(over(state, "a/0", Outcome.FAILED, again=True))
    assert started(over(state, "a/0", Outcome.FAILED)) == ["b"]


def test_all_of_a_sweep_have_to_end_also_when_the_first_has_failed() -> None:
    state = state_of(node("n0"))
    submit(state, *siblings("s", 3), gang("b", after_any=("s",)))
    assert [started(over(state, f"s/{n}", Outcome.FAILED)) for n in range(3)] == [[], [], ["b"]]


def test_a_gang_that_waits_says_for_whom() -> None:
    state = state_of(node("n0"))
    submit(state, gang("a"), gang("b", after_any=("a",)))
    reason = state.reason("b/0")
    assert reason is not None
    assert (reason.token, reason.never) == (Token.DEPENDENCY, False)
    assert reason.message == "it runs after a, which has not ended yet"


def test_both_sorts_of_dependencies_hold_together() -> None:
    state = state_of(node("n0"))
    submit(state, gang("a"), gang("b"), gang("c", after=("a",), after_any=("b",)))
    assert started(over(state, "b/0", Outcome.FAILED)) == []
    assert started(over(state, "a/0", Outcome.SUCCEEDED)) == ["c"]


def test_what_ended_and_was_forgotten_holds_nobody_up() -> None:
    state = state_of(node("n0"))
    submit(state, gang("a"))
    over(state, "a/0", Outcome.FAILED)
    state.forget("a/0")
    plan = cycle(state, [GangSubmitted(3, gang("b", after_any=("a", "unheard-of")))], 3)
    assert started(plan) == ["b"]
