"""Domains with what they could hold of one request, for placement level by level.

Source: phase one of Kueue's topology-aware scheduling: pods are counted in the nodes and
added up; a domain at the level of slices holds whole ones only.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ganglion.engine.topology.capacity_index import Fits
from ganglion.engine.topology.indexes import Indexes
from ganglion.engine.topology.pod_shape import Shape
from ganglion.model.fleet.levels import Level


class TasDomain:
    """A node, or a domain of nodes.

    Attributes:
        path: names of the domains around it and its own.
        rank: of the node; -1 for a domain.
        children: spots right below.
        pods: pods it holds.
        beside: pods it holds beside a leader.
        leader: 1 when it can hold a leader.
        slices: whole slices it holds; 0 below the level of slices.
        slices_beside: the same beside a leader.
    """

    __slots__ = (
        "beside",
        "children",
        "leader",
        "path",
        "pods",
        "rank",
        "slices",
        "slices_beside",
    )

    def __init__(self, path: tuple[str, ...]) -> None:
        self.path, self.rank = path, -1
        self.children: list[TasDomain] = []
        self.pods = self.beside = self.leader = self.slices = self.slices_beside = 0


class Layers(NamedTuple):
    """Slices as levels of the tree, by number; 0 is the widest level.

    Attributes:
        level: at which whole slices are counted; the last level without slices.
        size: pods of a slice.
        inner: level -> pods that stay together there, within a slice.
    """

    level: int
    size: int = 1
    inner: Mapping[int, int] = {}


class RequestPods(NamedTuple):
    """Pods of one request.

    Attributes:
        workers: fits of the workers' shape.
        leader: shape of the one pod beside them; None = there is none.
        layers: their slices.
    """

    workers: Fits
    leader: Shape | None
    layers: Layers


def levels_of(indexes: Indexes) -> list[Level]:
    """Levels of the tree, the widest first, nodes last; the fleet is left out."""
    return [*reversed(indexes.tree.levels()[:-1]), Level.NODE]


def spots_of(
    indexes: Indexes, levels: Sequence[Level], crew: RequestPods, within: tuple[str, ...]
) -> list[list[TasDomain]]:
    """Spots by level, the widest first: those in one domain that can hold anything."""
    found: list[dict[tuple[str, ...], TasDomain]] = [{} for _ in levels]
    paths, led = indexes.paths(), crew.leader is not None
    for rank, pods in enumerate(crew.workers.rooms):
        if not (pods or led) or paths[rank][: len(within)] != within:
            continue
        leads, beside = _with_leader(indexes, crew, rank, pods)
        if pods or leads:
            _hang(found, paths[rank], rank, (pods, leads, beside))
    for spot in found[0].values():
        _count(spot, 0, crew)
    return [list(each.values()) for each in found]


def _with_leader(indexes: Indexes, crew: RequestPods, rank: int, pods: int) -> tuple[int, int]:
    """Whether a node holds the leader, and how many workers beside it."""
    if crew.leader is None:
        return 0, pods
    table, rating = indexes.table, indexes.rating
    sight, condition = table.sight(crew.leader), indexes.tree.conditions[rank]
    if not table.room(sight, condition):
        return 0, pods
    devices = rating.way(sight, condition)
    milli = rating.milli(sight, condition, devices)
    after = table.joined(condition, sight, devices, milli)
    return 1, table.room(crew.workers.sight, after)


def _hang(
    found: list[dict[tuple[str, ...], TasDomain]],
    path: tuple[str, ...],
    rank: int,
    holds: tuple[int, int, int],
) -> None:
    above: TasDomain | None = None
    for depth, level in enumerate(found):
        here = path[: depth + 1]
        spot = level.get(here)
        if spot is None:
            spot = level[here] = TasDomain(here)
            if above:
                above.children.append(spot)
        above = spot
    assert above
    above.rank = rank
    above.pods, above.leader, above.beside = holds


def _count(spot: TasDomain, depth: int, crew: RequestPods) -> None:
    """Add up what a spot holds from what is below it."""
    layers = crew.layers
    if spot.children:
        for child in spot.children:
            _count(child, depth + 1, crew)
        _add_up(spot, layers.inner.get(depth + 1, 1), crew.leader is not None)
    if depth == layers.level:
        spot.slices = spot.pods // layers.size
        spot.slices_beside = spot.beside // layers.size


def _add_up(spot: TasDomain, unit: int, led: bool) -> None:
    children = spot.children
    spot.pods = sum(each.pods // unit * unit for each in children)
    spot.slices = sum(each.slices for each in children)
    spot.leader = max(each.leader for each in children)
    homes = [each for each in children if each.leader or not led]
    if not homes:
        return
    lost = min(each.pods // unit * unit - each.beside // unit * unit for each in homes)
    spot.beside = spot.pods - lost
    spot.slices_beside = spot.slices - min(each.slices - each.slices_beside for each in homes)


def nodes_in(spots: Sequence[TasDomain]) -> Iterator[TasDomain]:
    """The nodes among and under some spots."""
    for spot in spots:
        if spot.rank >= 0:
            yield spot
        yield from nodes_in(spot.children)
