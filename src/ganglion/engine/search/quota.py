"""Which flavors a gang's queue may still use, and can afford."""

from collections.abc import Mapping

from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.queues.limits import Passed
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.model.placement import Placement
from ganglion.model.queue import ANY_FLAVOR
from ganglion.model.reasons import Reason
from ganglion.model.resources import Usage


def asked(record: GangRecord) -> Usage:
    """The least a gang starts with; a share given in memory counts when it is placed."""
    cpu = memory = 0
    for each in record.gang.pod_sets:
        request, pods = each.request, each.least
        cpu += request.cpu_milli * pods
        memory += request.memory_mib * pods
    return Usage(_asked_milli(record), cpu, memory)


def _asked_milli(record: GangRecord) -> int:
    """Thousandths of GPUs of that."""
    total = 0
    for each in record.gang.pod_sets:
        gpu = each.request.gpu
        if not gpu.share_mib:
            total += gpu.count * gpu.milli * each.least
    return total


def spent(state: ClusterState, record: GangRecord) -> tuple[Reason | None, dict[str, Reason]]:
    """Check quota and limits at the queue and everything above it.

    Returns:
        (reason, {}) when no flavor is left that the gang could use, else (None, the flavors
        that it must keep off, each with the reason).
    """
    governed = state.queues.shares.is_governed(record.gang.queue, record.gang.preemptible)
    if not governed and not state.queues.budgets.accounts:
        return None, {}
    poor = _over_budget(state, record)
    if poor[0] or not governed:
        return poor
    wanted = asked(record)
    whole = passed(state, record, ANY_FLAVOR, wanted)
    if whole:
        return whole.reason, {}
    refusals = {
        flavor: found.reason
        for flavor in state.fleet.totals.flavors()
        if (found := passed(state, record, flavor, wanted))
    }
    refusals |= poor[1]
    usable = state.fleet.totals.flavors_for(record.shapes) if refusals else ()
    if usable and all(flavor in refusals for flavor in usable):
        return refusals[usable[0]], {}
    return None, refusals


def means_of(state: ClusterState, record: GangRecord, off: Mapping[str, Reason]) -> "Means | None":
    """What judges placements of a gang; None = what was checked before the search is enough.

    Args:
        state: the fleet and the queues.
        record: the gang.
        off: flavors that it must keep off, as `spent` has found out.
    """
    if state.queues.shares.is_governed(record.gang.queue):
        return Means(state, record)
    if not state.queues.budgets.accounts:
        return None
    # A gang of fixed size that can afford every flavor can afford every place of whole GPUs.
    if off or state.fleet.parts.are_there():
        return Means(state, record)
    for each in record.gang.pod_sets:
        if each.min_count or each.request.gpu.share_mib:
            return Means(state, record)
    return None


def unaffordable(
    state: ClusterState, record: GangRecord, placement: Placement, used: Mapping[str, Usage]
) -> Reason | None:
    """The budget that a gang would pass at a place, where it uses that much; None = none."""
    gang, budgets = record.gang, state.queues.budgets
    if not budgets.accounts:
        return None
    path = state.queues.payers(gang)
    rates = state.holdings.costs.rates(record, placement, used.items())
    return budgets.refuses(path, rates, gang.time_limit_ms or 0, gang.id)


def unaffordable_at(state: ClusterState, record: GangRecord, placement: Placement) -> Reason | None:
    """The budget that a gang would pass at a place; None = none."""
    if not state.queues.budgets.accounts:
        return None
    return unaffordable(state, record, placement, state.holdings.usage_of(record, placement))


def _over_budget(
    state: ClusterState, record: GangRecord
) -> tuple[Reason | None, dict[str, Reason]]:
    """As `spent`, for budgets alone; that a gang fits in no flavor is said of the cheapest."""
    gang, budgets = record.gang, state.queues.budgets
    milli = _asked_milli(record) if budgets.accounts else 0
    if not milli:
        return None, {}
    usable = state.fleet.totals.flavors_for(record.shapes)
    path, limit = state.queues.payers(gang), gang.time_limit_ms or 0
    divided = state.fleet.parts.are_there()
    refusals: dict[str, Reason] = {}
    for flavor in usable:
        if divided:
            milli = _least_milli(state, record, flavor)
        reason = budgets.refuses(path, (((flavor, gang.kind), milli),), limit, gang.id)
        if reason:
            refusals[flavor] = reason
    if not usable or len(refusals) < len(usable):
        return None, refusals
    return min(refusals.values(), key=lambda each: each.evidence["asked_micro"]), {}


def _least_milli(state: ClusterState, record: GangRecord, flavor: str) -> int:
    """The least of a flavor that a gang starts with, as it is metered; no share given in memory."""
    total = 0
    for each, shape in zip(record.gang.pod_sets, record.shapes, strict=True):
        gpu = each.request.gpu
        if gpu.count and not gpu.share_mib:
            held = state.fleet.parts.of(shape)
            low, _ = held.get(flavor) or min(held.values(), default=(gpu.milli, 0))
            total += gpu.count * each.least * low
    return total


def passed(state: ClusterState, record: GangRecord, flavor: str, wanted: Usage) -> Passed | None:
    """The bound that a gang would pass with `wanted` of a flavor; None = it would pass none."""
    gang = record.gang
    return state.queues.shares.passed(
        gang.queue, flavor, wanted, gang.preemptible, state.fleet.totals.free_gpu, gang.user
    )


class Means:
    """Judges a placement by what it would really use.

    The check before the search knows the least a gang asks for; elastic pods and shares
    given in memory are known only once they have a place.

    Attributes:
        refusal: why the last placement was refused; None = none was.
    """

    def __init__(self, state: ClusterState, record: GangRecord) -> None:
        self._state, self._record = state, record
        self.refusal: Reason | None = None

    def allow(self, placement: Placement) -> bool:
        """Whether the queue and all above it may use that much."""
        state, record = self._state, self._record
        used = state.holdings.usage_of(record, placement)
        self.refusal = unaffordable(state, record, placement, used)
        if self.refusal:
            return False
        if not state.queues.shares.is_governed(record.gang.queue):
            return True
        total = Usage()
        for usage in used.values():
            total = total.plus(usage)
        for flavor, usage in ((ANY_FLAVOR, total), *used.items()):
            found = passed(state, record, flavor, usage)
            if found:
                self.refusal = found.reason
                return False
        return True
