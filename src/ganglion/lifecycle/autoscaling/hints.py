"""Load that is known beforehand raises the floor, early enough for replicas to be ready."""

from collections.abc import Iterable

from ganglion.lifecycle.schedules import next_date
from ganglion.model.behaviour import Hint, Schedule


def hinted(hints: Iterable[Hint], now: int, lead_ms: int) -> int:
    """The highest floor that hints ask for from now until a replica started now is ready.

    Args:
        hints: what is known beforehand.
        now: the time, in ms since 1970.
        lead_ms: how long a replica takes to start.
    """
    floors = (hint.floor for hint in hints if _holds(hint, now, lead_ms))
    return max(floors, default=0)


def _holds(hint: Hint, now: int, lead_ms: int) -> bool:
    """Whether one of its dates has begun and is not over, or begins within the lead."""
    date = next_date(Schedule(hint.cron, hint.zone), now - hint.for_ms)
    return date is not None and date <= now + lead_ms
