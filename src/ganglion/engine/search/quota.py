"""Which flavors a gang's queue may still use, and can afford."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.queues.budget_account import Rates, rates_in
from ganglion.engine.queues.limits import Passed
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.engine.topology.pod_shape import Shape
from ganglion.model.placement import Placement
from ganglion.model.queue import ANY_FLAVOR
from ganglion.model.reasons import Reason
from ganglion.model.resources import Usage
from ganglion.model.workload import PodSet


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
    sets = _sets_with_gpus(state, record) if len(record.gang.pod_sets) > 1 else ()
    refusals = dict[str, Reason]()
    for flavor in state.fleet.totals.flavors():
        least = _least_of(sets, flavor) if len(sets) > 1 else wanted
        found = None if least is None else passed(state, record, flavor, least)
        if found:
            refusals[flavor] = found.reason
    refusals |= poor[1]
    usable = state.fleet.totals.flavors_for(record.shapes) if refusals else ()
    for flavors in (usable, *(each.flavors for each in sets if refusals)):
        if flavors and all(flavor in refusals for flavor in flavors):
            return refusals[flavors[0]], {}
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
    # A gang of one set of fixed size that can afford every flavor can afford every place of
    # whole GPUs.
    if off or state.fleet.parts.are_there() or len(record.gang.pod_sets) > 1:
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
    if len(gang.pod_sets) == 1:
        return _over_budget_of_one(state, record, usable, milli)
    path, limit = state.queues.payers(gang), gang.time_limit_ms or 0
    sets = _sets_with_gpus(state, record)
    refusals: dict[str, Reason] = {}
    for flavor in usable:
        found = [
            budgets.refuses(path, rates, limit, gang.id)
            for rates in _cheapest_with(state, record, sets, flavor)
        ]
        reasons = [each for each in found if each]
        if found and len(reasons) == len(found):
            refusals[flavor] = min(reasons, key=_asked_micro)
    for each in sets:  # one that gets no flavor at all keeps the gang from starting
        if each.flavors and all(flavor in refusals for flavor in each.flavors):
            return min((refusals[flavor] for flavor in each.flavors), key=_asked_micro), {}
    return None, refusals


def _over_budget_of_one(
    state: ClusterState, record: GangRecord, usable: Sequence[str], milli: int
) -> tuple[Reason | None, dict[str, Reason]]:
    """As `_over_budget`, for a gang of one pod set: most are, and there is no mix to weigh."""
    gang, refusals = record.gang, dict[str, Reason]()
    path, limit = state.queues.payers(gang), gang.time_limit_ms or 0
    divided, refuses = state.fleet.parts.are_there(), state.queues.budgets.refuses
    for flavor in usable:
        if divided:
            one = _GpuSet(gang.pod_sets[0], record.shapes[0], ())
            milli = 0 if one.pods.request.gpu.share_mib else _least_milli(state, one, flavor)
        reason = refuses(path, (((flavor, gang.kind), milli),), limit, gang.id)
        if reason:
            refusals[flavor] = reason
    if not usable or len(refusals) < len(usable):
        return None, refusals
    return min(refusals.values(), key=_asked_micro), {}


def _asked_micro(reason: Reason) -> int:
    return reason.evidence["asked_micro"]


class _GpuSet(NamedTuple):
    """A pod set with GPUs.

    Attributes:
        pods: the set.
        shape: of its pods.
        flavors: those that it may get.
    """

    pods: PodSet
    shape: Shape
    flavors: tuple[str, ...]


def _sets_with_gpus(state: ClusterState, record: GangRecord) -> list[_GpuSet]:
    """The pod sets of a gang that have GPUs; those whose share is given in memory are left out."""
    totals = state.fleet.totals
    return [
        _GpuSet(each, shape, totals.flavors_for((shape,)))
        for each, shape in zip(record.gang.pod_sets, record.shapes, strict=True)
        if each.request.gpu.count and not each.request.gpu.share_mib
    ]


def _of_flavor(sets: Sequence[_GpuSet], flavor: str) -> list[list[int]]:
    """The ways in which as few sets as possible are of a flavor: indexes of these sets.

    Those that may get no other one are; where there is none, one of those that may get it is.
    """
    only = [index for index, each in enumerate(sets) if each.flavors == (flavor,)]
    return [only] if only else [[i] for i, each in enumerate(sets) if flavor in each.flavors]


def _least_of(sets: Sequence[_GpuSet], flavor: str) -> Usage | None:
    """The least that a gang of several sets uses of a flavor, if it uses some; None = it cannot."""
    sums = list[Usage]()
    for way in _of_flavor(sets, flavor):
        total = Usage()
        for each in map(sets.__getitem__, way):
            request, pods = each.pods.request, each.pods.least
            gpu = request.gpu.count * request.gpu.milli
            total = total.plus(
                Usage(gpu * pods, request.cpu_milli * pods, request.memory_mib * pods)
            )
        sums.append(total)
    return min(sums, key=lambda each: each.gpu_milli, default=None)


def _cheapest_with(
    state: ClusterState, record: GangRecord, sets: Sequence[_GpuSet], flavor: str
) -> Iterator[Rates]:
    """What a gang holds at least where it uses a flavor: its other sets get their cheapest one."""
    if not all(each.flavors for each in sets):
        return  # the search finds out why such a set gets no place
    kind, worth = record.gang.kind, state.queues.budgets.worth

    def milli(each: _GpuSet, name: str) -> int:
        return _least_milli(state, each, name)

    def cheapest(each: _GpuSet) -> str:
        return min(each.flavors, key=lambda name: worth((((name, kind), milli(each, name)),)))

    for way in _of_flavor(sets, flavor):
        held = Counter[str]()
        for index, each in enumerate(sets):
            name = flavor if index in way else cheapest(each)
            held[name] += milli(each, name)
        yield rates_in(kind, held)


def _least_milli(state: ClusterState, each: _GpuSet, flavor: str) -> int:
    """The least of a flavor that a set starts with, as it is metered."""
    gpu, low, parts = each.pods.request.gpu, each.pods.request.gpu.milli, state.fleet.parts
    if parts.are_there():
        held = parts.of(each.shape)
        low, _ = held.get(flavor) or min(held.values(), default=(gpu.milli, 0))
    return gpu.count * each.pods.least * low


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
