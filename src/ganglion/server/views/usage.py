"""What was used over a period: what is closed in the ledger, and what is open until now."""

from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from ganglion.api.money.usage import CorrectionView, FlavorUsage, LentRow, UsageRow
from ganglion.api.use import ReportSpan, UtilisationRow
from ganglion.ledger.intervals import lent_between
from ganglion.ledger.ledger import Ledger
from ganglion.ledger.metering import UsageWanted, activity_sums, supply_sums, usage_sums
from ganglion.ledger.reader import Reader
from ganglion.metering.activity import ActivityInterval
from ganglion.metering.intervals import SupplyInterval, UsageInterval
from ganglion.metering.lending import LentInterval
from ganglion.metering.rating import HOUR_GPU_US, Charge, rounded
from ganglion.metering.sums import (
    ActivitySum,
    Group,
    LostSum,
    SupplySum,
    UsageBy,
    UsageSum,
    add_activity,
    add_supply,
    add_usage,
)
from ganglion.pricing.book import PriceBook
from ganglion.server.state.transaction import Mind
from ganglion.server.views.costs import (
    SupplyCharge,
    corrections,
    flavor_money,
    idle_shares,
    rated_period,
    steady,
    supply_charges,
    usage_charges,
)
from ganglion.server.views.past.losses import Losses, losses

AnyRow = TypeVar("AnyRow", UsageRow, UtilisationRow)
LosingRow = TypeVar("LosingRow", UsageRow, UtilisationRow, ReportSpan)
Unwritten = Callable[[int], tuple[ActivityInterval, ...]]


class OpenIntervals(Struct, frozen=True):
    """What is open at one moment, between two turns.

    Attributes:
        usage, supply: as if they ended now.
        activity: what the ledger does not have up to `cycle`.
        lent: what queues lent and borrowed, likewise.
        tree: every queue -> what is above it.
        cycle: the last cycle that is written; what later ones close is in `usage` and `supply`.
        since: when metering began, in ms; None = it has not.
        prices: every price that is known.
        lost_since: since when lost work is metered, in ms; None = it is not.
        guessed: flavors with devices that count as whole GPUs, as their part of one is unknown.
    """

    usage: tuple[UsageInterval, ...]
    supply: tuple[SupplyInterval, ...]
    cycle: int
    since: int | None
    prices: PriceBook
    activity: tuple[ActivityInterval, ...] = ()
    lent: tuple[LentInterval, ...] = ()
    tree: Mapping[str, str] = MappingProxyType({})
    guessed: tuple[str, ...] = ()
    lost_since: int | None = None

    @property
    def lost_after(self) -> int | None:
        """The same, but 0 where nothing that is metered is older."""
        lost, first = self.lost_since, self.since
        return 0 if lost is not None and first is not None and lost <= first else lost


def opened(
    mind: Mind, ledger: Ledger, now: int, unwritten: Unwritten = lambda _cycle: ()
) -> OpenIntervals:
    """Note what is open, so that summing up need not hold the state still.

    Args:
        mind: the state.
        ledger: with what is closed.
        now: the time in ms.
        unwritten: gives what the ledger does not have, up to a cycle, of what GPUs did.
    """
    book = mind.book
    usage, supply = tuple(book.open_usage(now)), tuple(book.open_supply(now))
    prices = PriceBook(list(book.prices.records))
    active, lent = unwritten(ledger.cycle), tuple(book.lending.open(now))
    since, tree = book.metered_since(), mind.tree()
    known = (usage, supply, ledger.cycle, since, prices, active, lent, tree)
    return OpenIntervals(*known, book.cluster_meters.guessed(), book.meter.losses_since)


class UsageReport(Struct, frozen=True):
    """Sums of a period.

    Attributes:
        rows: by group, sorted.
        total: of all of them.
        fleet: by flavor; None = it was not asked for.
        corrections: by prices that were set after the time they are about.
    """

    rows: tuple[UsageRow, ...]
    total: UsageRow
    fleet: tuple[FlavorUsage, ...] | None
    corrections: tuple[CorrectionView, ...] = ()


def usage_report(
    ledger: Reader,
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
    rates = (UsageBy.FLAVOR, UsageBy.KIND) if found.prices.names_kinds else (UsageBy.FLAVOR,)
    fine = tuple(dict.fromkeys((*by, *rates)))
    mine = [each for each in found.usage if queues is None or each.queue in queues]
    wanted = UsageWanted(fine, since, until, found.cycle, queues)
    rated = None
    if found.prices.records and found.since is not None:
        rated = rated_period(found.prices, max(since, found.since), until)
    charges, supply = dict[Group, Charge](), dict[str, SupplyCharge]()
    if rated is None or len(rated.table.spans) == 1:
        sums = usage_sums(ledger, wanted)
        add_usage(sums, mine, fine, since, until)
        charges = steady(rated, sums, fine) if rated else {}
    else:
        sums, charges = usage_charges(ledger, mine, rated, wanted)
    if rated and fleet:
        supply = supply_charges(ledger, found.supply, rated, found.cycle)
    flavor = (UsageBy.FLAVOR,)
    used, charged = _coarser(sums, fine, flavor), _coarser(charges, fine, flavor)
    shown = _flavors(ledger, found, used, (since, until)) if fleet else None
    if shown is not None:
        shown = [
            flavor_money(each, supply[each.flavor], charged.get((each.flavor,), Charge()))
            if each.flavor in supply
            else each
            for each in shown
        ]
    idle = {
        each.flavor: each.idle_micro * HOUR_GPU_US for each in shown or () if each.idle_micro > 0
    }
    shares = idle_shares(
        {group: each.held_gpu_us for group, each in sums.items()},
        fine.index(UsageBy.FLAVOR),
        idle,
    )
    done = activity_sums(ledger, wanted)
    unwritten = [each for each in found.activity if queues is None or each.queue in queues]
    add_activity(done, unwritten, fine, since, until)
    thrown = losses(ledger, wanted, found.lost_after, done, unwritten)
    rows = _rows(
        by,
        _coarser(sums, fine, by),
        _coarser(charges, fine, by),
        _amounts(shares, fine, by),
        _coarser(done, fine, by),
        None if thrown is None else _coarser(thrown, fine, by),
    )
    every = _coarser(charged, flavor, ())
    idle_all: dict[Group, int] = {(): sum(shares.values())}
    all_together = _rows(
        (),
        _coarser(used, flavor, ()),
        every,
        idle_all,
        _coarser(done, fine, ()),
        None if thrown is None else _coarser(thrown, fine, ()),
    )
    (total,) = all_together or (UsageRow(),)
    return UsageReport(
        tuple(rows),
        total,
        None if shown is None else tuple(shown),
        corrections(found.prices, every.get((), Charge())),
    )


def lent_rows(
    ledger: Reader,
    found: OpenIntervals,
    period: tuple[int, int],
    queues: Collection[str] | None,
) -> tuple[LentRow, ...]:
    """What queues lent and borrowed in a period, by name; arguments are as of `usage_report`."""
    rows: dict[str, LentRow] = {}
    for each in (*lent_between(ledger, period, found.cycle), *found.lent):
        lent, borrowed = each.within(*period)
        if (lent or borrowed) and (queues is None or each.queue in queues):
            parent = found.tree.get(each.queue, "")
            row = rows.setdefault(each.queue, LentRow(each.queue, parent))
            row.lent_gpu_us += lent
            row.borrowed_gpu_us += borrowed
    return tuple(rows[name] for name in sorted(rows))


def _rows(
    by: Sequence[UsageBy],
    sums: Mapping[Group, UsageSum],
    charges: Mapping[Group, Charge],
    idle: Mapping[Group, int],
    activity: Mapping[Group, ActivitySum],
    thrown: Losses | None,
) -> list[UsageRow]:
    """One row per group, sorted, whose money adds up to that of all of them."""
    names, nothing, unknown = sorted(sums), Charge(), ActivitySum()
    of = [charges.get(group, nothing) for group in names]
    money = zip(
        rounded(each.cost for each in of),
        rounded(each.standard for each in of),
        rounded(each.corrected for each in of),
        rounded(idle.get(group, 0) for group in names),
        strict=True,
    )
    keys, made = [each.value for each in by], list[UsageRow]()
    for group, charge, (cost, listed, corrected, idle_micro) in zip(names, of, money, strict=True):
        found, done = sums[group], activity.get(group, unknown)
        row = UsageRow(
            held_gpu_us=found.held_gpu_us,
            requested_gpu_us=found.requested_gpu_us,
            attempts=found.attempts,
            cost_micro=cost,
            list_micro=listed,
            corrected_micro=corrected,
            idle_micro=idle_micro,
            unpriced_gpu_us=charge.unpriced_gpu_us,
        )
        for key, name in zip(keys, group, strict=True):
            setattr(row, key, name)
        row = row if done is unknown else with_activity(row, done)
        made.append(row if thrown is None else with_losses(row, thrown.get(group, LostSum())))
    return made


def with_activity(row: AnyRow, done: ActivitySum) -> AnyRow:
    """A row that says what GPUs did; what nothing said is unknown."""
    return replace(
        row,
        active_gpu_us=done.active_gpu_us if done.sampled_gpu_us else None,
        sampled_gpu_us=done.sampled_gpu_us,
        active_by="+".join(sorted(done.sources)),
        energy_mj=done.energy_mj if done.energy_gpu_us else None,
        energy_gpu_us=done.energy_gpu_us,
        energy_by="+".join(sorted(filter(None, done.energy_sources))),
    )


def with_losses(row: LosingRow, lost: LostSum) -> LosingRow:
    """A row that says what became of the work; where nothing was sampled, none is useful or not."""
    useful = lost.useful_gpu_us if lost.sampled_gpu_us else None
    return replace(row, lost_gpu_us=lost.lost_gpu_us, useful_gpu_us=useful)


Sum = TypeVar("Sum", UsageSum, Charge, ActivitySum, LostSum)


def _coarser(
    sums: Mapping[Group, Sum], fine: Sequence[UsageBy], by: Sequence[UsageBy]
) -> dict[Group, Sum]:
    """Sums of coarser groups; that of one group alone is the same object."""
    key, made, alone = _key(fine, by), dict[Group, Sum](), dict[Group, None]()
    for group, each in sums.items():
        coarse = key(group)
        known = made.get(coarse)
        if known is None:
            made[coarse], alone[coarse] = each, None
            continue
        if coarse in alone:
            del alone[coarse]
            total = type(each)()
            total.plus(known)
            made[coarse] = known = total
        known.plus(each)
    return made


def _amounts(
    amounts: Mapping[Group, int], fine: Sequence[UsageBy], by: Sequence[UsageBy]
) -> dict[Group, int]:
    """The same for numbers."""
    key, made = _key(fine, by), dict[Group, int]()
    for group, amount in amounts.items():
        coarse = key(group)
        made[coarse] = made.get(coarse, 0) + amount
    return made


def _key(fine: Sequence[UsageBy], by: Sequence[UsageBy]) -> Callable[[Group], Group]:
    """How a group is named among coarser ones."""
    places = [fine.index(each) for each in by]
    if places == [*range(len(by))]:
        return lambda group: group[: len(places)]
    return lambda group: tuple([group[place] for place in places])


def _flavors(
    ledger: Reader,
    found: OpenIntervals,
    held: Mapping[Group, UsageSum],
    period: tuple[int, int],
) -> list[FlavorUsage]:
    since, until = period
    supply = supply_sums(ledger, since, until, found.cycle)
    add_supply(supply, found.supply, since, until)
    made = list[FlavorUsage]()
    for flavor in sorted({*supply, *(name for (name,) in held)}):
        there = supply.get(flavor, SupplySum())
        used = held.get((flavor,), UsageSum()).held_gpu_us
        made.append(
            FlavorUsage(
                flavor,
                capacity_gpu_us=there.capacity_gpu_us,
                held_gpu_us=used,
                idle_gpu_us=there.capacity_gpu_us - used - there.unavailable_gpu_us,
                unavailable_gpu_us=there.unavailable_gpu_us,
            )
        )
    return made
