"""What usage over a period costs: closed intervals summed up by the ledger, open ones until now."""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from ganglion.api.money.usage import CorrectionView, FlavorUsage
from ganglion.ledger.metering import UsageWanted, held_by_part, supply_held
from ganglion.ledger.reader import Reader
from ganglion.metering.day_runs import day_runs, days_of
from ganglion.metering.intervals import SupplyInterval, UsageInterval, by_day
from ganglion.metering.rating import (
    Charge,
    HeldIn,
    Rates,
    divided,
    held_in,
    rounded,
    supply_charge,
)
from ganglion.metering.sums import Group, UsageBy, UsageSum, add_usage, group_of, overlap_ms
from ganglion.pricing.book import ALL_KINDS, PriceBook, PriceTable

Interval = TypeVar("Interval", UsageInterval, SupplyInterval)


class RatedPeriod(Struct):
    """A period with its prices.

    Attributes:
        book: all prices.
        since, until: the period, in ms.
        table: its prices, by time.
    """

    book: PriceBook
    since: int
    until: int
    table: PriceTable


def rated_period(book: PriceBook, since: int, until: int) -> RatedPeriod:
    """Make a period ready; cut out of whole days, as the ledger sums them up."""
    return RatedPeriod(book, since, until, PriceTable(book, *days_of(since, max(since, until))))


def steady(
    rated: RatedPeriod, sums: Mapping[Group, UsageSum], by: Sequence[UsageBy]
) -> dict[Group, Charge]:
    """What was held costs, where no price changes in the period.

    Args:
        rated: the period.
        sums: what was held in it, by group.
        by: what it is grouped by; flavor is among it, and kind where prices name kinds.
    """
    state, rates = rated.table.spans[0].state, Rates(rated.book)
    return _charged(rates, {group: {state: each.held_gpu_us} for group, each in sums.items()}, by)


def _charged(
    rates: Rates, held: Mapping[Group, HeldIn], by: Sequence[UsageBy]
) -> dict[Group, Charge]:
    flavor = by.index(UsageBy.FLAVOR)
    if UsageBy.KIND not in by:
        return {g: rates.charged(each, g[flavor], ALL_KINDS) for g, each in held.items()}
    kind = by.index(UsageBy.KIND)
    return {group: rates.charged(each, group[flavor], group[kind]) for group, each in held.items()}


def usage_charges(
    ledger: Reader,
    open_usage: Sequence[UsageInterval],
    rated: RatedPeriod,
    wanted: UsageWanted,
) -> tuple[dict[Group, UsageSum], dict[Group, Charge]]:
    """What was held in a period, and what it costs, by group.

    Args:
        ledger: with the closed intervals.
        open_usage: the open ones, of those that are wanted.
        rated: the period.
        wanted: the same period; flavor is among what to group by, and kind where prices name kinds.

    Raises:
        EnvironmentFault: the database does not answer.
    """
    sums: dict[Group, UsageSum] = {}
    held: dict[Group, HeldIn] = {}
    by = wanted.by
    for run in day_runs(rated.table):
        for group, each, parts in held_by_part(ledger, wanted, run):
            if group not in sums:
                sums[group], held[group] = each, parts
                continue
            sums[group].add(each.held_gpu_us, each.requested_gpu_us, each.attempts)
            into = held[group]
            for state, gpu_us in parts.items():
                into[state] = into.get(state, 0) + gpu_us
    add_usage(sums, open_usage, by, rated.since, rated.until)
    for interval in chain.from_iterable(map(by_day, open_usage)):
        clipped = _clipped(interval, rated)
        if clipped:
            into = held.setdefault(group_of(clipped, by), {})
            held_in(rated.table, clipped, clipped.held_milli, into)
    return sums, _charged(Rates(rated.book), held, by)


def _clipped(interval: Interval, rated: RatedPeriod) -> Interval | None:
    """The part of an interval that lies in the period; None = there is none."""
    if not overlap_ms(interval, rated.since, rated.until):
        return None
    begin = max(interval.begin_ms, rated.since)
    return replace(interval, begin_ms=begin, end_ms=min(interval.end_ms, rated.until))


class SupplyCharge(Struct):
    """What GPUs of a flavor cost, as exact money."""

    capacity: int = 0
    unavailable: int = 0


def supply_charges(
    ledger: Reader, open_supply: Sequence[SupplyInterval], rated: RatedPeriod, cycle: int
) -> dict[str, SupplyCharge]:
    """What all GPUs of a period cost, by flavor.

    Raises:
        EnvironmentFault: the database does not answer.
    """
    there: dict[str, tuple[HeldIn, HeldIn]] = {}
    closed = supply_held(ledger, rated.since, rated.until, cycle)
    for each in chain(closed, open_supply):
        clipped = _clipped(each, rated)
        if clipped:
            capacity, unavailable = there.setdefault(clipped.flavor, ({}, {}))
            held_in(rated.table, clipped, clipped.gpu_milli, capacity)
            held_in(rated.table, clipped, clipped.unavailable_milli, unavailable)
    return {
        flavor: SupplyCharge(*(supply_charge(rated.book, each, flavor) for each in both))
        for flavor, both in there.items()
    }


def flavor_money(found: FlavorUsage, supply: SupplyCharge, held: Charge) -> FlavorUsage:
    """Add what all GPUs of a flavor cost; the figures add up to that of the capacity."""
    idle = supply.capacity - supply.unavailable - held.standard
    parts = (held.cost, held.standard - held.cost, idle, supply.unavailable)
    charged_micro, discount, idle_micro, unavailable = rounded(parts)
    return replace(
        found,
        capacity_micro=charged_micro + discount + idle_micro + unavailable,
        charged_micro=charged_micro,
        discount_micro=discount,
        idle_micro=idle_micro,
        unavailable_micro=unavailable,
        unpriced_gpu_us=held.unpriced_gpu_us,
    )


def idle_shares(
    held: Mapping[Group, int], flavor: int, idle: Mapping[str, int]
) -> dict[Group, int]:
    """What idle GPUs cost, shared out to those that held GPUs of the same flavor.

    Args:
        held: GPU-microseconds by group.
        flavor: where in a group the flavor stands.
        idle: what idle GPUs of a flavor cost, as exact money.
    """
    made: dict[Group, int] = {}
    for name, cost in idle.items():
        groups = [group for group in held if group[flavor] == name]
        parts = divided(cost, (held[group] for group in groups))
        made |= dict(zip(groups, parts, strict=True))
    return made


def corrections(book: PriceBook, every: Charge) -> tuple[CorrectionView, ...]:
    """What prices that were set afterwards changed, oldest first."""
    numbers = sorted(every.corrections)
    changes = rounded(every.corrections[number] for number in numbers)
    return tuple(
        CorrectionView(
            number + 1, book.records[number].at, book.records[number].price.flavor, change
        )
        for number, change in zip(numbers, changes, strict=True)
    )
