"""What waits for others: what is over is forgotten, but for what may still be asked."""

from random import Random

import pytest

from ganglion.engine.gangs import gates as module
from ganglion.engine.gangs.gates import Gates
from ganglion.model.events import Outcome
from ganglion.model.reasons import Token
from ganglion.model.workload import Gang


def gang(workload: str, *after: str) -> Gang:
    return Gang(f"{workload}/0", workload, "q", after=after)


def over(gates: Gates, each: Gang, outcome: Outcome = Outcome.SUCCEEDED) -> None:
    gates.add(each)
    gates.ended(each, outcome)
    gates.forget(each)


def test_a_hundred_thousand_jobs_leave_no_more_than_a_thousand_behind() -> None:
    gates = Gates()
    for number in range(100_000):
        over(gates, gang(f"j{number}", *([f"j{number - 1}"] if number % 3 else [])))
    sizes = {name: len(value) for name, value in vars(gates).items()}
    assert max(sizes.values()) <= module.REMEMBERED
    assert sizes["_gangs"] == sizes["_dependents"] == 0


@pytest.mark.parametrize("outcome", [Outcome.SUCCEEDED, Outcome.FAILED])
def test_what_a_gang_waits_for_is_never_forgotten(outcome: Outcome) -> None:
    gates = Gates()
    first, then = gang("first"), gang("then", "first")
    gates.add(first)
    gates.add(then)
    gates.ended(first, outcome)
    gates.forget(first)
    for number in range(3 * module.REMEMBERED):
        over(gates, gang(f"j{number}"))
    reason = gates.reason(then, 0)
    if outcome is Outcome.SUCCEEDED:
        assert reason is None
    else:
        assert reason
        assert (reason.token, reason.never) == (Token.DEPENDENCY, True)


def test_a_gang_that_is_submitted_right_after_what_it_follows_has_ended_starts() -> None:
    gates, rng = Gates(), Random(1)
    over(gates, gang("first"))
    for number in range(rng.randint(1, module.REMEMBERED - 1)):
        over(gates, gang(f"j{number}"))
    then = gang("then", "first")
    gates.add(then)
    assert gates.reason(then, 0) is None
