"""The tree with the indexes built over it, a bounded number of each."""

from collections.abc import Callable, Hashable
from typing import TypeVar

from ganglion.engine.topology.best_node import Picker
from ganglion.engine.topology.capacity_index import Fits, PlaceRules
from ganglion.engine.topology.node_state import ShapeView
from ganglion.engine.topology.node_state_table import NodeStateTable
from ganglion.engine.topology.pod_shape import Shape
from ganglion.engine.topology.scoring import Rating
from ganglion.engine.topology.tree import Tree
from ganglion.model.fleet.levels import Level

PICKERS, FITS = 1024, 128
"""Indexes of each sort that are kept; the one unused for longest goes first."""

T = TypeVar("T")


class Indexes:
    """Pickers by shape and fits by shape and rules.

    Attributes:
        table: node conditions.
        rating: what plugins think of them.
        tree: the topology.
        answers: what was found out about the tree while no pod ever moves in it.
    """

    def __init__(self, table: NodeStateTable, tree: Tree) -> None:
        self.answers: dict[Hashable, object] = {}
        self._paths: tuple[int, list[tuple[str, ...]]] = (-1, [])
        self.table, self.tree = table, tree
        self.rating = Rating(table)
        self._pickers: dict[Hashable, Picker] = {}
        self._fits: dict[Hashable, Fits] = {}

    def paths(self) -> list[tuple[str, ...]]:
        """By rank: the domains around a node, the widest first, and itself.

        Where a level that others have is missing it is alone.
        """
        tree = self.tree
        if self._paths[0] != tree.epoch:
            levels = [level for level in tree.levels()[::-1] if level is not Level.FLEET]
            named = [
                (*(node.domains.get(level, node.name) for level in levels), node.name)
                for node in tree.nodes
            ]
            self._paths = (tree.epoch, named)
        return self._paths[1]

    def picker(self, sight: ShapeView) -> Picker:
        """The picker of a shape."""
        return _recent(
            self._pickers, PICKERS, sight.shape, lambda: Picker(self.tree, self.rating, sight)
        )

    def fits(self, shape: Shape, rules: PlaceRules) -> Fits:
        """The fits of a shape under some rules, up to date."""
        found = _recent(
            self._fits,
            FITS,
            (shape, rules),
            lambda: Fits(self.tree, self.table.sight(shape), rules),
        )
        found.sync()
        return found

    def all_fits(self) -> tuple[Fits, ...]:
        """Every kept fits."""
        return tuple(self._fits.values())

    def device_types(self) -> tuple[str, ...]:
        """Device types of the fleet, the most common first."""
        supply = self.table.supply
        return tuple(sorted(supply, key=lambda kind: (-supply[kind], kind)))


def _recent(kept: dict[Hashable, T], most: int, key: Hashable, make: Callable[[], T]) -> T:
    found = kept.pop(key, None)
    if found is None:
        if len(kept) >= most:
            del kept[next(iter(kept))]
        found = make()
    kept[key] = found
    return found
