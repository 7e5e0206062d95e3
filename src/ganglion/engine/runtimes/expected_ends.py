"""When each running gang is expected to end, in several draws from what is known of it.

A draw gives every gang an end at a percentile of its own, so that the ends of many gangs are
spread as run times are. A gang that outlives a draw gets a new one, from runs that took longer:
so at any time the draw is one from the runs that are longer than it has run.
"""

from collections.abc import Iterable

from msgspec import Struct

from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.runtimes.estimates import Estimates
from ganglion.model.workload import Kind

DRAWS = 3
"""Draws, each of which is played through; the one in the middle counts."""

NEVER = 1 << 60
"""End of what runs until it is stopped, in ms."""

_GOLDEN, _AGAIN, _PARTS = 618_034, 381_966, 1_000_000
"""Multiples of the golden ratio, modulo 1, are spread evenly however many there are."""


class Times(Struct, frozen=True):
    """Times of one gang by draw, in ms, and whether a limit or history is behind them."""

    by_draw: tuple[int, ...]
    known: bool


class ExpectedEnds:
    """Expected ends of all that runs.

    Args:
        estimates: learnt run times.

    Attributes:
        ends: when gangs that run are expected to end, by gang.
    """

    def __init__(self, estimates: Estimates) -> None:
        self._estimates = estimates
        self.ends: dict[str, Times] = {}

    def length(self, record: GangRecord) -> Times:
        """How long a gang will run from its start on."""
        return self._left(record, 0, 0)

    def started(self, record: GangRecord, now: int) -> None:
        """A gang starts."""
        self.ends[record.gang.id] = _from(now, self.length(record))

    def ended(self, gang: str) -> None:
        """A gang runs no more; does nothing for one that did not."""
        self.ends.pop(gang, None)

    def refresh(self, records: Iterable[GangRecord], now: int) -> None:
        """Draw the ends of running gangs anew that have outlived a draw."""
        for record in records:
            self.ends[record.gang.id] = self.end(record, now)

    def end(self, record: GangRecord, now: int) -> Times:
        """When a running gang ends, in every draw after `now`."""
        drawn = self.ends.get(record.gang.id)
        if drawn and min(drawn.by_draw) > now:
            return drawn
        ran = max(now - (record.started or record.placed_at), 0)
        fresh = _from(now, self._left(record, ran, now))
        if drawn is None:
            return fresh
        pairs = zip(drawn.by_draw, fresh.by_draw, strict=True)
        return Times(tuple([old if old > now else new for old, new in pairs]), fresh.known)

    def _left(self, record: GangRecord, ran_ms: int, salt: int) -> Times:
        gang = record.gang
        if gang.kind is Kind.SERVICE and not gang.time_limit_ms:
            return Times((NEVER,) * DRAWS, True)
        first = record.number * _GOLDEN + salt * _AGAIN
        shares = [(first + draw * _PARTS // DRAWS) % _PARTS for draw in range(DRAWS)]
        spread = self._estimates.spread(gang, ran_ms, [1 + 99 * x // _PARTS for x in shares])
        return Times(spread.left_ms, spread.known)


def _from(now: int, left: Times) -> Times:
    return Times(tuple([now + max(each, 1) for each in left.by_draw]), left.known)
