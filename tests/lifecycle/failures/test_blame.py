import pytest

from ganglion.lifecycle.failures.blame import blamed
from ganglion.lifecycle.failures.history import GPU
from ganglion.model.events import GangEnded, Outcome
from ganglion.model.placement import Placement, PodPlacement

PLACE = Placement((PodPlacement("main", 0, "n1", (0, 1)), PodPlacement("main", 1, "n2", (4,))))


def ended(outcome: Outcome = Outcome.FAILED) -> GangEnded:
    return GangEnded(9, "a/0", 1, outcome, exit_code=1, message="rank 0 ended with exit code 1")


def test_a_failure_on_a_sick_gpu_is_not_the_programs_own() -> None:
    found = blamed(ended(), PLACE, {"n2": frozenset({4})})
    assert (found.outcome, found.cause) == (Outcome.NODE_LOST, GPU)
    assert found.message == "GPU 4 of n2 is sick; rank 0 ended with exit code 1"


@pytest.mark.parametrize("sick", [{}, {"n1": frozenset({3})}, {"n9": frozenset({0})}])
def test_sick_gpus_that_it_did_not_use_are_no_excuse(sick: dict[str, frozenset[int]]) -> None:
    assert blamed(ended(), PLACE, sick) == ended()


@pytest.mark.parametrize("outcome", [each for each in Outcome if each is not Outcome.FAILED])
def test_other_ends_stay_what_they_are(outcome: Outcome) -> None:
    assert blamed(ended(outcome), PLACE, {"n1": frozenset({0})}) == ended(outcome)
