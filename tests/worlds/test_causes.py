"""Causes of stops."""

import pytest

from ganglion.model.causes import Cause, CauseKind
from ganglion.model.events import Outcome
from ganglion.worlds.causes import Trade, beneficiary_of, outcome_of, trade_of

GANG = "a/0"


@pytest.mark.parametrize(
    ("cause", "outcome", "trade", "beneficiary"),
    [
        (Cause(CauseKind.CANCELLED, user="ada"), Outcome.CANCELLED, None, ""),
        (Cause(CauseKind.GIVEN_UP), Outcome.STOPPED_EARLY, None, ""),
        (Cause(CauseKind.IDLE, text="idle for 30 min"), Outcome.SUSPENDED, None, ""),
        (Cause(CauseKind.PREEMPTED, gang=GANG), Outcome.PREEMPTED, Trade.PREEMPTED, GANG),
        (Cause(CauseKind.RECLAIMED, gang=GANG), Outcome.PREEMPTED, Trade.RECLAIMED, GANG),
        (Cause(CauseKind.RECLAIMED_BORROWING, gang=GANG), Outcome.PREEMPTED, Trade.RECLAIMED, GANG),
        (Cause(CauseKind.SHARED, gang=GANG), Outcome.PREEMPTED, Trade.RECLAIMED, GANG),
        (Cause(CauseKind.DEVICES_GONE), Outcome.NODE_LOST, None, ""),
        (Cause(CauseKind.PODS_LOST, nodes=("n1",)), Outcome.NODE_LOST, None, ""),
        (Cause(CauseKind.MOVED, gang=GANG), Outcome.PREEMPTED, Trade.MOVED, GANG),
        (Cause(CauseKind.EMPTIED, name="n1"), Outcome.PREEMPTED, Trade.MOVED, ""),
        (
            Cause(CauseKind.MOVED_FOR_BOOKING, name="repair", text="new fan"),
            *(Outcome.PREEMPTED, Trade.MOVED, "repair (new fan)"),
        ),
        (Cause(CauseKind.YIELDED, gang=GANG), Outcome.PREEMPTED, Trade.YIELDED, GANG),
        (Cause(CauseKind.OTHER, text="in haste"), Outcome.PREEMPTED, Trade.PREEMPTED, ""),
    ],
)
def test_a_cause_says_how_an_attempt_ends_and_for_whom(
    cause: Cause, outcome: Outcome, trade: Trade | None, beneficiary: str
) -> None:
    assert (outcome_of(cause), trade_of(cause)) == (outcome, trade)
    assert beneficiary_of(cause) == beneficiary
