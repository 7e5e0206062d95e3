"""Days that are cut at the same moments by the same prices, so that a database can sum them up."""

from collections.abc import Iterator

from msgspec import Struct

from ganglion.metering.intervals import DAY_MS
from ganglion.pricing.book import PriceState, PriceTable


class DayPart(Struct, frozen=True):
    """A part of a day of UTC: from and before when, in ms since its midnight, and its prices."""

    begin: int
    end: int
    state: PriceState


class DayRun(Struct, frozen=True):
    """Days that follow one another and have the same parts.

    Attributes:
        begin, end: midnights, in ms.
        parts: of each of these days, without gaps.
    """

    begin: int
    end: int
    parts: tuple[DayPart, ...]


def days_of(begin: int, end: int) -> tuple[int, int]:
    """The midnights around a period, in ms."""
    return begin // DAY_MS * DAY_MS, -(-end // DAY_MS) * DAY_MS


def day_runs(table: PriceTable) -> Iterator[DayRun]:
    """The runs of a table that begins and ends at midnights."""
    if not table.spans:
        return
    last: DayRun | None = None
    for day in range(table.spans[0].begin, table.spans[-1].end, DAY_MS):
        at, parts = 0, list[DayPart]()
        for lasts, state in table.within(day, day + DAY_MS):
            parts.append(DayPart(at, at + lasts, state))
            at += lasts
        if last is not None and last.parts == tuple(parts):
            last = DayRun(last.begin, day + DAY_MS, last.parts)
            continue
        if last is not None:
            yield last
        last = DayRun(day, day + DAY_MS, tuple(parts))
    if last is not None:
        yield last
