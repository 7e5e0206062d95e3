"""Causes of stops."""

import pytest

from ganglion.model.events import Outcome
from ganglion.worlds.causes import Trade, outcome_of, trade_of


@pytest.mark.parametrize(
    ("cause", "outcome", "trade"),
    [
        ("cancelled by ada", Outcome.CANCELLED, None),
        ("time limit", Outcome.TIMED_OUT, None),
        ("node lost", Outcome.NODE_LOST, None),
        ("preempted by a/0", Outcome.PREEMPTED, Trade.PREEMPTED),
        ("reclaimed by a/0", Outcome.PREEMPTED, Trade.RECLAIMED),
        ("reclaimed while borrowing for a/0", Outcome.PREEMPTED, Trade.RECLAIMED),
        ("shared for a/0", Outcome.PREEMPTED, Trade.RECLAIMED),
        ("lost n1, and there is no place for those pods alone", Outcome.NODE_LOST, None),
        ("moved for a/0", Outcome.PREEMPTED, Trade.MOVED),
        (" Yielded to a/0", Outcome.PREEMPTED, Trade.YIELDED),
        ("drained in haste", Outcome.PREEMPTED, Trade.PREEMPTED),
    ],
)
def test_a_cause_says_how_an_attempt_ends_and_for_whom(
    cause: str, outcome: Outcome, trade: Trade | None
) -> None:
    assert (outcome_of(cause), trade_of(cause)) == (outcome, trade)
