"""Whether the intervals that lie in a ledger are those that its events give."""

from collections.abc import Iterator, Sequence

import msgspec

from ganglion import __version__
from ganglion.ledger.intervals import ClosedInterval, closed_supply, closed_usage
from ganglion.ledger.reader import Reader
from ganglion.ledger.records import Cycle, Flaw
from ganglion.metering.intervals import SupplyInterval, UsageInterval
from ganglion.model.events import ServerStarted
from ganglion.server.recovery.replay import ClosedBy


class MeteredRows:
    """Compares the rows with a replay, cycle by cycle.

    Cycles of another version are passed over: it may have metered otherwise, and what was written
    stays.

    Args:
        reader: of the ledger.
        after: the last cycle that is not replayed.

    Attributes:
        flaws: the first that is wrong of each table.
    """

    def __init__(self, reader: Reader, after: int) -> None:
        self._tables = {
            "usage": _Rows(closed_usage(reader, after)),
            "supply": _Rows(closed_supply(reader, after)),
        }
        self._version = ""
        self.flaws: list[Flaw] = []

    def compare(self, cycle: Cycle, closed: ClosedBy) -> None:
        """Compare what a cycle closed; every cycle with events, in order."""
        for event in cycle.incoming:
            self._version = event.version if isinstance(event, ServerStarted) else self._version
        usage, supply = closed
        for name, wanted in (("usage", [*usage]), ("supply", [*supply])):
            same = _alike(self._tables[name].of(cycle.number), wanted)
            if not same and self._version == __version__:
                self._name(cycle.seqs[-1] if cycle.seqs else 0, name, cycle.number)

    def end(self) -> list[Flaw]:
        """What is wrong, after the last cycle."""
        for name, rows in self._tables.items():
            if rows.next:
                self._name(0, name, rows.next.cycle)
        return self.flaws

    def _name(self, seq: int, table: str, cycle: int) -> None:
        if all(flaw.kind != table for flaw in self.flaws):
            what = f"the intervals of {table} that cycle {cycle} closed are not those of its events"
            self.flaws.append(Flaw(seq, table, what))


def _alike(
    found: Sequence[UsageInterval | SupplyInterval],
    wanted: Sequence[UsageInterval | SupplyInterval],
) -> bool:
    """Whether intervals are the same, but for GPUs where a row was written without them."""
    return len(found) == len(wanted) and all(
        one == other
        or (isinstance(other, UsageInterval) and one == msgspec.structs.replace(other, devices=""))
        for one, other in zip(found, wanted, strict=True)
    )


class _Rows:
    """Rows of a table, in order of their cycles."""

    def __init__(self, rows: Iterator[ClosedInterval]) -> None:
        self._rows = rows
        self.next = next(rows, None)

    def of(self, cycle: int) -> list[UsageInterval | SupplyInterval]:
        """The intervals up to a cycle that were not asked for before."""
        found = list[UsageInterval | SupplyInterval]()
        while self.next and self.next.cycle <= cycle:
            found.append(self.next.interval)
            self.next = next(self._rows, None)
        return found
