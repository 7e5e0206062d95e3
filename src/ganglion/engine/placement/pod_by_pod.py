"""Placing a gang pod by pod, where rules among pods decide which nodes are open to the next."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from ganglion.engine.placement.pack import Trial
from ganglion.engine.plugins.protocols import PodFilter
from ganglion.engine.topology.capacity_index import PlaceRules
from ganglion.engine.topology.indexes import Indexes
from ganglion.engine.topology.pod_shape import Shape
from ganglion.engine.topology.savings import NONE, Savings
from ganglion.model.fleet.levels import Level
from ganglion.model.placement import Placement
from ganglion.model.workload import Gang

_RETRIES = 32
"""Pods placed in vain in one domain before another is tried."""
_BREADTH = 4
"""Places tried for one pod: the best node of as many different domains."""


class PodByPodSearch:
    """A search for places that are open to each pod when those before it are placed.

    It goes depth first and takes pods back that leave none for those that follow, a bounded
    number of them.

    Args:
        indexes: the tree with its indexes; left as it was.
        gang: the gang.
        shapes: shape of each pod set.
        rules: what the engine itself demands of each set.
        counts: pods of each set.
        among: ranks of the nodes that may be used; None = all.
        filtering: the rules among pods.
        savings: what nodes save the gang.
    """

    def __init__(
        self,
        indexes: Indexes,
        gang: Gang,
        shapes: Sequence[Shape],
        rules: Sequence[PlaceRules],
        counts: Sequence[int],
        among: frozenset[int] | None,
        filtering: PodFilter,
        savings: Savings = NONE,
    ) -> None:
        self._indexes, self._gang, self._shapes = indexes, gang, shapes
        self._rules, self._counts, self._among = rules, counts, among
        self._filter, self._trial = filtering, Trial(indexes, gang)
        self._savings = savings
        self._ranks: list[list[int]] = [[] for _ in counts]
        self._placed: list[int] = []
        self._order = sorted(range(len(counts)), key=lambda i: -shapes[i].request.gpu.count)

    def search(self) -> Placement | None:
        """The placement; None = none was found."""
        total = sum(self._counts)
        left = total + _RETRIES
        self._trial.begin(len(self._counts))
        open_ends, done = [self._options()], False
        while open_ends and left and not done:
            option = next(open_ends[-1], None)
            if option is None:
                open_ends.pop()
                if open_ends:
                    self._take_back()
            else:
                left -= 1
                self._put(*option)
                open_ends.append(self._options())
                done = len(self._placed) == total and self._filter.holds()
        for _ in self._placed:
            self._filter.take_back()
        return self._trial.finish(done)

    def _options(self) -> Iterator[tuple[int, int]]:
        """(set, rank of a node) for the pod that is placed next, the best first."""
        for which in self._order:
            if len(self._ranks[which]) < self._counts[which]:
                yield from ((which, rank) for rank in self._nodes(which))

    def _nodes(self, which: int) -> Iterator[int]:
        """Ranks of nodes for the next pod of a set, the best first."""
        if not self._filter.prefers:
            yield from islice(self._open(which), _BREADTH)
            return
        tree, name = self._indexes.tree, self._gang.pod_sets[which].name
        there = list(self._open(which))
        if self._placed and not self._gang.spreads:
            last = self._ranks[self._placed[-1]][-1]
            around = {domain: near for near, domain in enumerate(tree.ancestors(last))}
            there.sort(key=lambda rank: self._distance(rank, last, around))
        ordered = self._filter.order(name, (tree.names[rank] for rank in there))
        yield from [tree.index[node] for node in islice(ordered, _BREADTH)]

    def _distance(self, rank: int, last: int, around: Mapping[int, int]) -> int:
        """How far up the domain is that a node shares with the pod placed last; -1 = its node."""
        if rank == last:
            return -1
        return next(around[each] for each in self._indexes.tree.ancestors(rank) if each in around)

    def _open(self, which: int) -> Iterator[int]:
        """The best node for a set of each kind that is open to its next pod."""
        indexes, name = self._indexes, self._gang.pod_sets[which].name
        names, alike = indexes.tree.names, set()
        sight = indexes.table.sight(self._shapes[which])
        allows = self._filter.opened(name)
        for rank in indexes.picker(sight).ranked(self._savings):
            if self._among is not None and rank not in self._among:
                continue
            if not allows(names[rank]) or not self._keeps_rules(which, rank):
                continue
            kind = (indexes.tree.conditions[rank], self._filter.alike(names[rank]))
            if kind in alike:
                continue
            alike.add(kind)
            yield rank
            if not self._filter.prefers:  # others were placed and taken back since
                allows = self._filter.opened(name)

    def _keeps_rules(self, which: int, rank: int) -> bool:
        """Whether the engine's own rules let the next pod of a set go to a node."""
        rules, ranks = self._rules[which], self._ranks[which]
        limit = rules.forbidden
        if limit and any(self._share(limit, rank, other) for other in ranks):
            return False
        return all(
            self._share(level, rank, ranks[len(ranks) - len(ranks) % size])
            for level, size in rules.slices
            if len(ranks) % size
        )

    def _share(self, level: Level, rank: int, other: int) -> bool:
        """Whether two nodes are in one domain of a level."""
        if rank == other or level is Level.FLEET:
            return True
        nodes = self._indexes.tree.nodes
        here = nodes[rank].domains.get(level)
        return here is not None and here == nodes[other].domains.get(level)

    def _put(self, which: int, rank: int) -> None:
        name = self._gang.pod_sets[which].name
        self._trial.fill(which, self._shapes[which], self._rules[which], rank, 1)
        self._filter.put(name, self._indexes.tree.names[rank])
        self._ranks[which].append(rank)
        self._placed.append(which)

    def _take_back(self) -> None:
        which = self._placed.pop()
        self._ranks[which].pop()
        self._trial.take_back(which)
        self._filter.take_back()
