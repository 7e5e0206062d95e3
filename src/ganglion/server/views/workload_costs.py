"""What workloads have cost so far, and cost at most."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from ganglion.api.money.costs import WorkloadCost
from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.queues.budget_account import HOUR_MS
from ganglion.engine.search.cost_ahead import NO_LIMIT, NO_NODE, CostAhead, CostsAhead
from ganglion.engine.store.queue_rules import shapes_for
from ganglion.ledger.ledger import Ledger
from ganglion.ledger.metering import UsageWanted
from ganglion.lifecycle.cluster_gangs import DeliveredGang
from ganglion.lifecycle.expand import gang_count, gangs_of
from ganglion.metering.clusters import ClusterMeter
from ganglion.metering.intervals import UsageInterval
from ganglion.metering.rating import HOUR_GPU_US, Charge, rounded
from ganglion.metering.sums import UsageBy
from ganglion.metering.supply import MeteredNode
from ganglion.model.workload import Gang, Workload
from ganglion.pricing.book import PriceBook
from ganglion.server.state.transaction import Mind
from ganglion.server.views.costs import rated_period, usage_charges

BY = UsageBy.WORKLOAD, UsageBy.FLAVOR, UsageBy.KIND
ENDED = CostAhead()


class OpenCosts(Struct, frozen=True):
    """What is known of some workloads at one moment, between two turns.

    Attributes:
        workloads: their names in usage.
        usage: what they hold, as if it ended now.
        ahead: what those that live may still cost, by name.
        prices: every price that is known; None = none is set.
        since, until: begin and end of what counts, in ms.
        cycle: the last cycle that is written.
    """

    workloads: tuple[str, ...]
    usage: tuple[UsageInterval, ...] = ()
    ahead: dict[str, CostAhead] = {}
    prices: PriceBook | None = None
    since: int = 0
    until: int = 0
    cycle: int = 0


def opened_costs(mind: Mind, ledger: Ledger, workloads: Sequence[str], now: int) -> OpenCosts:
    """Note what some workloads hold, so that summing up need not hold the state still.

    Args:
        mind: the state.
        ledger: where what they held lies.
        workloads: their names in usage, which are their ids, but for those of clusters.
        now: the time in ms.
    """
    meter, records = mind.book.meter, mind.book.prices.records
    if not records or not workloads:
        return OpenCosts(())
    live = [each for each in workloads if each in mind.book.gangs]
    gangs = [gang for each in live for gang in mind.book.gangs[each]]
    begun = mind.book.metered_since()
    since = now if begun is None else begun
    costs, away = CostsAhead(mind.state, now), mind.book.cluster_meters
    return OpenCosts(
        tuple(workloads),
        (*meter.open_usage(now, gangs), *away.open_usage(now, workloads)),
        {each: _ahead(mind, costs, each) for each in live} | _away(mind, workloads, now),
        PriceBook(list(records)),
        since,
        max(now, meter.now, since),
        ledger.cycle,
    )


def _ahead(mind: Mind, costs: CostsAhead, workload: str) -> CostAhead:
    """What all gangs of a workload may still cost."""
    total = 0
    for gang in mind.book.gangs[workload]:
        found = costs.of(mind.state.gangs.records[gang])
        if found.unknown:
            return found
        total += found.exact
    return CostAhead(total)


def _away(mind: Mind, workloads: Sequence[str], now: int) -> dict[str, CostAhead]:
    """What those of clusters that live may still cost, by their names in usage."""
    found = dict[str, CostAhead]()
    for name in workloads:
        cluster, _, gang = name.partition(":")
        book = mind.book.clusters.of.get(cluster)
        if book and gang in book.gangs:
            found[name] = _away_ahead(mind, cluster, book.gangs[gang], now)
    return found


def away_reserved(mind: Mind, cluster: str, found: DeliveredGang, now: int) -> int:
    """What one of a cluster that holds a place will still cost at most, as exact money.

    Without a time limit an hour counts; what has no price costs nothing.
    """
    if not found.holds or not found.placement:
        return 0
    known = mind.book.cluster_meters.of.get(cluster, ClusterMeter())
    gang, worth = found.gang, 0
    for flavor, milli in known.held(found.placement).items():
        worth += milli * (mind.book.prices.highest(now, flavor, gang.kind.value) or 0)
    return worth * (_left_ms(found, now) if gang.time_limit_ms else HOUR_MS)


def _left_ms(found: DeliveredGang, now: int) -> int:
    """How long one of a cluster that holds a place may still run by its time limit."""
    return max((found.started or found.placed) + found.gang.time_limit_ms - now, 0)


def _away_ahead(mind: Mind, cluster: str, found: DeliveredGang, now: int) -> CostAhead:
    """What one of a cluster may still cost: where it is, or at the dearest place for it there."""
    gang, known = found.gang, mind.book.cluster_meters.of.get(cluster, ClusterMeter())
    if found.holds and found.placement:
        places, left = [known.held(found.placement)], _left_ms(found, now)
    else:
        places, left = _each_most(gang, known.meter.nodes.values()), gang.time_limit_ms
    total = 0
    for milli in places:
        if not milli:
            return NO_NODE
        worth = list[int]()
        for flavor, amount in milli.items():
            price = mind.book.prices.highest(now, flavor, gang.kind.value)
            if amount and price is None:
                return CostAhead(unknown=f"{flavor} has no price")
            worth.append(amount * (price or 0))
        total += sum(worth) if found.holds else max(worth)
    if any(map(any, (each.values() for each in places))) and not gang.time_limit_ms:
        return NO_LIMIT
    return CostAhead(total * left)


def _each_most(gang: Gang, nodes: Iterable[MeteredNode]) -> list[dict[str, int]]:
    """The most that each pod set with GPUs may hold, by flavor that it may get."""
    there, places = [each for each in nodes if not each.lost], list[dict[str, int]]()
    for each in gang.pod_sets:
        gpu, most = each.request.gpu, dict[str, int]()
        for node in there if gpu.count else ():
            if milli := each.count * gpu.count * node.most(gpu):
                most[node.flavor] = max(milli, most.get(node.flavor, 0))
        if gpu.count:
            places.append(most)
    return places


def costs_of(ledger: Ledger, found: OpenCosts) -> dict[str, WorkloadCost]:
    """What workloads cost, by their names in usage; empty where there are no prices.

    Raises:
        EnvironmentFault: the database does not answer.
    """
    if found.prices is None:
        return {}
    rated = rated_period(found.prices, found.since, found.until)
    wanted = UsageWanted(BY, found.since, found.until, found.cycle, workloads=found.workloads)
    sums = {each: Charge() for each in found.workloads}
    _, charges = usage_charges(ledger, found.usage, rated, wanted)
    for (workload, *_), charge in charges.items():
        sums[workload].plus(charge)
    unit = found.prices.currency
    return {name: _cost(each, found.ahead.get(name, ENDED), unit) for name, each in sums.items()}


def trial_cost(mind: Mind, workload: Workload, now: int) -> WorkloadCost | None:
    """What a workload that is submitted now costs at most; None = there are no prices."""
    prices = mind.book.prices
    if not prices.records:
        return None
    gang = gangs_of("trial-0", workload, now)[0]
    record = GangRecord(gang, shapes_for(mind.state, gang), None)
    each, count = CostsAhead(mind.state, now).of(record), gang_count(workload)
    return _cost(Charge(), CostAhead(each.exact * count, each.unknown), prices.currency)


def _cost(charge: Charge, ahead: CostAhead, currency: str) -> WorkloadCost:
    (so_far,) = rounded([charge.cost])
    # Up to a millionth: a limit that is passed is no limit.
    most = -(-(charge.cost + ahead.exact) // HOUR_GPU_US)
    return WorkloadCost(
        currency=currency,
        so_far_micro=so_far,
        most_micro=None if ahead.unknown else most,
        unknown=ahead.unknown,
        unpriced_gpu_us=charge.unpriced_gpu_us,
    )
