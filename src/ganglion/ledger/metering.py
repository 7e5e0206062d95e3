"""Intervals of usage and supply in a ledger; they are written once, and never change or leave."""

from collections.abc import Collection, Iterator, Sequence
from itertools import chain, pairwise
from typing import Any

from msgspec import Struct
from sqlalchemy import (
    Case,
    ColumnElement,
    Select,
    Table,
    bindparam,
    case,
    cast,
    func,
    select,
)

from ganglion.ledger.reader import Reader
from ganglion.ledger.sql.tables import LONG, activity, supply, usage
from ganglion.metering.activity import AMOUNTS, ActivityInterval
from ganglion.metering.day_runs import DayPart, DayRun
from ganglion.metering.intervals import DAY_MS, SupplyInterval, UsageInterval
from ganglion.metering.rating import HeldIn
from ganglion.metering.sums import (
    ActivitySum,
    Group,
    SupplySum,
    UsageBy,
    UsageSum,
    add_activity,
    date_of,
)
from ganglion.pricing.book import PriceState

AT_ONCE = 32_768
"""Rows that are summed up at once: groups of that number are sorted in the cache of a processor."""


def usage_between(
    reader: Reader, period: tuple[int, int], cycle: int, most: int
) -> list[UsageInterval]:
    """Closed intervals of usage that lie in a period in part, those that ended last first.

    Args:
        reader: of the ledger.
        period: its begin and end, in ms.
        cycle: only what cycles up to this one closed.
        most: how many at most.

    Raises:
        EnvironmentFault: the database does not answer.
    """
    since, until = period
    within = (usage.c.end_ms > since, usage.c.begin_ms < until)
    return _newest(reader, within, cycle, most)


def usage_of(reader: Reader, workload: str, cycle: int, most: int) -> list[UsageInterval]:
    """Closed intervals of usage of one workload, as `usage_between` has them."""
    return _newest(reader, (usage.c.workload == workload,), cycle, most)


def _newest(
    reader: Reader, where: Sequence[ColumnElement[bool]], cycle: int, most: int
) -> list[UsageInterval]:
    columns = [usage.c[name] for name in UsageInterval.__struct_fields__]
    found = select(*columns).where(*where, usage.c.cycle <= cycle)
    newest = found.order_by(usage.c.end_ms.desc(), usage.c.number.desc()).limit(most)
    return [UsageInterval(*row) for row in reader.rows(newest)]


def last_ends(reader: Reader) -> tuple[dict[tuple[str, int, str], int], dict[str, int]]:
    """When the last interval of each attempt on each node, and of each node, ended, in ms.

    Raises:
        EnvironmentFault: the database does not answer.
    """
    place = (usage.c.gang, usage.c.attempt, usage.c.node)
    used = reader.rows(select(*place, func.max(usage.c.end_ms)).group_by(*place))
    node = supply.c.node
    supplied = reader.rows(select(node, func.max(supply.c.end_ms)).group_by(node))
    ends = {(gang, attempt, name): end for gang, attempt, name, end in used}
    return ends, dict(supplied)


class UsageWanted(Struct, frozen=True):
    """Which usage to sum up.

    Attributes:
        by: what to group by.
        since, until: begin and end of the period, in ms.
        cycle: only what cycles up to this one closed.
        queues: leaf queues to count; None = all.
        workloads: ids of workloads to count; None = all.
    """

    by: Sequence[UsageBy]
    since: int
    until: int
    cycle: int
    queues: Collection[str] | None = None
    workloads: Collection[str] | None = None


def usage_sums(reader: Reader, wanted: UsageWanted) -> dict[Group, UsageSum]:
    """Closed usage of a period, by group.

    Raises:
        EnvironmentFault: the database does not answer.
    """
    sums: dict[Group, UsageSum] = {}
    for begin, end in _pieces(wanted.since, wanted.until):
        for group, (held, requested, attempts) in _summed(reader, wanted, begin, end, ()):
            if group in sums:
                sums[group].add(held, requested, attempts)
            else:
                sums[group] = UsageSum(held, requested, attempts)
    return sums


def held_by_part(
    reader: Reader, wanted: UsageWanted, run: DayRun
) -> Iterator[tuple[Group, UsageSum, HeldIn]]:
    """Closed usage on the days of a run, by group; with GPU-microseconds held, by their prices.

    A group may come several times: its sums are the sums of all of them.

    Raises:
        EnvironmentFault: the database does not answer.
    """
    found: dict[PriceState, list[DayPart]] = {}
    for part in run.parts:
        found.setdefault(part.state, []).append(part)
    # What lies in none of the others is what is left: the largest question is not asked.
    rest, *others = sorted(found, key=lambda state: len(found[state]), reverse=True)
    for low, high in _pieces(max(wanted.since, run.begin), min(wanted.until, run.end)):
        since, until = _within_days(low, high)
        begin = since % DAY_MS
        end = begin + (until - since)
        lasted = [
            sum(_shared(begin, end, part.begin, part.end) for part in found[state])
            for state in others
        ]
        amounts = [usage.c.held_milli * each for each in lasted]
        for group, (all_held, requested, attempts, *parts) in _summed(
            reader, wanted, low, high, amounts
        ):
            held = dict(zip(others, parts, strict=True))
            held[rest] = all_held - sum(parts)
            yield group, UsageSum(all_held, requested, attempts), held


def _pieces(since: int, until: int) -> Iterator[tuple[int, int]]:
    """A period as whole days, with what is left before and after them: whole days need no cuts."""
    first, last = -(-since // DAY_MS) * DAY_MS, until // DAY_MS * DAY_MS
    cuts = [since, *(each for each in (first, last) if since < each < until), until]
    yield from pairwise(dict.fromkeys(cuts))


def _summed(
    reader: Reader,
    wanted: UsageWanted,
    since: int,
    until: int,
    more: Sequence[ColumnElement[int]],
) -> Iterator[tuple[Group, Sequence[int]]]:
    """Sums of usage of a part of a period, by group: held, requested, attempts and more."""
    table, groups = usage.c, [group_column(each) for each in wanted.by]
    begin, end = _within_days(since, until)
    begun = case((table.begun & (table.begin_ms >= since), 1), else_=0)
    lasting = [each * (end - begin) for each in (table.held_milli, table.requested_milli)]
    sums = [cast(func.sum(each), LONG) for each in (*lasting, begun, *more)]
    # `>=`: an attempt that ended at once has an interval of no length, and is counted.
    found = select(*groups, *sums).where(*chosen(wanted, since, until))
    found, width = found.group_by(*groups) if groups else found, len(groups)
    by = wanted.by if UsageBy.DAY in wanted.by else ()
    for row in chain.from_iterable(_by_number(reader, wanted, since, until, found)):
        if row[width] or row[width + 2]:
            yield named(row[:width], by) if by else row[:width], row[width:]


def _by_number(
    reader: Reader, wanted: UsageWanted, since: int, until: int, sums: Select[Any]
) -> Iterator[list[tuple[Any, ...]]]:
    """Sums over rows of a part of a period, for some rows after the other.

    To sort the groups of all rows at once takes longer, and so does an index of their times.
    """
    if wanted.workloads is not None:  # an index finds them
        yield reader.plain_rows(sums, {})
        return
    number, end_ms = usage.c.number, usage.c.end_ms
    about = end_ms.between(since, until + DAY_MS)  # none is longer than a day
    ((first, last),) = reader.rows(select(func.min(number), func.max(number)).where(about))
    some = sums.where(number.between(bindparam("first"), bindparam("last")))
    for low in range(first or 0, (last or -1) + 1, AT_ONCE):
        high = min(low + AT_ONCE - 1, last)
        yield reader.plain_rows(some, {"first": low, "last": high})


def activity_sums(reader: Reader, wanted: UsageWanted) -> dict[Group, ActivitySum]:
    """What GPUs did in a period, by group.

    Raises:
        EnvironmentFault: the database does not answer.
    """
    table, groups = activity.c, [group_column(each, activity) for each in wanted.by]
    after, before = table.begin_ms >= wanted.since, table.end_ms <= wanted.until
    rows = [*chosen(wanted, wanted.since, wanted.until, activity)]
    amounts = [func.sum(table[name]) for name in AMOUNTS]
    by = (*groups, table.source, table.energy_source)
    whole = select(*by, *amounts).where(*rows, after, before)
    sums: dict[Group, ActivitySum] = {}
    for row in reader.rows(whole.group_by(*by)):
        group, (one, other, *found) = named(row[: len(groups)], wanted.by), row[len(groups) :]
        sums.setdefault(group, ActivitySum()).add((one, other), [*map(int, found)])
    columns = [table[name] for name in ActivityInterval.__struct_fields__]
    cut = select(*columns).where(*rows, ~(after & before))
    parts = (ActivityInterval(*row) for row in reader.rows(cut))
    add_activity(sums, parts, wanted.by, wanted.since, wanted.until)
    return sums


def supply_held(reader: Reader, since: int, until: int, cycle: int) -> Iterator[SupplyInterval]:
    """Closed supply of a period in ms, equal intervals of a flavor as one; nodes are left out.

    Raises:
        EnvironmentFault: the database does not answer.
    """
    table = supply.c
    place = (table.begin_ms, table.end_ms, table.flavor)
    sums = (func.sum(table.gpu_milli), func.sum(table.unavailable_milli))
    found = select(*place, *sums).where(*_within(supply, since, until), table.cycle <= cycle)
    for begin, end, flavor, there, shut in reader.rows(found.group_by(*place)):
        yield SupplyInterval(begin, end, "", flavor, int(there), int(shut))


def supply_sums(reader: Reader, since: int, until: int, cycle: int) -> dict[str, SupplySum]:
    """Closed supply of a period in ms, by flavor; only what cycles up to one closed.

    Raises:
        EnvironmentFault: the database does not answer.
    """
    table, lasted = supply.c, _overlap(supply, since, until)
    sums = (func.sum(table.gpu_milli * lasted), func.sum(table.unavailable_milli * lasted))
    found = select(table.flavor, *sums).where(*_within(supply, since, until))
    rows = reader.rows(found.where(table.cycle <= cycle).group_by(table.flavor))
    return {flavor: SupplySum(int(there), int(shut)) for flavor, there, shut in rows}


def named(values: Sequence[Any], by: Sequence[UsageBy]) -> Group:
    """A group as it is shown, with dates for days."""
    return tuple(
        date_of(value) if each is UsageBy.DAY else value
        for each, value in zip(by, values, strict=True)
    )


def _shared(begin: Any, end: Any, low: int, high: int) -> ColumnElement[int]:  # noqa: ANN401 - two expressions of SQL
    """How much of a span of a day lies in a part of it, in ms."""

    def passed(at: ColumnElement[int]) -> ColumnElement[int]:
        """The part of the day up to a time, or where it begins or ends."""
        cuts = [(at < low, low)] * (low > 0) + [(at > high, high)] * (high < DAY_MS)
        return case(*cuts, else_=at) if cuts else at

    return passed(end) - passed(begin)


def group_column(by: UsageBy, table: Table = usage) -> ColumnElement[Any]:
    """What rows of usage or activity are grouped by."""
    return table.c.begin_ms // DAY_MS if by is UsageBy.DAY else table.c[by.value]


def _overlap(table: Table, since: int, until: int) -> ColumnElement[int]:
    """How much of a row lies in a period, in ms."""
    begin, end = _clipped(table, since, until)
    return end - begin


def _clipped(table: Table, since: int, until: int) -> tuple[Case[int], Case[int]]:
    """Begin and end of the part of a row that lies in a period, in ms."""
    begin: Case[int] = case((table.c.begin_ms < since, since), else_=table.c.begin_ms)
    end: Case[int] = case((table.c.end_ms > until, until), else_=table.c.end_ms)
    return begin, end


def _within_days(since: int, until: int) -> tuple[ColumnElement[int], ColumnElement[int]]:
    """The same for rows of usage, which lie within one day: midnights cut none of them."""
    begin, end = _clipped(usage, since, until)
    return (
        begin if since % DAY_MS else usage.c.begin_ms,
        end if until % DAY_MS else usage.c.end_ms,
    )


def chosen(
    wanted: UsageWanted, since: int, until: int, table: Table = usage
) -> Iterator[ColumnElement[bool]]:
    """Which rows of usage or activity count in a period."""
    yield from _within(table, since, until)
    if since and not since % DAY_MS:
        yield table.c.begin_ms >= since
    yield table.c.cycle <= wanted.cycle
    if wanted.queues is not None:
        yield table.c.queue.in_(sorted(wanted.queues))
    if wanted.workloads is not None:
        yield table.c.workload.in_(sorted(wanted.workloads))


def _within(table: Table, since: int, until: int) -> tuple[ColumnElement[bool], ...]:
    begins = table.c.begin_ms < until
    return (table.c.end_ms >= since, begins) if since else (begins,)
