"""Trying a gang in one domain or on one node, and taking it back."""

from collections.abc import Iterator, Sequence
from itertools import chain, islice

from ganglion.engine.topology.capacity_index import Fits, PlaceRules
from ganglion.engine.topology.indexes import Indexes
from ganglion.engine.topology.node_state import ShapeView
from ganglion.engine.topology.pod_shape import Shape, times
from ganglion.engine.topology.savings import NONE, Savings, Seconds
from ganglion.model.fleet.levels import Level
from ganglion.model.placement import Placement, PodPlacement
from ganglion.model.workload import Gang


class Trial:
    """Places pods for real, then gives everything back.

    Args:
        indexes: the tree with its indexes.
        gang: whose pods they are.
        savings: what nodes save it.
    """

    def __init__(self, indexes: Indexes, gang: Gang, savings: Savings = NONE) -> None:
        self._indexes, self._tree, self._table = indexes, indexes.tree, indexes.table
        self._rating, self._gang, self._savings = indexes.rating, gang, savings
        self._journal: list[tuple[int, ShapeView, tuple[int, ...], int]] = []
        self._pods: list[list[PodPlacement]] = []

    def begin(self, sets: int) -> None:
        """Start with no pods in any of `sets` sets."""
        self._pods = [[] for _ in range(sets)]

    def in_domain(
        self, shapes: Sequence[Shape], fits: Sequence[Fits], counts: Sequence[int], domain: int
    ) -> Placement | None:
        """Try all pod sets in a domain above node, the most demanding set first."""
        self.begin(len(shapes))
        order = sorted(range(len(shapes)), key=lambda i: -shapes[i].request.gpu.count)
        done = all(self._spread_set(i, shapes[i], fits[i], counts[i], domain) for i in order)
        return self.finish(done)

    def on_one_node(
        self,
        shapes: Sequence[Shape],
        rules: Sequence[PlaceRules],
        counts: Sequence[int],
        together: Level | None,
        tries: int,
    ) -> Placement | None:
        """Try all pods on one node, or within one part of it."""
        if any(rule.forbidden and sum(counts) > 1 for rule in rules):
            return None
        if together and (len(shapes) > 1 or shapes[0].shares_a_device):
            return None
        if len(shapes) == 1 and not shapes[0].shares_a_device and not rules[0].inner:
            return self._as_one_pod(shapes[0], rules[0], counts[0], together)
        for rank in islice(self.nodes_for(shapes, counts), tries):
            self.begin(len(shapes))
            done = all(
                self.fill(i, shapes[i], rules[i], rank, counts[i]) for i in range(len(shapes))
            )
            found = self.finish(done)
            if found:
                return found
        return None

    def _as_one_pod(
        self, shape: Shape, rules: PlaceRules, count: int, together: Level | None
    ) -> Placement | None:
        """Equal pods on one node are one larger pod, whose devices are then dealt out."""
        whole = self._table.sight(times(shape, count, together))
        rank = self._indexes.picker(whole).best(self._savings)
        if rank is None:
            return None
        self._pods = [[]]
        if not together:
            return self.finish(self.fill(0, shape, rules, rank, count))
        devices = self._rating.way(whole, self._tree.conditions[rank])
        return self.finish(self._deal(0, self._table.sight(shape), rank, devices, count))

    def nodes_for(self, shapes: Sequence[Shape], counts: Sequence[int]) -> Iterator[int]:
        """Ranks of nodes that have room for all pods of each set."""
        sights = [self._table.sight(shape) for shape in shapes]
        saved, everywhere = self._savings.nodes, range(len(self._tree.conditions))
        for rank in chain(saved, (rank for rank in everywhere if rank not in saved)):
            condition = self._tree.conditions[rank]
            if all(
                self._table.room(s, condition) >= n for s, n in zip(sights, counts, strict=True)
            ):
                yield rank

    def _spread_set(self, which: int, shape: Shape, fits: Fits, count: int, domain: int) -> bool:
        fits.sync()
        if fits.values[domain] < count:
            return False
        return all(
            self.fill(which, shape, fits.rules, rank, pods)
            for rank, pods in list(shares(self._indexes, fits, domain, count, self._savings))
        )

    def fill(self, which: int, shape: Shape, rules: PlaceRules, rank: int, count: int) -> bool:
        """Put `count` pods of a set on a node; False when they do not all fit."""
        sight = self._table.sight(shape)
        if rules.inner:
            level, size = rules.inner
            return self._fill_slices(which, sight, rank, count, level, size)
        for _ in range(count):
            condition = self._tree.conditions[rank]
            if not self._table.room(sight, condition):
                return False
            devices = self._rating.way(sight, condition)
            self._put(which, sight, rank, devices)
        return True

    def _fill_slices(
        self, which: int, sight: ShapeView, rank: int, count: int, level: Level, size: int
    ) -> bool:
        whole = self._table.sight(times(sight.shape, size, level))
        for _ in range(count // size):
            condition = self._tree.conditions[rank]
            if not self._table.room(whole, condition):
                return False
            if not self._deal(which, sight, rank, self._rating.way(whole, condition), size):
                return False
        return count % size == 0

    def _deal(
        self, which: int, sight: ShapeView, rank: int, devices: tuple[int, ...], pods: int
    ) -> bool:
        """Deal devices out to pods; False when there are too few pod slots."""
        if self._table.known[self._tree.conditions[rank]].slots < pods:
            return False
        each = len(devices) // pods
        for index in range(pods):
            self._put(which, sight, rank, devices[index * each : (index + 1) * each])
        return True

    def _put(self, which: int, sight: ShapeView, rank: int, devices: tuple[int, ...]) -> None:
        milli = self._rating.milli(sight, self._tree.conditions[rank], devices)
        self._tree.join(rank, sight, devices, milli)
        self._journal.append((rank, sight, devices, milli))
        pods = self._pods[which]
        name = self._gang.pod_sets[which].name
        pods.append(PodPlacement(name, len(pods), self._tree.names[rank], devices, milli))

    def take_back(self, which: int) -> None:
        """The last pod, which is of this set, is not placed."""
        rank, sight, devices, milli = self._journal.pop()
        self._tree.leave(rank, sight, devices, milli)
        self._pods[which].pop()

    def finish(self, done: bool) -> Placement | None:
        """Give all seats back; the placement they made, or None when it is not good."""
        ranks = [rank for rank, _, _, _ in self._journal]
        for rank, sight, devices, milli in reversed(self._journal):
            self._tree.leave(rank, sight, devices, milli)
        self._journal = []
        if not done or self._breaks_forbidden(ranks):
            return None
        level, domain = common(self._indexes, ranks)
        return Placement(tuple(pod for pods in self._pods for pod in pods), level, domain)

    def _breaks_forbidden(self, ranks: list[int]) -> bool:
        """Pod sets keep apart within themselves by the fits; among each other it is checked."""
        level = self._gang.topology.forbidden
        if level is None:
            return False
        domains = [self._tree.nodes[rank].domains.get(level, str(rank)) for rank in ranks]
        return len(set(domains)) < len(domains)


def shares(
    indexes: Indexes, fits: Fits, domain: int, count: int, savings: Savings = NONE
) -> Iterator[tuple[int, int]]:
    """Deal `count` pods out over the nodes of a domain: (rank, pods), few and tight nodes.

    At every level the tightest part that holds the rest is taken, or else the roomiest
    (best fit, as Kueue's topology-aware scheduling and Slurm's tree plugin do). Of equal parts
    those go first that save more.
    """
    here = indexes.tree.domains[domain]
    for child, pods in _take(here.children, fits.values, count, savings.domains):
        count -= pods
        yield from shares(indexes, fits, child, pods, savings)
    yield from _take(here.nodes, fits.rooms, count, savings.nodes)


def _take(
    parts: Sequence[int], holds: Sequence[int], count: int, saved: Seconds
) -> Iterator[tuple[int, int]]:
    left = [each for each in parts if holds[each]]
    if saved:
        left.sort(key=lambda each: (-holds[each], -saved.get(each, 0), each))
    else:
        left.sort(key=lambda each: (-holds[each], each))
    at = 0
    while count > 0 and at < len(left):
        if holds[left[at]] >= count:
            roomy = [each for each in left[at:] if holds[each] >= count]
            yield min(roomy, key=lambda each: (holds[each], -saved.get(each, 0), each)), count
            return
        yield left[at], holds[left[at]]
        count -= holds[left[at]]
        at += 1


def common(indexes: Indexes, ranks: Sequence[int]) -> tuple[Level, str]:
    """The lowest level at which one domain holds all these nodes, and that domain's path."""
    tree = indexes.tree
    if len(set(ranks)) == 1:
        return Level.NODE, tree.names[ranks[0]]
    parents = dict.fromkeys(tree.parents[rank] for rank in ranks)
    shared = None
    for parent in parents:
        around = _up(indexes, parent)
        shared = around if shared is None else [each for each in shared if each in around]
    lowest = tree.domains[shared[0] if shared else 0]
    return lowest.level, lowest.path


def _up(indexes: Indexes, domain: int) -> list[int]:
    found = []
    while domain >= 0:
        found.append(domain)
        domain = indexes.tree.domains[domain].parent
    return found
