"""Rows of intervals in a ledger: each has a number without gaps, and is written once."""

from collections.abc import Collection, Iterator, Sequence
from itertools import chain
from typing import Any, Generic, TypeVar

from msgspec import Struct
from msgspec.structs import asdict
from sqlalchemy import Connection, Table, exists, func, insert, select

from ganglion.ledger.reader import PAGE, Reader
from ganglion.ledger.records import Batch
from ganglion.ledger.sql.statements import Prepared, Session
from ganglion.ledger.sql.tables import activity, lent, lost, supply, usage
from ganglion.metering.activity import ActivityInterval, Place
from ganglion.metering.intervals import LostSpan, SupplyInterval, UsageInterval
from ganglion.metering.lending import LentInterval
from ganglion.model.queue import CLUSTER_SIGN

_TABLES = (usage, supply, activity, lent, lost)
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
    intervals: Sequence[
        UsageInterval | SupplyInterval | ActivityInterval | LentInterval | LostSpan
    ],
    last: int,
    cycle: int,
) -> list[dict[str, Any]]:
    numbered = enumerate(intervals, last + 1)
    return [asdict(each) | {"number": number, "cycle": cycle} for number, each in numbered]


Interval = TypeVar(
    "Interval", UsageInterval, SupplyInterval, ActivityInterval, LentInterval, LostSpan
)


class ClosedInterval(Struct, Generic[Interval], frozen=True):
    """An interval as it lies in the ledger.

    Attributes:
        number: of its row.
        cycle: number of the cycle that closed it.
    """

    number: int
    cycle: int
    interval: Interval


def closed_usage(reader: Reader, after: int) -> Iterator[ClosedInterval[UsageInterval]]:
    """The intervals of usage that cycles after one closed, in order."""
    return chain.from_iterable(_closed(reader, usage, UsageInterval, after))


def closed_supply(reader: Reader, after: int) -> Iterator[ClosedInterval[SupplyInterval]]:
    """The same for supply."""
    return chain.from_iterable(_closed(reader, supply, SupplyInterval, after))


def closed_lent(reader: Reader, after: int) -> Iterator[ClosedInterval[LentInterval]]:
    """The same for what queues lent."""
    return chain.from_iterable(_closed(reader, lent, LentInterval, after))


def closed_lost(reader: Reader, after: int) -> Iterator[ClosedInterval[LostSpan]]:
    """The same for work that was thrown away."""
    return chain.from_iterable(_closed(reader, lost, LostSpan, after))


def closed_activity(reader: Reader) -> Iterator[list[ClosedInterval[ActivityInterval]]]:
    """All intervals of activity, in order, page by page."""
    return _closed(reader, activity, ActivityInterval, -1)


def _closed(
    reader: Reader, table: Table, kind: type[Interval], after: int
) -> Iterator[list[ClosedInterval[Interval]]]:
    columns = [table.c[name] for name in kind.__struct_fields__]
    wanted = select(table.c.number, table.c.cycle, *columns).where(table.c.cycle > after)
    last = 0
    while rows := reader.rows(
        wanted.where(table.c.number > last).order_by(table.c.number).limit(PAGE)
    ):
        last = rows[-1][0]
        yield [ClosedInterval(number, cycle, kind(*values)) for number, cycle, *values in rows]


def usage_during(
    reader: Reader, page: Sequence[ClosedInterval[ActivityInterval]]
) -> Iterator[UsageInterval]:
    """Closed usage of the workloads that intervals of activity are about, in that time."""
    table, named = usage.c, {each.interval.workload for each in page}
    begin = min(each.interval.begin_ms for each in page)
    end = max(each.interval.end_ms for each in page)
    columns = [table[name] for name in UsageInterval.__struct_fields__]
    during = (table.workload.in_(sorted(named)), table.end_ms > begin, table.begin_ms < end)
    return (UsageInterval(*row) for row in reader.rows(select(*columns).where(*during)))


def attempts_on(
    reader: Reader, node: str, workloads: Collection[str], since: int
) -> set[tuple[str, int]]:
    """Gang and attempt of closed usage of some workloads on a node, as usage names them.

    Args:
        reader: of the ledger.
        node: by its name in usage.
        workloads: the same.
        since: only usage that ended at this time in ms or later.

    Raises:
        EnvironmentFault: the database does not answer.
    """
    table = usage.c
    wanted = select(table.gang, table.attempt).where(
        table.workload.in_(sorted(workloads)), table.node == node, table.end_ms >= since
    )
    return {(gang, attempt) for gang, attempt in reader.rows(wanted)} if workloads else set()


def missing_rows(reader: Reader) -> dict[str, int]:
    """Table -> the first number that none of its rows has, though a later one is there."""
    found = dict[str, int]()
    for table in _TABLES:
        number, before = table.c.number, table.alias()
        follows = exists().where(before.c.number == number - 1)
        gap = select(func.min(number)).where(number > 1, ~follows)
        ((after,),) = reader.rows(gap)
        if after is not None:
            below = select(func.max(number)).where(number < after)
            ((last,),) = reader.rows(below)
            found[table.name] = int(last or 0) + 1
    return found


def lent_unevenly(reader: Reader) -> tuple[int, int, int] | None:
    """The first row of those that close together and in which more or less is lent than borrowed.

    Returns:
        its number, and how much is lent and borrowed, in GPU-microseconds; None = there is none.
    """
    table = lent.c
    given, taken = func.sum(table.lent_gpu_us), func.sum(table.borrowed_gpu_us)
    first = func.min(table.number)
    closed = select(first, given, taken).group_by(table.begin_ms, table.end_ms)
    for row in reader.rows(closed.having(given != taken).order_by(first).limit(1)):
        number, lent_gpu_us, borrowed_gpu_us = map(int, row)
        return number, lent_gpu_us, borrowed_gpu_us
    return None


def counted_twice(reader: Reader) -> int | None:
    """Number of the first row of activity that overlaps another one of its attempt and node."""
    table = activity.c
    place = (table.gang, table.attempt, table.node)
    before = func.lag(table.end_ms).over(
        partition_by=place, order_by=(table.begin_ms, table.number)
    )
    rows = select(table.number, table.begin_ms, before.label("before")).subquery()
    again = select(func.min(rows.c.number)).where(rows.c.begin_ms < rows.c.before)
    ((number,),) = reader.rows(again)
    return None if number is None else int(number)


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
    """When the last interval of lending of the server's own queues ended, in ms; 0 = none did.

    Raises:
        EnvironmentFault: the database does not answer.
    """
    ((end,),) = reader.rows(
        select(func.max(lent.c.end_ms)).where(~lent.c.queue.contains(CLUSTER_SIGN))
    )
    return int(end or 0)
