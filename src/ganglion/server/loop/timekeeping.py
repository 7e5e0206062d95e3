"""The times of turns: one that never goes back, for durations, and the wall clock, for dates."""

from typing import NamedTuple

import structlog

from ganglion.ledger.ledger import Ledger
from ganglion.worlds.world import ServedWorld

STEP_MS = 2_000
"""The wall clock was set when it moves by more against the steady one from turn to turn."""

log = structlog.get_logger(__name__)


class TurnTimes(NamedTuple):
    """The times of one turn, in ms.

    Attributes:
        now: by the world's steady clock.
        wall: the wall clock.
        stepped_ms: by how much the wall clock was set since the turn before; below 0 = back.
    """

    now: int
    wall: int
    stepped_ms: int


class Timekeeper:
    """Source of the times of turns; no turn is earlier than what the ledger holds.

    Args:
        world: has the clocks.
        least: newest time that the ledger holds, in ms.
    """

    def __init__(self, world: ServedWorld, least: int) -> None:
        self._world, self._now = world, least
        self._ahead_ms: int | None = None

    def turn(self) -> TurnTimes:
        """The times of the next turn."""
        self._now = max(self._world.now(), self._now)
        wall = self._world.wall()
        before, self._ahead_ms = self._ahead_ms, wall - self._now
        stepped_ms = 0 if before is None else self._ahead_ms - before
        if abs(stepped_ms) < STEP_MS:
            return TurnTimes(self._now, wall, 0)
        log.warning("the wall clock was set", by_ms=stepped_ms)
        return TurnTimes(self._now, wall, stepped_ms)


def newest_time(ledger: Ledger) -> int:
    """When the newest event of a ledger happened, in ms; 0 = it has none.

    Raises:
        EnvironmentFault: the database does not answer.
    """
    newest = ledger.events(ledger.head - 1, 1) if ledger.head else ()
    return newest[0].at if newest else 0
