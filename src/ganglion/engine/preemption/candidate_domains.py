"""Where room might be made for a gang: nodes and domains, the emptiest first."""

from collections.abc import Container, Iterator, Sequence
from heapq import nlargest
from typing import NamedTuple

from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.placement.place import Demand, levels_for, required_level, rules_of, unit_of
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.engine.topology.capacity_index import PlaceRules
from ganglion.engine.topology.node_state import ShapeView
from ganglion.engine.topology.pod_shape import Shape, times
from ganglion.model.fleet.levels import DEPTH, Level

NODES = 64
"""Nodes looked at beyond those that the gang needs, the emptiest first."""


class CandidateDomain(NamedTuple):
    """Where a gang might be made to fit.

    Attributes:
        ranks: nodes looked at.
        sight: the shape to make room for.
        slots: how many of it are wanted.
        free: most thousandths of GPUs that the gang could find free there already.
    """

    ranks: Sequence[int]
    sight: ShapeView
    slots: int
    free: int


def grounds_of(
    state: ClusterState, asker: GangRecord, nodes: Container[int] | None = None
) -> Iterator[CandidateDomain]:
    """One node, then domains from narrow to wide.

    Args:
        state: the fleet.
        asker: the gang.
        nodes: ranks of the nodes on which it may lie; None = all.
    """
    demand = Demand(asker.gang, asker.shapes)
    widest = max(demand.sets, key=lambda each: each.request.gpu.count * each.least)
    shape = demand.shapes[demand.sets.index(widest)]
    sight, total = state.fleet.table.sight(shape), sum(each.least for each in demand.sets)
    levels = levels_for(state.fleet.indexes, asker.gang)
    free = _free(state)
    if Level.NODE in levels or required_level(asker.gang) or total == 1:
        whole = shape if total == 1 else times(shape, total, None)
        rooms = state.fleet.empty().fits(whole, PlaceRules()).rooms
        ranks = [rank for rank, room in enumerate(rooms) if room and _is_among(rank, nodes)]
        yield _ground(ranks, state.fleet.table.sight(whole), 1, 1, free)
    if total == 1:
        return
    rules = rules_of(asker.gang, widest, False, widest.least)
    unit = shape if not rules.inner else times(shape, rules.inner[1], rules.inner[0])
    bare = state.fleet.empty().fits(unit, rules)
    for level in (each for each in levels if DEPTH[each] < DEPTH[Level.NODE]):
        domains = [state.fleet.tree.ranks_in(each) for each in bare.domains(level, widest.least)]
        if nodes is not None:
            domains = [[rank for rank in each if rank in nodes] for each in domains]
            domains = [ranks for ranks in domains if ranks]
        domains.sort(key=lambda ranks: (-sum(free[rank] for rank in ranks), ranks[0]))
        for ranks in domains[: state.config.policy.evict.tries]:
            yield _ground(ranks, sight, widest.least, total, free)


def domains_of(
    state: ClusterState, asker: GangRecord, demand: Demand, levels: Sequence[Level]
) -> Iterator[tuple[Shape, int, Sequence[int], int]]:
    """Domains in which gangs might be stopped for one of many pods, narrow ones first.

    Args:
        state: the fleet.
        asker: the gang.
        demand: what it asks for.
        levels: at which it may lie, narrow ones first.

    Yields:
        The shape to make room for, the domain, the ranks of its nodes, and how many of the shape
        are wanted.
    """
    widest = max(demand.sets, key=lambda each: each.request.gpu.count * each.least)
    rules = rules_of(asker.gang, widest, False, widest.least)
    shape = demand.shapes[demand.sets.index(widest)]
    seen: list[list[int]] = []
    for level in levels:
        if DEPTH[level] >= DEPTH[Level.NODE]:
            continue
        bare = state.fleet.empty().fits(unit_of(shape, rules), rules)
        for domain in list(bare.domains(level, widest.least))[: state.config.policy.evict.tries]:
            ranks = state.fleet.tree.ranks_in(domain)
            # A domain that is alone in a wider one holds the same nodes.
            if ranks not in seen:
                seen.append(ranks)
                yield shape, domain, ranks, widest.least


def _is_among(rank: int, nodes: Container[int] | None) -> bool:
    return nodes is None or rank in nodes


def _free(state: ClusterState) -> list[int]:
    """Thousandths of GPUs that are free on every node."""
    known = state.fleet.table.known
    return [
        sum(known[each].usable) if known[each].open else 0 for each in state.fleet.tree.conditions
    ]


def _ground(
    ranks: Sequence[int], sight: ShapeView, slots: int, pods: int, free: Sequence[int]
) -> CandidateDomain:
    """The emptiest of some nodes; a gang of `slots` pods lies on at most as many nodes."""
    chosen = nlargest(slots + NODES, ranks, key=lambda rank: (free[rank], -rank))
    return CandidateDomain(chosen, sight, slots, sum(free[rank] for rank in chosen[:pods]))
