"""How many pods of one shape each domain can hold, kept up to date lazily."""

from bisect import bisect_left, insort
from collections.abc import Iterator
from heapq import heappop, heappush

from msgspec import Struct

from ganglion.engine.topology.node_state import ShapeView
from ganglion.engine.topology.tree import Tree
from ganglion.model.fleet.levels import DEPTH, INSIDE_NODE, Level


class PlaceRules(Struct, frozen=True, cache_hash=True):
    """What bounds the number of pods in a domain besides room.

    Attributes:
        slices: (level, size), outermost first: pods come in groups of `size` per domain.
        forbidden: at most one pod per domain of this level; None = any number.
    """

    slices: tuple[tuple[Level, int], ...] = ()
    forbidden: Level | None = None

    @property
    def inner(self) -> tuple[Level, int] | None:
        """The slice that must lie within a part of one node."""
        for level, size in self.slices:
            if level in INSIDE_NODE:
                return level, size
        return None

    @property
    def contradictory(self) -> bool:
        """Whether pods must share a domain within one that they must not share."""
        limit = self.forbidden
        return limit is not None and any(
            size > 1 and DEPTH[level] >= DEPTH[limit] for level, size in self.slices
        )


class Fits:
    """Pods per domain for one shape under some rules.

    A node holds what its condition has room for; a domain holds the sum of its parts, rounded
    down to whole slices at the levels of slices (as phase one of Kueue's topology-aware
    scheduling counts). A change of one node touches only the domains around it.

    Args:
        tree: the topology.
        sight: the shape; for a slice within a node, the shape of the whole slice.
        rules: what bounds the numbers.
    """

    def __init__(self, tree: Tree, sight: ShapeView, rules: PlaceRules) -> None:
        self._tree, self.sight, self.rules = tree, sight, rules
        self._epoch, self._cursor = -1, 0
        self._unit = rules.inner[1] if rules.inner else 1
        self.rooms: list[int] = []
        self.values: list[int] = []
        self._sums: list[int] = []
        self._heaps: dict[Level, dict[int, list[int]]] = {}
        self._keys: dict[Level, list[int]] = {}

    def sync(self) -> None:
        """Take in what changed since the last call."""
        tree = self._tree
        if self._epoch != tree.epoch:
            self._build()
        changes = tree.changes
        if len(changes) - self._cursor < len(tree.nodes):
            for position in range(self._cursor, len(changes)):
                self._update(changes[position])
        else:
            for rank in dict.fromkeys(changes[self._cursor :]):
                self._update(rank)
        self._cursor = len(changes)

    def domains(self, level: Level, need: int) -> Iterator[int]:
        """Domains of a level that hold at least `need` pods, the tightest first."""
        for value in self._keys.get(level, [])[:]:
            if value < need:
                continue
            first = self._peek(level, value)
            if first is None:
                continue
            yield first
            heap = self._heaps[level].get(value, [])
            yield from sorted({d for d in heap if self.values[d] == value and d != first})

    def most(self, level: Level) -> int:
        """Pods that the best single domain of a level holds."""
        for value in reversed(self._keys.get(level, [])):
            if self._peek(level, value) is not None:
                return value
        return 0

    def _build(self) -> None:
        tree = self._tree
        self._epoch, self._cursor = tree.epoch, len(tree.changes)
        self._heaps, self._keys = {}, {}
        self._sums = [0] * len(tree.domains)
        self.values = [0] * len(tree.domains)
        self.rooms = self._all_rooms()
        for rank, held in enumerate(self.rooms):
            self._sums[tree.parents[rank]] += held
        for at in range(len(tree.domains) - 1, -1, -1):
            self._settle(at)

    def _all_rooms(self) -> list[int]:
        tree = self._tree
        if self.rules != _FREE:
            return [self.fresh_room(rank) for rank in range(len(tree.nodes))]
        rooms, unit = tree.table.rooms(self.sight, tree.counts), self._unit
        return [rooms[each] * unit for each in tree.conditions]

    def _settle(self, at: int) -> None:
        """Domains are numbered parents first, so children are settled before their parent."""
        domain = self._tree.domains[at]
        value = self.values[at] = self._bounded(domain.level, self._sums[at])
        if domain.parent >= 0:
            self._sums[domain.parent] += value
        self._list(domain.level, value, at)

    def _update(self, rank: int) -> None:
        held = self.fresh_room(rank)
        delta = held - self.rooms[rank]
        if not delta:
            return
        self.rooms[rank] = held
        tree, at = self._tree, self._tree.parents[rank]
        while at >= 0 and delta:
            domain = tree.domains[at]
            self._sums[at] += delta
            value = self._bounded(domain.level, self._sums[at])
            delta = value - self.values[at]
            if delta:
                self.values[at] = value
                self._list(domain.level, value, at)
            at = domain.parent

    def fresh_room(self, rank: int) -> int:
        """Pods that a node holds now, counted anew."""
        tree = self._tree
        room = tree.table.room(self.sight, tree.conditions[rank]) * self._unit
        rules = self.rules
        if not room or rules == _FREE:
            return room
        if self._misses_a_level(rank):
            return 0
        return self._bounded(Level.NODE, room)

    def _misses_a_level(self, rank: int) -> bool:
        domains = self._tree.nodes[rank].domains
        return any(
            DEPTH[level] < DEPTH[Level.NODE] and level is not Level.FLEET and level not in domains
            for level, _ in self.rules.slices
        )

    def _bounded(self, level: Level, pods: int) -> int:
        rules = self.rules
        if level is rules.forbidden:
            pods = 0 if rules.contradictory else min(pods, 1)
        for at, size in rules.slices:
            if at is level:
                pods -= pods % size
        return pods

    def _list(self, level: Level, value: int, at: int) -> None:
        heaps = self._heaps.setdefault(level, {})
        heap = heaps.get(value)
        if heap is None:
            heaps[value] = [at]
            insort(self._keys.setdefault(level, []), value)
        else:
            heappush(heap, at)

    def _peek(self, level: Level, value: int) -> int | None:
        heap = self._heaps[level].get(value)
        if heap is None:
            return None
        while heap and self.values[heap[0]] != value:
            heappop(heap)
        if heap:
            return heap[0]
        del self._heaps[level][value]
        keys = self._keys[level]
        del keys[bisect_left(keys, value)]
        return None


_FREE = PlaceRules()
