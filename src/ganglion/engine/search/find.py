"""A place that quota and plugins agree to, or the reason against any."""

from contextlib import AbstractContextManager

from ganglion.engine.gangs.record import SETTLED, GangRecord
from ganglion.engine.placement.held import savings_of
from ganglion.engine.placement.place import Demand, grows_outside_nodes, place
from ganglion.engine.plugins.protocols import PodByPod, PodFilter
from ganglion.engine.search.diagnose import diagnose
from ganglion.engine.search.quota import Means, means_of, spent
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.engine.state.effort import SEARCH
from ganglion.model.placement import Placement
from ganglion.model.queue import ANY_FLAVOR
from ganglion.model.reasons import Reason
from ganglion.model.workload import Gang

Found = tuple[Reason | None, Placement | None]
"""Either a reason to wait or a placement."""


def find(state: ClusterState, record: GangRecord, now: int, known: Reason | None = None) -> Found:
    """Look for a place for a gang as things stand; the state is left as it was.

    Args:
        state: the fleet and the queues.
        record: the gang; it need not be one of the state's own.
        now: the time in ms.
        known: an earlier reason to repeat when there still is no place; None = find out anew.
    """
    state.agenda.effort.spend(SEARCH)
    crowded = state.gangs.gates.crowded(record.gang)
    if crowded:
        return crowded, None
    reason, off = spent(state, record)
    if reason:
        return reason, None
    means = means_of(state, record, off)
    siblings, small = _siblings(state, record.gang), _starts_small(state, record.gang)
    gang = record.gang
    savings = savings_of(state.fleet.indexes, gang, state.config.policy.fetch_per_second_mib)
    demand = Demand(gang, record.shapes, tuple(sorted(off)), siblings, small=small, savings=savings)
    # For one pod the search itself is as fast.
    short = not demand.single and is_short(state, record)
    found = None if short else _placed(state, record, demand, means, now)
    return found or ((means and means.refusal) or known or _missed(state, record, off), None)


def is_short(state: ClusterState, record: GangRecord) -> bool:
    """Whether fewer GPUs are free in all than the first set that needs some asks for."""
    for each in record.gang.pod_sets:
        gpu = each.request.gpu
        if gpu.count:
            least = 0 if gpu.share_mib else each.least * gpu.count * gpu.milli
            return least > state.fleet.totals.free_for(record.shapes)
    return False


def _placed(
    state: ClusterState, record: GangRecord, demand: Demand, means: Means | None, now: int
) -> Found | None:
    """A place that Permit plugins agree to, or what the first has against it; None = no place.

    Rules among pods are asked pod by pod where a place regardless of them would not do.
    """
    gang, plugin = record.gang, _pod_by_pod(state)

    def search(rules: PodFilter | None = None) -> Placement | None:
        return place(
            state.fleet.indexes,
            demand,
            state.config.policy.tries,
            state.progress.turn,
            means,
            rules,
        )

    def by_rules(context: AbstractContextManager[PodFilter] | None) -> Placement | None:
        if context is None:
            return None
        with context as rules:
            found = search(rules)
        return None if found and _refused(state, gang, found, now) else found

    preferred = by_rules(plugin.preferring(gang)) if plugin else None
    if preferred:
        return None, preferred
    filtering = plugin.filtering(gang) if plugin else None
    single = by_rules(filtering) if demand.single else None
    if single:
        return None, single
    found = search()
    refused = _refused(state, gang, found, now) if found else None
    other = by_rules(filtering) if refused and not demand.single else None
    if other:
        return None, other
    if found is None:
        return None
    return (refused, None) if refused else (None, found)


def _pod_by_pod(state: ClusterState) -> PodByPod | None:
    return next((each for each in state.config.plugins.permits if isinstance(each, PodByPod)), None)


def _missed(state: ClusterState, record: GangRecord, off: dict[str, Reason]) -> Reason:
    """Why there is no place: quota, when the flavors that are off would have had one."""
    wider = Demand(record.gang, record.shapes)
    beyond = (
        place(state.fleet.indexes, wider, state.config.policy.tries, state.progress.turn)
        if off
        else None
    )
    for flavor in state.holdings.usage_of(record, beyond) if beyond else ():
        if flavor in off:
            return off[flavor]
    return diagnose(state, wider)


def _starts_small(state: ClusterState, gang: Gang) -> bool:
    """Whether a gang gets its least at first, as there is not enough for all that wait."""
    if not any(each.min_count for each in gang.pod_sets):
        return False
    if not state.config.policy.elastic or not grows_outside_nodes(gang):
        return False
    waiting = sum(sum(asked.values()) for asked in state.gangs.lanes.demand.values())
    return waiting > state.fleet.totals.free_gpu(ANY_FLAVOR)


def _siblings(state: ClusterState, gang: Gang) -> frozenset[int]:
    """Ranks of the nodes that a gang keeps away from, as its siblings hold places there."""
    if not gang.spreads:
        return frozenset()
    siblings = (state.gangs.records[each] for each in state.gangs.gates.siblings(gang.workload))
    counted = (
        each.promise or (each.placement if each.phase in SETTLED else None) for each in siblings
    )
    return frozenset(
        state.fleet.tree.index[pod.node] for place in counted if place for pod in place.pods
    )


def _refused(state: ClusterState, gang: Gang, placement: Placement, now: int) -> Reason | None:
    """Ask the Permit plugins; the first reason against the start."""
    for plugin in state.config.plugins.permits:
        reason = plugin.permit(gang, placement, now)
        if reason:
            state.agenda.vetoes += 1
            return reason
    return None
