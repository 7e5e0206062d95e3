"""A place for one pod: the best node of those that it prefers."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from msgspec.structs import replace

from ganglion.engine.placement.preferences import best_first, by_rank
from ganglion.engine.plugins.protocols import PodFilter
from ganglion.engine.topology.indexes import Indexes
from ganglion.engine.topology.node_state import ShapeView
from ganglion.engine.topology.pod_shape import Shape
from ganglion.engine.topology.savings import NONE, Savings
from ganglion.model.fleet.levels import Level
from ganglion.model.placement import Placement, PodPlacement


class PlacedPod(NamedTuple):
    """A pod that looks for a place.

    Attributes:
        name: of its pod set.
        shape: what it needs.
        siblings: ranks of nodes that it keeps away from, and from their racks, if it can.
        savings: what nodes save it.
    """

    name: str
    shape: Shape
    siblings: frozenset[int]
    savings: Savings = NONE


def places_of_pod(
    indexes: Indexes, pod: PlacedPod, turn: int, filtering: PodFilter | None
) -> Iterator[Placement]:
    """Places for one pod, the best of those that it prefers first.

    Args:
        indexes: the tree with its indexes.
        pod: the pod.
        turn: number of this decision, for scores that may not be cached.
        filtering: rules among pods that decide which nodes are open to it; None = none do.
    """
    if filtering and filtering.prefers:
        rank = _preferred(indexes, pod, filtering)
        if rank is not None:
            yield _rated(indexes, pod, indexes.table.sight(pod.shape), rank)
        return
    kept = by_rank(indexes.table, pod.shape)
    if not kept:
        single = _place(indexes, pod, turn, filtering)
        if single:
            yield single
        return
    places = {}
    for rank_of_node, shape in kept.items():
        found = _place(indexes, pod._replace(shape=shape), turn, filtering)
        if found:
            places[rank_of_node] = found
    for ranks in best_first(indexes.table, pod.shape, list(places)):
        wide = pod._replace(shape=replace(pod.shape, ranks=ranks))
        several = _place(indexes, wide, turn, filtering) if len(ranks) > 1 else None
        yield several or places[ranks[0]]


def _place(
    indexes: Indexes, pod: PlacedPod, turn: int, filtering: PodFilter | None
) -> Placement | None:
    tree, sight = indexes.tree, indexes.table.sight(pod.shape)
    allows = _opened(indexes, filtering, pod.name) if filtering else None
    if not indexes.rating.is_cacheable(sight):
        chosen = indexes.rating.rate_nodes(sight, tree.conditions, turn, allows)
        return chosen and _placed(indexes, pod, sight, *chosen)
    rank = _pick(indexes, pod, sight, allows)
    return None if rank is None else _rated(indexes, pod, sight, rank)


def _preferred(indexes: Indexes, pod: PlacedPod, filtering: PodFilter) -> int | None:
    """The node, by rank, that a pod prefers among those that are open to it."""
    tree, names = indexes.tree, indexes.tree.names
    there = indexes.picker(indexes.table.sight(pod.shape)).ranked(pod.savings)
    ranks: Iterator[int] = filter(_opened(indexes, filtering, pod.name), there)
    avoided = _avoided(indexes, pod)
    if avoided:
        ranks = iter(sorted(ranks, key=lambda rank: [rank in each for each in avoided]))
    found = next(filtering.order(pod.name, (names[rank] for rank in ranks)), None)
    return None if found is None else tree.index[found]


def _pick(
    indexes: Indexes, pod: PlacedPod, sight: ShapeView, allows: Callable[[int], bool] | None
) -> int | None:
    """Pods that spread keep away from their siblings' racks, then nodes; all else packs."""
    picker = indexes.picker(sight)
    for avoided in _avoided(indexes, pod) if pod.siblings else ():
        rank = picker.best_where(_outside(avoided, allows), pod.savings)
        if rank is not None:
            return rank
    return picker.best_where(allows, pod.savings) if allows else picker.best(pod.savings)


def _avoided(indexes: Indexes, pod: PlacedPod) -> list[frozenset[int]]:
    """Nodes that are better left to others, by rank: those in racks of siblings, theirs."""
    if not pod.siblings:
        return []
    tree = indexes.tree
    racks = {tree.parents[rank] for rank in pod.siblings} - {0}
    beside = {rank for rack in sorted(racks) for rank in tree.domains[rack].nodes}
    return [pod.siblings | beside, pod.siblings]


def _outside(
    avoided: frozenset[int], allows: Callable[[int], bool] | None
) -> Callable[[int], bool]:
    return lambda rank: rank not in avoided and (allows is None or allows(rank))


def _opened(indexes: Indexes, filtering: PodFilter, pod_set: str) -> Callable[[int], bool]:
    """Whether a node, by rank, is open to the next pod of a set."""
    names, allows = indexes.tree.names, filtering.opened(pod_set)
    return lambda rank: allows(names[rank])


def _rated(indexes: Indexes, pod: PlacedPod, sight: ShapeView, rank: int) -> Placement:
    devices = indexes.rating.way(sight, indexes.tree.conditions[rank])
    return _placed(indexes, pod, sight, rank, devices)


def _placed(
    indexes: Indexes, pod: PlacedPod, sight: ShapeView, rank: int, devices: tuple[int, ...]
) -> Placement:
    tree = indexes.tree
    milli = indexes.rating.milli(sight, tree.conditions[rank], devices)
    placed = PodPlacement(pod.name, 0, tree.names[rank], devices, milli)
    return Placement((placed,), Level.NODE, tree.names[rank])
