"""What the cause of a stop says: how the attempt ends, for which gang, in which trade."""

from collections.abc import Mapping
from enum import StrEnum

from ganglion.model.causes import MOVES, Cause, CauseKind, cancels, suspends
from ganglion.model.events import Outcome


class Trade(StrEnum):
    """Why the engine stopped a gang for the sake of another one."""

    PREEMPTED = "preempted"
    """For a gang of its own queue."""
    RECLAIMED = "reclaimed"
    """For a queue that is entitled to what it used, or has a smaller share."""
    MOVED = "moved"
    """To run elsewhere at once."""
    YIELDED = "yielded"
    """For an equal that has had less."""


BUDGET_OF = "the budget of queue "
"""How the beneficiary of a gang begins that is stopped for a budget."""
_LOST = frozenset({CauseKind.DEVICES_GONE, CauseKind.PODS_LOST})
_TRADES: Mapping[CauseKind, Trade] = {
    CauseKind.RECLAIMED: Trade.RECLAIMED,
    CauseKind.RECLAIMED_BORROWING: Trade.RECLAIMED,
    CauseKind.SHARED: Trade.RECLAIMED,
    CauseKind.YIELDED: Trade.YIELDED,
    **dict.fromkeys(MOVES, Trade.MOVED),
}


def outcome_of(cause: Cause) -> Outcome:
    """How an attempt ends that was stopped for this cause."""
    if cause.kind is CauseKind.GIVEN_UP:
        return Outcome.STOPPED_EARLY
    if cancels(cause):
        return Outcome.CANCELLED
    if suspends(cause):
        return Outcome.SUSPENDED
    return Outcome.NODE_LOST if cause.kind in _LOST else Outcome.PREEMPTED


def trade_of(cause: Cause) -> Trade | None:
    """Which kind of trade a stop belongs to; None when it was no preemption at all.

    A preemption of no other kind counts as one within the queue.
    """
    if outcome_of(cause) is not Outcome.PREEMPTED:
        return None
    return _TRADES.get(cause.kind, Trade.PREEMPTED)


def beneficiary_of(cause: Cause) -> str:
    """The gang or booking that gets the place, or the budget that is spent; empty = none does."""
    if cause.kind is CauseKind.BUDGET_SPENT:
        return f"{BUDGET_OF}{cause.name}"
    if cause.kind is CauseKind.MOVED_FOR_BOOKING:
        return f"{cause.name} ({cause.text})" if cause.text else cause.name
    return cause.gang


def cause_for(beneficiary: str) -> Cause:
    """Why a gang leaves of which it is only known for whom; see `beneficiary_of`."""
    if beneficiary.startswith(BUDGET_OF):
        return Cause(CauseKind.BUDGET_SPENT, name=beneficiary.removeprefix(BUDGET_OF))
    return Cause(CauseKind.PREEMPTED, gang=beneficiary)
