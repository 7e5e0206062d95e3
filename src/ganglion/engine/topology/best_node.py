"""The best node for one pod, without looking at nodes."""

from collections.abc import Callable, Iterator
from heapq import heappop, heappush

from ganglion.engine.topology.node_state import ShapeView
from ganglion.engine.topology.scoring import Rating
from ganglion.engine.topology.tree import Tree


class Picker:
    """Conditions of one shape, ordered by score, kept up to date lazily.

    Only conditions that got their first node since the last look are rated; those that lost
    their last node are dropped when met.
    """

    def __init__(self, tree: Tree, rating: Rating, sight: ShapeView) -> None:
        self._tree, self._rating, self._sight = tree, rating, sight
        self._epoch, self._cursor = (-1, -1), 0
        self._listed: set[int] = set()
        self._by_score: dict[int, list[int]] = {}
        self._scores: list[int] = []

    def best(self) -> int | None:
        """Rank of the best node; the lowest one among equals; None when the pod fits nowhere."""
        self._sync()
        counts = self._tree.counts
        while self._scores:
            score = -self._scores[0]
            group = self._by_score[score]
            alive = [each for each in group if each in counts]
            if len(alive) == 1:
                self._prune(score, alive)
                return self._tree.first(alive[0])
            if alive:
                self._prune(score, alive)
                first = self._tree.first
                return min([first(each) for each in alive])
            self._prune(score, [])
        return None

    def best_where(self, allows: Callable[[int], bool]) -> int | None:
        """Like `best`, but only among the ranks that are allowed."""
        return next(filter(allows, self.ranked()), None)

    def ranked(self) -> Iterator[int]:
        """Ranks of all nodes that the pod fits on, the best first, the lowest first among equals.

        The tree may change and be changed back between two of them.
        """
        self._sync()
        members = self._tree.members
        for score in sorted(self._by_score, reverse=True):
            group = self._by_score.get(score, ())
            if len(group) == 1:
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
        if self._epoch != (tree.epoch, tree.table.yardstick):
            self._epoch, self._cursor = (tree.epoch, tree.table.yardstick), 0
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
