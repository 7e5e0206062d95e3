"""What survives an interruption."""

import pytest
from tests.worlds.simulated.samples import job

from ganglion.model.placement import Placement
from ganglion.model.workload import Checkpoint
from ganglion.worlds.simulated.attempt import Attempt, saved_ms

HALF_HOURLY = Checkpoint(interval_ms=30)
WHEN_TOLD = Checkpoint(interval_ms=0)


@pytest.mark.parametrize(
    ("contract", "told", "saved"),
    [
        (None, True, 0),
        (None, False, 0),
        (HALF_HOURLY, True, 100),
        (HALF_HOURLY, False, 90),
        (WHEN_TOLD, True, 100),
        (WHEN_TOLD, False, 0),
    ],
)
def test_what_is_saved_depends_on_contract_and_warning(
    contract: Checkpoint | None, told: bool, saved: int
) -> None:
    assert saved_ms(100, contract, told=told) == saved


def test_an_attempt_loses_its_overhead_and_what_it_did_since_the_checkpoint() -> None:
    attempt = Attempt(job("a", checkpoint=HALF_HOURLY), 2, Placement(()), 60, 15)
    attempt.begun = 1_000
    # 15 ms of loading, then 45 ms of work on top of 60: the checkpoint at 90 survives
    assert attempt.interrupted(1_060, told=False) == (90, 15 + 15)


def test_what_earlier_attempts_saved_is_never_lost_with_a_contract() -> None:
    attempt = Attempt(job("a", checkpoint=WHEN_TOLD), 2, Placement(()), 60, 15)
    attempt.begun = 1_000
    assert attempt.interrupted(1_010, told=False) == (60, 10)


def test_an_attempt_that_never_began_loses_nothing() -> None:
    attempt = Attempt(job("a", checkpoint=HALF_HOURLY), 1, Placement(()), 60, 15)
    assert attempt.interrupted(500, told=False) == (60, 0)
