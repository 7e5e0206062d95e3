"""What was used over a period: what is closed in the ledger, and what is open until now."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ganglion.api.use import FlavorUsage, UsageRow
from ganglion.ledger.ledger import Ledger
from ganglion.ledger.metering import UsageWanted, supply_sums, usage_sums
from ganglion.metering.intervals import SupplyInterval, UsageInterval
from ganglion.metering.sums import (
    Group,
    SupplySum,
    UsageBy,
    UsageSum,
    add_supply,
    add_usage,
)
from ganglion.server.state.transaction import Mind


class OpenIntervals(Struct, frozen=True):
    """What is open at one moment, between two turns.

    Attributes:
        usage, supply: as if they ended now.
        cycle: the last cycle that is written; what later ones close is in `usage` and `supply`.
        since: when metering began, in ms; None = it has not.
    """

    usage: tuple[UsageInterval, ...]
    supply: tuple[SupplyInterval, ...]
    cycle: int
    since: int | None


def opened(mind: Mind, ledger: Ledger, now: int) -> OpenIntervals:
    """Note what is open, so that summing up need not hold the state still."""
    meter = mind.book.meter
    usage, supply = tuple(meter.open_usage(now)), tuple(meter.open_supply(now))
    return OpenIntervals(usage, supply, ledger.cycle, meter.since)


class UsageReport(Struct, frozen=True):
    """Sums of a period.

    Attributes:
        rows: by group, sorted.
        total: of all of them.
        fleet: by flavor; None = it was not asked for.
    """

    rows: tuple[UsageRow, ...]
    total: UsageRow
    fleet: tuple[FlavorUsage, ...] | None


def usage_report(
    ledger: Ledger,
    found: OpenIntervals,
    by: Sequence[UsageBy],
    period: tuple[int, int],
    queues: Collection[str] | None,
    *,
    fleet: bool,
) -> UsageReport:
    """Sum up a period.

    Args:
        ledger: with the closed intervals.
        found: the open ones.
        by: what to group by.
        period: its begin and end, in ms.
        queues: leaf queues to count; None = all.
        fleet: whether to add what there was; only where all queues are counted.

    Raises:
        EnvironmentFault: the database does not answer.
    """
    since, until = period
    if found.since is None or since <= found.since:
        since = 0  # nothing is older: so databases need not look for it
    # With flavors, so that what is held of each is known without asking twice.
    fine = (*by, *(() if UsageBy.FLAVOR in by or not fleet else (UsageBy.FLAVOR,)))
    sums = usage_sums(ledger, UsageWanted(fine, since, until, found.cycle, queues))
    mine = (each for each in found.usage if queues is None or each.queue in queues)
    add_usage(sums, mine, fine, since, until)
    groups = _regrouped(sums, fine, by)
    every = _regrouped(sums, fine, ()).get((), UsageSum())
    rows = (_row(dict(zip(by, group, strict=True)), groups[group]) for group in sorted(groups))
    if not fleet:
        return UsageReport(tuple(rows), _row({}, every), None)
    held = _regrouped(sums, fine, (UsageBy.FLAVOR,))
    return UsageReport(
        tuple(rows), _row({}, every), tuple(_fleet(ledger, found, held, since, until))
    )


def _regrouped(
    sums: Mapping[Group, UsageSum], fine: Sequence[UsageBy], by: Sequence[UsageBy]
) -> dict[Group, UsageSum]:
    """Sums of coarser groups."""
    places = [fine.index(each) for each in by]
    made: dict[Group, UsageSum] = {}
    for group, each in sums.items():
        total = made.setdefault(tuple(group[place] for place in places), UsageSum())
        total.add(each.held_gpu_us, each.requested_gpu_us, each.attempts)
    return made


def _row(named: Mapping[UsageBy, str], found: UsageSum) -> UsageRow:
    row = UsageRow(
        held_gpu_us=found.held_gpu_us,
        requested_gpu_us=found.requested_gpu_us,
        attempts=found.attempts,
    )
    return replace(row, **{by.value: value for by, value in named.items()})


def _fleet(
    ledger: Ledger, found: OpenIntervals, held: Mapping[Group, UsageSum], since: int, until: int
) -> Iterable[FlavorUsage]:
    supply = supply_sums(ledger, since, until, found.cycle)
    add_supply(supply, found.supply, since, until)
    for flavor in sorted({*supply, *(name for (name,) in held)}):
        there = supply.get(flavor, SupplySum())
        used = held.get((flavor,), UsageSum()).held_gpu_us
        yield FlavorUsage(
            flavor,
            capacity_gpu_us=there.capacity_gpu_us,
            held_gpu_us=used,
            idle_gpu_us=there.capacity_gpu_us - used - there.unavailable_gpu_us,
            unavailable_gpu_us=there.unavailable_gpu_us,
        )
