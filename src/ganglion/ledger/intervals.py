"""Rows of intervals in a ledger: each has a number without gaps, and is written once."""

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict
from sqlalchemy import Connection, Table, func, insert, select

from ganglion.ledger.reader import PAGE, Reader
from ganglion.ledger.records import Batch
from ganglion.ledger.sql.statements import Prepared, Session
from ganglion.ledger.sql.tables import activity, lent, supply, usage
from ganglion.metering.activity import ActivityInterval, Place
from ganglion.metering.intervals import SupplyInterval, UsageInterval
from ganglion.metering.lending import LentInterval

_TABLES = (usage, supply, activity, lent)
_NEW = tuple((Prepared(insert(each)), each.name) for each in _TABLES)
"""How a row of each table is written; a batch has its intervals under the table's name."""


class IntervalNumbers:
    """Counts the rows of the tables, so that each has a number without gaps."""

    def __init__(self) -> None:
        self._last = dict[str, int]()

    def refresh(self, writer: Connection) -> None:
        """Read again where the tables end."""
        self._last = {
            each.name: int(writer.scalar(select(func.max(each.c.number))) or 0) for each in _TABLES
        }

    def write(self, session: Session, cycle: int, batch: Batch) -> None:
        """Write the intervals that come with a cycle."""
        for statement, name in _NEW:
            intervals = getattr(batch, name)
            if intervals:
                session.execute(statement, _rows(intervals, self._last[name], cycle))

    def written(self, batch: Batch) -> None:
        """They are committed."""
        for _, name in _NEW:
            self._last[name] += len(getattr(batch, name))


def _rows(
    intervals: Sequence[UsageInterval | SupplyInterval | ActivityInterval | LentInterval],
    last: int,
    cycle: int,
) -> list[dict[str, Any]]:
    numbered = enumerate(intervals, last + 1)
    return [asdict(each) | {"number": number, "cycle": cycle} for number, each in numbered]


class ClosedInterval(Struct, frozen=True):
    """An interval as it lies in the ledger, with the number of the cycle that closed it."""

    cycle: int
    interval: UsageInterval | SupplyInterval


def closed_usage(reader: Reader, after: int) -> Iterator[ClosedInterval]:
    """The intervals of usage that cycles after one closed, in order."""
    return _closed(reader, usage, UsageInterval, after)


def closed_supply(reader: Reader, after: int) -> Iterator[ClosedInterval]:
    """The same for supply."""
    return _closed(reader, supply, SupplyInterval, after)


def _closed(
    reader: Reader, table: Table, kind: type[UsageInterval | SupplyInterval], after: int
) -> Iterator[ClosedInterval]:
    columns = [table.c[name] for name in kind.__struct_fields__]
    wanted = select(table.c.number, table.c.cycle, *columns).where(table.c.cycle > after)
    last = 0
    while rows := reader.rows(
        wanted.where(table.c.number > last).order_by(table.c.number).limit(PAGE)
    ):
        for number, cycle, *values in rows:
            last = number
            yield ClosedInterval(cycle, kind(*values))


def activity_ends(reader: Reader, gangs: Sequence[str]) -> dict[Place, int]:
    """When the last interval of activity of attempts of gangs ended on each node, in ms.

    Raises:
        EnvironmentFault: the database does not answer.
    """
    table = activity.c
    place = (table.gang, table.attempt, table.node)
    found = select(*place, func.max(table.end_ms)).where(table.gang.in_(gangs)).group_by(*place)
    return {(gang, attempt, node): int(end) for gang, attempt, node, end in reader.rows(found)}


def lent_between(reader: Reader, period: tuple[int, int], cycle: int) -> Iterator[LentInterval]:
    """What queues lent and borrowed in intervals that lie in a period in part.

    Those that lie in it as a whole are summed up, one for each queue.

    Args:
        reader: of the ledger.
        period: its begin and end, in ms.
        cycle: only what cycles up to this one closed.

    Raises:
        EnvironmentFault: the database does not answer.
    """
    (since, until), table = period, lent.c
    whole = (table.begin_ms >= since) & (table.end_ms <= until)
    known = (table.cycle <= cycle, table.end_ms > since, table.begin_ms < until)
    amounts = (func.sum(table.lent_gpu_us), func.sum(table.borrowed_gpu_us))
    sums = select(table.queue, *amounts).where(*known, whole).group_by(table.queue)
    for queue, gave, took in reader.rows(sums):
        yield LentInterval(since, until, queue, int(gave), int(took))
    columns = [table[name] for name in LentInterval.__struct_fields__]
    for row in reader.rows(select(*columns).where(*known, ~whole)):
        yield LentInterval(*row)


def lent_until(reader: Reader) -> int:
    """When the last interval of lending ended, in ms; 0 = there is none.

    Raises:
        EnvironmentFault: the database does not answer.
    """
    ((end,),) = reader.rows(select(func.max(lent.c.end_ms)))
    return int(end or 0)
