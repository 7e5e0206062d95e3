"""Nodes in the order in which pods prefer them, by what nodes are.

Nodes of one rank suit pods equally well. A search is kept to the nodes of some ranks by a shape
to which the others are closed, so that all indexes serve it as they serve any shape; shapes of
pods that prefer nothing stay as they are and cost nothing.
"""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from ganglion.engine.plugins.protocols import Rank
from ganglion.engine.topology.indexes import Indexes
from ganglion.engine.topology.node_state_table import NodeStateTable
from ganglion.engine.topology.pod_shape import Shape

STEPS = 8
"""Most sets of nodes that are tried for a gang before all nodes are."""


def by_rank(table: NodeStateTable, shape: Shape) -> dict[Rank, Shape]:
    """For each rank the shape that is kept to nodes of it; none where all nodes suit equally."""
    if table.preferring(shape) is None:
        return {}
    ranks = table.ranks(table.sight(shape))
    return {rank: replace(shape, ranks=(rank,)) for rank in ranks} if len(ranks) > 1 else {}


def best_first(
    table: NodeStateTable, shape: Shape, ranks: Sequence[Rank]
) -> list[tuple[Rank, ...]]:
    """Ranks of which nodes are there, the preferred first, those worth the same together."""
    plugin = table.preferring(shape)
    points = plugin.points(ranks) if plugin else [0] * len(ranks)
    found: dict[int, list[Rank]] = {}
    for rank, each in zip(ranks, points, strict=True):
        found.setdefault(each, []).append(rank)
    return [tuple(found[each]) for each in sorted(found, reverse=True)]


def steps(indexes: Indexes, shapes: Sequence[Shape]) -> Iterator[list[Shape]]:
    """The shapes of a gang kept to the nodes that its pods prefer most, then to more of them.

    The last step, which is all nodes, is left out.
    """
    ladders = [_ladder(indexes, shape) for shape in shapes]
    for step in range(min(STEPS, max(map(len, ladders)))):
        yield [
            replace(shape, ranks=ladder[step]) if step < len(ladder) else shape
            for shape, ladder in zip(shapes, ladders, strict=True)
        ]


def _ladder(indexes: Indexes, shape: Shape) -> list[tuple[Rank, ...]]:
    """Growing sets of ranks, all of them left out; nodes on which no pod fits do not count."""
    table = indexes.table
    kept = by_rank(table, shape)
    counts = indexes.tree.counts
    there = [
        rank
        for rank, each in kept.items()
        if any(table.room(table.sight(each), condition) for condition in counts)
    ]
    found: list[tuple[Rank, ...]] = []
    for ranks in best_first(table, shape, there)[:-1]:
        found.append((*found[-1], *ranks) if found else ranks)
    return found
