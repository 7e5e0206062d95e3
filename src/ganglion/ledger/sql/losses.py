"""How much was held, and how active GPUs were, in work that was thrown away.

Rows of lost work say only which part of an attempt it was. Rows of usage and of activity say the
rest, so that no more is lost than was held, and counts as active in it than was active.
"""

from collections.abc import Iterator
from typing import Any

from sqlalchemy import Case, ColumnElement, Table, and_, case, cast, func, select

from ganglion.ledger.metering import UsageWanted, chosen, group_column, named
from ganglion.ledger.reader import Reader
from ganglion.ledger.sql.tables import LONG, activity, lost, usage
from ganglion.metering.intervals import LostSpan
from ganglion.metering.sums import Group


def lost_held(reader: Reader, wanted: UsageWanted) -> dict[Group, int]:
    """GPU-microseconds of a period whose work was thrown away, by group.

    Raises:
        EnvironmentFault: the database does not answer.
    """
    begin, end = _within(usage, wanted)
    return dict(_sums(reader, wanted, usage, usage.c.held_milli * (end - begin)))


def lost_active(reader: Reader, wanted: UsageWanted) -> dict[Group, int]:
    """Those of them in which GPUs were active, as far as the ledger has it, by group.

    Rows are cut as `intervals.part_of` cuts them.

    Raises:
        EnvironmentFault: the database does not answer.
    """
    table = activity.c
    begin, end = _within(activity, wanted)
    lasts, low, high = table.end_ms - table.begin_ms, begin - table.begin_ms, end - table.begin_ms
    each, more = table.active_gpu_us // lasts, table.active_gpu_us % lasts
    part = each * (high - low) + _earlier(high, more) - _earlier(low, more)
    return dict(_sums(reader, wanted, activity, part))


def lost_after(reader: Reader, at: int, cycle: int) -> Iterator[LostSpan]:
    """Lost work that ends after a time in ms; only what cycles up to one wrote."""
    columns = [lost.c[name] for name in LostSpan.__struct_fields__]
    found = select(*columns).where(lost.c.end_ms > at, lost.c.cycle <= cycle)
    return (LostSpan(*row) for row in reader.rows(found))


def _sums(
    reader: Reader, wanted: UsageWanted, table: Table, amount: ColumnElement[int]
) -> Iterator[tuple[Group, int]]:
    """Sums over the parts of rows of a table that lie in lost work and in the period."""
    groups = [group_column(each, table) for each in wanted.by]
    # The index of usage begins with the workload.
    same = ("workload",) * (table is usage) + ("gang", "attempt")
    found = select(*groups, cast(func.sum(amount), LONG)).where(
        *chosen(wanted, wanted.since, wanted.until, table),
        lost.c.end_ms > wanted.since,
        lost.c.begin_ms < wanted.until,
        lost.c.cycle <= wanted.cycle,
        and_(*(table.c[name] == lost.c[name] for name in same)),
        table.c.begin_ms < lost.c.end_ms,
        table.c.end_ms > lost.c.begin_ms,
        table.c.end_ms > table.c.begin_ms,
        table.c.end_ms > wanted.since,
    )
    for *group, total in reader.rows(found.group_by(*groups) if groups else found):
        if total:
            yield named(group, wanted.by), int(total)


def _within(table: Table, wanted: UsageWanted) -> tuple[Case[int], Case[int]]:
    """Begin and end of the part of a row that lies in lost work and in the period, in ms."""
    begin, end = _later(table.c.begin_ms, lost.c.begin_ms), _earlier(table.c.end_ms, lost.c.end_ms)
    return _later(begin, wanted.since), _earlier(end, wanted.until)


def _later(one: Any, other: Any) -> Case[int]:  # noqa: ANN401 - expressions of SQL
    return case((one < other, other), else_=one)


def _earlier(one: Any, other: Any) -> Case[int]:  # noqa: ANN401 - expressions of SQL
    return case((one > other, other), else_=one)
