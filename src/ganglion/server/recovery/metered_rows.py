"""Whether the intervals that lie in a ledger are those that its events give, or fit to them."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from ganglion import __version__
from ganglion.ledger.intervals import (
    ClosedInterval,
    Interval,
    closed_activity,
    closed_lent,
    closed_lost,
    closed_supply,
    closed_usage,
    counted_twice,
    lent_unevenly,
    missing_rows,
    usage_during,
)
from ganglion.ledger.reader import Reader
from ganglion.ledger.records import Cycle, Flaw
from ganglion.metering.activity import Place
from ganglion.metering.intervals import UsageInterval
from ganglion.model.events import ServerStarted
from ganglion.server.recovery.replay import ClosedBy


class MeteredRows:
    """Compares the rows with a replay, cycle by cycle.

    Cycles of another version are passed over: it may have metered otherwise, and what was written
    stays. What GPUs did follows from no event, and is compared with what was held meanwhile.

    Args:
        reader: of the ledger.
        after: the last cycle that is not replayed.

    Attributes:
        flaws: the first that is wrong of each table.
    """

    def __init__(self, reader: Reader, after: int) -> None:
        self._reader = reader
        self._usage = _Rows(closed_usage(reader, after))
        self._supply = _Rows(closed_supply(reader, after))
        self._lent = _Rows(closed_lent(reader, after))
        self._lost = _Rows(closed_lost(reader, after))
        self._started = ServerStarted(0, "")
        self.flaws: list[Flaw] = []

    def compare(self, cycle: Cycle, closed: ClosedBy) -> None:
        """Compare what a cycle closed; every cycle with events, in order."""
        before = self._started
        for event in cycle.incoming:
            self._started = event if isinstance(event, ServerStarted) else self._started
        usage, supply, lent, lost = closed
        is_own = self._started.version == __version__
        self._check("usage", cycle, self._usage.of(cycle.number), usage, is_checked=is_own)
        self._check("supply", cycle, self._supply.of(cycle.number), supply, is_checked=is_own)
        self._check("lost", cycle, self._lost.of(cycle.number), lost, is_checked=is_own)
        # The start of a version closes what another one may have added up.
        same = is_own and before.version == __version__ and before.meters_lending
        self._check("lent", cycle, self._lent.of(cycle.number), lent, is_checked=same)

    def end(self, open_usage: Iterable[UsageInterval]) -> list[Flaw]:
        """What is wrong, after the last cycle.

        Args:
            open_usage: what attempts hold then.
        """
        every = {"usage": self._usage, "supply": self._supply, "lent": self._lent}
        for table, rows in (every | {"lost": self._lost}).items():
            if rows.next:
                number, cycle = rows.next.number, rows.next.cycle
                self._name(0, table, f"row {number} is of cycle {cycle}, which closed nothing")
        for table, number in missing_rows(self._reader).items():
            self._name(0, table, f"row {number} is missing")
        uneven = lent_unevenly(self._reader)
        if uneven:
            number, given, taken = uneven
            what = f"{given} GPU-microseconds are lent and {taken} borrowed in the same time"
            self._name(0, "lent", f"row {number}: {what}")
        self._check_activity(open_usage)
        return self.flaws

    def _check(
        self,
        table: str,
        cycle: Cycle,
        found: Sequence[ClosedInterval[Interval]],
        wanted: Sequence[Interval],
        *,
        is_checked: bool,
    ) -> None:
        wrong = _first_other(found, wanted) if is_checked else None
        if wrong is not None:
            where = f"row {found[wrong].number}" if wrong < len(found) else "a row is missing"
            what = f"the intervals of {table} that cycle {cycle.number} closed"
            seq = cycle.seqs[-1] if cycle.seqs else 0
            self._name(seq, table, f"{what} are not those of its events: {where}")

    def _check_activity(self, open_usage: Iterable[UsageInterval]) -> None:
        """Compare what GPUs did with what was held meanwhile, page by page."""
        still = _by_place(open_usage)
        for page in closed_activity(self._reader):
            used = _by_place(usage_during(self._reader, page))
            for row in page:
                place = row.interval.place
                held = (*used.get(place, ()), *still.get(place, ()))
                wrong = row.interval.contradiction(held)
                if wrong:
                    self._name(0, "activity", f"row {row.number}: {wrong}")
                    return
        number = counted_twice(self._reader)
        if number is not None:
            self._name(0, "activity", f"row {number} overlaps another one of its attempt and node")

    def _name(self, seq: int, table: str, what: str) -> None:
        if all(flaw.kind != table for flaw in self.flaws):
            self.flaws.append(Flaw(seq, table, what))


def _by_place(intervals: Iterable[UsageInterval]) -> dict[Place, list[UsageInterval]]:
    found: dict[Place, list[UsageInterval]] = {}
    for each in intervals:
        found.setdefault((each.gang, each.attempt, each.node), []).append(each)
    return found


def _first_other(
    found: Sequence[ClosedInterval[Interval]], wanted: Sequence[Interval]
) -> int | None:
    """Place of the first interval that is another one, but for GPUs where a row has none."""
    for place, (row, other) in enumerate(zip(found, wanted, strict=False)):
        one: Struct = row.interval
        if one != other and one != _without_devices(other):
            return place
    return None if len(found) == len(wanted) else min(len(found), len(wanted))


def _without_devices(interval: Struct) -> Struct:
    if isinstance(interval, UsageInterval):
        return msgspec.structs.replace(interval, devices="")
    return interval


class _Rows:
    """Rows of a table, in order of their cycles."""

    def __init__(self, rows: Iterator[ClosedInterval[Any]]) -> None:
        self._rows = rows
        self.next = next(rows, None)

    def of(self, cycle: int) -> list[ClosedInterval[Any]]:
        """The intervals up to a cycle that were not asked for before."""
        found = list[ClosedInterval[Any]]()
        while self.next and self.next.cycle <= cycle:
            found.append(self.next)
            self.next = next(self._rows, None)
        return found
