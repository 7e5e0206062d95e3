"""What the cause of a stop says: how the attempt ends, and which trade it was part of."""

from collections.abc import Mapping
from enum import StrEnum

from ganglion.model.events import GIVEN_UP, Outcome, cancels, suspends

_ENDS: Mapping[str, Outcome] = {
    "time": Outcome.TIMED_OUT,
    "node": Outcome.NODE_LOST,
    "lost": Outcome.NODE_LOST,
}


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


def outcome_of(cause: str) -> Outcome:
    """How an attempt ends that was stopped for this cause.

    Causes that begin with `cancel` end as cancelled, with `stopped early` as stopped early, with
    `suspend` as suspended, with `time` as timed out, with `node` or `lost` as node lost; every
    other cause (`preempted for ...`, `moved for ...`) is a preemption.
    """
    word = cause.strip().lower()
    if word.startswith(GIVEN_UP):
        return Outcome.STOPPED_EARLY
    if cancels(word):
        return Outcome.CANCELLED
    if suspends(word):
        return Outcome.SUSPENDED
    return next((out for start, out in _ENDS.items() if word.startswith(start)), Outcome.PREEMPTED)


def trade_of(cause: str) -> Trade | None:
    """Which kind of trade a stop belongs to; None when it was no preemption at all.

    A preemption whose cause names no kind counts as one within the queue.
    """
    if outcome_of(cause) is not Outcome.PREEMPTED:
        return None
    word = cause.strip().lower()
    if word.startswith("shared"):
        return Trade.RECLAIMED
    return next((kind for kind in Trade if word.startswith(kind)), Trade.PREEMPTED)
