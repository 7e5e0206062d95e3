"""How long workloads waited for their first place, counted by the database."""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct
from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Integer,
    case,
    func,
    literal_column,
    select,
    union_all,
)

from ganglion.ledger.metering import UsageWanted
from ganglion.ledger.reader import Reader
from ganglion.ledger.sql.tables import usage, workloads
from ganglion.metering.intervals import DAY_MS
from ganglion.metering.waits import DAYS_TO_MONDAY, SIZE_BOUNDS_MILLI, SIZES, WAIT_BOUNDS_MS


class WaitCount(Struct, frozen=True):
    """Workloads that got their first place in one span after equal waits.

    Attributes:
        day: first one of the span, of UTC, counted from 1970-01-01.
        queue: leaf queue.
        size: one of `SIZES`.
        step: of `WAIT_BOUNDS_MS`.
        count: how many.
    """

    day: int
    queue: str
    size: str
    step: int
    count: int


def last_workload(reader: Reader) -> int:
    """Number of the newest workload that is written."""
    ((last,),) = reader.rows(select(func.max(workloads.c.number)))
    return int(last or 0)


def wait_counts(reader: Reader, wanted: UsageWanted, last: int, *, weekly: bool) -> list[WaitCount]:
    """Waits of workloads whose first gang got its first place in a period, summed up.

    Of clusters, those that have ended. The database sums up, so that what is read grows with spans
    and queues, not with workloads.

    Args:
        reader: of the ledger.
        wanted: the period and queues; `by` is not read.
        last: number of the last workload of a cluster that counts.
        weekly: whether spans are weeks, see `span_of`; else days.

    Raises:
        EnvironmentFault: the database does not answer.
    """
    table = usage.c
    begun = func.sum(case((table.begun, 1), else_=0))
    first = (
        select(table.workload, table.queue, table.begin_ms, func.sum(table.requested_milli))
        .where(table.attempt == 1, table.gang == table.workload + "/0")
        .where(table.begin_ms >= wanted.since, table.begin_ms < wanted.until)
        .where(table.cycle <= wanted.cycle)
        .group_by(table.workload, table.queue, table.begin_ms)
        .having(begun > 0)
    )
    rows = workloads.c
    away = select(rows.queue, rows.first_at, rows.first_milli, rows.at)
    away = away.where(rows.first_at >= wanted.since, rows.first_at < wanted.until)
    away = away.where(rows.number <= last)
    if wanted.queues is not None:
        first = first.where(table.queue.in_(sorted(wanted.queues)))
        away = away.where(rows.queue.in_(sorted(wanted.queues)))
    here = first.subquery()
    workload, queue, begin, milli = here.c
    own = select(queue, begin, milli, rows.at).join_from(here, workloads, workload == rows.id)
    queue, begin, milli, submitted = union_all(own, away).subquery().c
    day = begin // DAY_MS
    span = day - (day + DAYS_TO_MONDAY) % 7 if weekly else day
    size = _placed_in(milli, SIZE_BOUNDS_MILLI)
    step = _placed_in(begin - submitted, WAIT_BOUNDS_MS)
    groups = (span, queue, size, step)
    found = select(*groups, func.count())
    return [
        WaitCount(int(on), name, SIZES[int(place)], int(at), int(count))
        for on, name, place, at, count in reader.rows(found.group_by(*groups))
    ]


def _placed_in(value: Any, bounds: Sequence[int], low: int = 0) -> ColumnElement[int]:  # noqa: ANN401 - an expression of SQL
    """How many bounds a value has reached, by halving: as `bisect_right` says."""
    if not bounds:
        return literal_column(str(low), Integer)
    middle = len(bounds) // 2
    below = _placed_in(value, bounds[:middle], low)
    above = _placed_in(value, bounds[middle + 1 :], low + middle + 1)
    return case((value < literal_column(str(bounds[middle]), BigInteger), below), else_=above)
