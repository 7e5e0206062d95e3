"""The tree with the indexes built over it, a bounded number of each."""

from collections.abc import Callable, Hashable
from typing import TypeVar

from ganglion.engine.condition import Sight
from ganglion.engine.conditions import Conditions
from ganglion.engine.fits import Fits, Rules
from ganglion.engine.picker import Picker
from ganglion.engine.rating import Rating
from ganglion.engine.shapes import Shape
from ganglion.engine.tree import Tree

PICKERS, FITS = 1024, 128
"""Indexes of each sort that are kept; the one unused for longest goes first."""

T = TypeVar("T")


class Indexes:
    """Pickers by shape and fits by shape and rules.

    Attributes:
        table: node conditions.
        rating: what plugins think of them.
        tree: the topology.
    """

    def __init__(self, table: Conditions, tree: Tree) -> None:
        self.table, self.tree = table, tree
        self.rating = Rating(table)
        self._pickers: dict[Hashable, Picker] = {}
        self._fits: dict[Hashable, Fits] = {}

    def picker(self, sight: Sight) -> Picker:
        """The picker of a shape."""
        return _recent(
            self._pickers, PICKERS, sight.shape, lambda: Picker(self.tree, self.rating, sight)
        )

    def fits(self, shape: Shape, rules: Rules) -> Fits:
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
