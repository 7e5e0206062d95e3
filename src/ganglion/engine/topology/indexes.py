"""The tree with the indexes built over it, a bounded number of each."""

from collections.abc import Callable, Hashable, Iterator
from heapq import heappop, heappush
from typing import TypeVar

from ganglion.engine.topology.capacity_index import Fits, PlaceRules
from ganglion.engine.topology.node_state import ShapeView
from ganglion.engine.topology.node_state_table import NodeStateTable
from ganglion.engine.topology.pod_shape import Shape
from ganglion.engine.topology.savings import NONE, Savings, SavingsByItems
from ganglion.engine.topology.scoring import Rating
from ganglion.engine.topology.tree import Tree
from ganglion.model.fleet.levels import Level

PICKERS, FITS = 1024, 128
"""Indexes of each sort that are kept; the one unused for longest goes first."""

T = TypeVar("T")


class Picker:
    """Conditions of one shape, ordered by score, kept up to date lazily.

    Only conditions that got their first node since the last look are rated; those that lost
    their last node are dropped when met.
    """

    def __init__(self, tree: Tree, rating: Rating, sight: ShapeView) -> None:
        self._tree, self._rating, self._sight = tree, rating, sight
        self._epoch, self._yardstick, self._cursor = -1, -1, 0
        self._listed: set[int] = set()
        self._by_score: dict[int, list[int]] = {}
        self._scores: list[int] = []

    def best(self, savings: Savings = NONE) -> int | None:
        """Rank of the best node; None when the pod fits nowhere.

        Args:
            savings: decide among equals: the most, then the lowest rank.
        """
        best, saved = self._best(), savings.nodes
        if best is None or not saved:
            return best
        tree, scores = self._tree, self._sight.scores
        score = scores[tree.conditions[best]]
        group = self._by_score[score] if score is not None else []
        if sum(tree.counts[each] for each in group) <= len(saved):
            equals = (rank for each in group for rank in tree.members(each))
            return min(equals, key=lambda rank: (-saved.get(rank, 0), rank))
        conditions = tree.conditions
        return next((rank for rank in saved if scores.get(conditions[rank]) == score), best)

    def _best(self) -> int | None:
        """The lowest one among equals."""
        self._sync()
        counts = self._tree.counts
        while self._scores:
            score = -self._scores[0]
            group = self._by_score[score]
            if len(group) == 1 and group[0] in counts:
                return self._tree.first(group[0])
            alive = [each for each in group if each in counts]
            if alive:
                self._prune(score, alive)
                first = self._tree.first
                return min([first(each) for each in alive])
            self._prune(score, [])
        return None

    def best_where(self, allows: Callable[[int], bool], savings: Savings = NONE) -> int | None:
        """Like `best`, but only among the ranks that are allowed."""
        return next(filter(allows, self.ranked(savings)), None)

    def ranked(self, savings: Savings = NONE) -> Iterator[int]:
        """Ranks of all nodes that the pod fits on, the best first; equals as `best` has them.

        The tree may change and be changed back between two of them.
        """
        self._sync()
        members, saved = self._tree.members, savings.nodes
        for score in sorted(self._by_score, reverse=True):
            group = self._by_score.get(score, ())
            if saved:
                equals = (rank for each in group for rank in members(each))
                yield from sorted(equals, key=lambda rank: (-saved.get(rank, 0), rank))
            elif len(group) == 1:
                yield from list(members(group[0]))
            else:
                yield from sorted(rank for each in group for rank in members(each))

    def _prune(self, score: int, alive: list[int]) -> None:
        group = self._by_score[score]
        if len(alive) == len(group):
            return
        self._listed.difference_update(set(group) - set(alive))
        if alive:
            self._by_score[score] = alive
        else:
            del self._by_score[score]
            heappop(self._scores)

    def _sync(self) -> None:
        tree = self._tree
        if self._epoch != tree.epoch or self._yardstick != tree.table.yardstick:
            self._epoch, self._yardstick, self._cursor = tree.epoch, tree.table.yardstick, 0
            self._listed, self._by_score, self._scores = set(), {}, []
        arrivals = tree.arrivals
        if self._cursor == len(arrivals):
            return
        listed, counts = self._listed, tree.counts
        missed = len(arrivals) - self._cursor
        # A trial leaves two arrivals per pod in the log: a picker that is far behind reads the
        # conditions that are there instead.
        since = arrivals[self._cursor :] if missed < len(counts) else counts
        fresh = {c: None for c in since if c not in listed and c in counts}
        self._cursor = len(arrivals)
        if not fresh:
            return
        self._rating.rate(self._sight, fresh)
        scores = self._sight.scores
        for each in fresh:
            score = scores[each]
            if score is not None:
                self._list(each, score)

    def _list(self, condition: int, score: int) -> None:
        self._listed.add(condition)
        group = self._by_score.get(score)
        if group is None:
            self._by_score[score] = [condition]
            heappush(self._scores, -score)
        else:
            group.append(condition)


class Indexes:
    """Pickers by shape and fits by shape and rules.

    Attributes:
        table: node conditions.
        rating: what plugins think of them.
        tree: the topology.
        savings: what gangs save by what nodes hold.
        answers: what was found out about the tree while no pod ever moves in it.
    """

    def __init__(self, table: NodeStateTable, tree: Tree) -> None:
        self.answers: dict[Hashable, object] = {}
        self._paths: tuple[int, list[tuple[str, ...]]] = (-1, [])
        self.table, self.tree = table, tree
        self.rating, self.savings = Rating(table), SavingsByItems(tree)
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
        pickers, shape = self._pickers, sight.shape
        found = pickers.pop(shape, None)
        if found is None:
            _make_room(pickers, PICKERS)
            found = Picker(self.tree, self.rating, sight)
        pickers[shape] = found
        return found

    def fits(self, shape: Shape, rules: PlaceRules) -> Fits:
        """The fits of a shape under some rules, up to date."""
        fits, key = self._fits, (shape, rules)
        found = fits.pop(key, None)
        if found is None:
            _make_room(fits, FITS)
            found = Fits(self.tree, self.table.sight(shape), rules)
        fits[key] = found
        found.sync()
        return found

    def all_fits(self) -> tuple[Fits, ...]:
        """Every kept fits."""
        return tuple(self._fits.values())

    def device_types(self) -> tuple[str, ...]:
        """Device types of the fleet, the most common first."""
        supply = self.table.supply
        return tuple(sorted(supply, key=lambda kind: (-supply[kind], kind)))


def _make_room(kept: dict[Hashable, T], most: int) -> None:
    """Drop the index that was unused for longest where there is no room for another one."""
    if len(kept) >= most:
        del kept[next(iter(kept))]
