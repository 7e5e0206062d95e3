"""An oracle that knows all durations and says which jobs to stop for which.

Shortest-remaining-first policies, as papers replay them, look at all jobs again at every
arrival and end, and preemption costs nothing. The oracle only names victims; where anything
runs is for the engine to decide.
"""

from bisect import bisect_left, insort
from collections.abc import Mapping, Sequence
from heapq import heapify, heappop, heappush

from msgspec import Struct

from benchmarks.common.jobs import GPUS_PER_NODE

Seats = tuple[tuple[int, int], ...]
"""What a job holds: (node, GPUs) pairs, each node once."""


class Held(Struct, frozen=True):
    """A job that runs.

    Attributes:
        ends: when it will be over, in ms.
        weight: its rank is (remaining ms) x weight: its GPUs, or 1.
        gpus: its GPUs.
        seats: where.
        order: a rank that does not change with time; None = the one above.
    """

    ends: int
    weight: int
    gpus: int
    seats: Seats
    order: int | None = None

    def rank(self, now: int) -> int:
        """Remaining service, remaining time, or a fixed order; smaller goes first."""
        return (self.ends - now) * self.weight if self.order is None else self.order


class Waiting:
    """What waits, by number of GPUs, the smallest rank first.

    Attributes:
        by_size: GPUs -> (rank, number) in order.
    """

    def __init__(self) -> None:
        self.by_size: dict[int, list[tuple[int, int]]] = {}

    def add(self, gpus: int, rank: int, number: int) -> None:
        """A job begins to wait."""
        insort(self.by_size.setdefault(gpus, []), (rank, number))

    def remove(self, gpus: int, rank: int, number: int) -> None:
        """A job waits no longer."""
        queue = self.by_size[gpus]
        del queue[bisect_left(queue, (rank, number))]
        if not queue:
            del self.by_size[gpus]


def victims(
    waiting: Waiting, running: Mapping[int, Held], free: Sequence[int], now: int
) -> list[int]:
    """Which jobs to stop so that every job runs whose rank is better than a victim's.

    What waits is taken in order of rank. It gets free seats if there are enough; else running
    jobs of worse rank are stopped, the worst first, until it fits; those that were not in the
    way after all stay. A size that cannot be helped cannot be helped at any worse rank, nor
    can a larger one, which keeps this short however long the queue is.

    Args:
        waiting: what waits.
        running: by number; in sum they and `free` make up the nodes.
        free: free GPUs per node.
        now: the time in ms.
    """
    return _Turn(waiting, running, free, now).victims()


class _Turn:
    """One look at everything, on a copy of the free seats."""

    def __init__(
        self, waiting: Waiting, running: Mapping[int, Held], free: Sequence[int], now: int
    ) -> None:
        self._queues, self._now = waiting.by_size, now
        self._running, self._free = dict(running), list(free)
        self._worst: list[tuple[int, int]] | None = None
        self._heads = [(*queue[0], gpus, 0) for gpus, queue in self._queues.items()]
        heapify(self._heads)
        self._stopped: list[int] = []

    def victims(self) -> list[int]:
        hopeless = 1 << 62
        while self._heads:
            rank, _, gpus, at = heappop(self._heads)
            if gpus >= hopeless:
                continue
            if _seats(self._free, gpus) is None and not self._make_room(gpus, rank):
                hopeless = gpus
                continue
            self._take(gpus, at)
        return self._stopped

    def _take(self, gpus: int, at: int) -> None:
        for node, count in _seats(self._free, gpus) or ():
            self._free[node] -= count
        queue = self._queues.get(gpus, [])
        if 0 <= at < len(queue) - 1:
            heappush(self._heads, (*queue[at + 1], gpus, at + 1))

    def _make_room(self, gpus: int, rank: int) -> bool:
        chosen = self._cheapest(gpus, self._worse_than(rank))
        for number in chosen:
            held = self._running.pop(number)
            for node, count in held.seats:
                self._free[node] += count
            self._stopped.append(number)
            heappush(self._heads, (held.rank(self._now), number, held.gpus, -1))
        if chosen:
            self._worst = None
        return bool(chosen)

    def _worse_than(self, rank: int) -> list[int]:
        """Running jobs of worse rank, the worst first."""
        if self._worst is None:
            ranked = ((held.rank(self._now), n) for n, held in self._running.items())
            self._worst = sorted(ranked, reverse=True)
        return [number for other, number in self._worst if other > rank]

    def _cheapest(self, gpus: int, worse: Sequence[int]) -> list[int]:
        """The worst jobs, as few as needed, that free `gpus`; empty = they cannot."""
        nodes, each = _shape(gpus)
        free = list(self._free)
        roomy = sum(room >= each for room in free)
        for taken, number in enumerate(worse, 1):
            for node, count in self._running[number].seats:
                roomy += free[node] < each <= free[node] + count
                free[node] += count
            if roomy >= nodes:
                return self._needed(worse[:taken], free, nodes, each)
        return []

    def _needed(self, taken: Sequence[int], free: list[int], nodes: int, each: int) -> list[int]:
        """Leave out those that are not in the way on the nodes with most free seats as it is."""
        good = [node for node, room in enumerate(free) if room >= each]
        chosen = sorted(good, key=lambda node: -self._free[node])[:nodes]
        spare = {node: free[node] - each for node in chosen}
        needed = []
        for number in reversed(taken):
            here = [(node, count) for node, count in self._running[number].seats if node in spare]
            if all(count <= spare[node] for node, count in here):
                for node, count in here:
                    spare[node] -= count
            else:
                needed.append(number)
        return needed


def _shape(gpus: int) -> tuple[int, int]:
    """Nodes needed, and GPUs on each; the rest of a large job counts as a whole node."""
    if gpus <= GPUS_PER_NODE:
        return 1, gpus
    return -(-gpus // GPUS_PER_NODE), GPUS_PER_NODE


def _seats(free: Sequence[int], gpus: int) -> Seats | None:
    """Best fit: the fullest nodes where it fits, the first among equals."""
    nodes, each = _shape(gpus)
    if nodes == 1:
        room = min((room for room in free if room >= each), default=None)
        return None if room is None else ((free.index(room), each),)
    empty = [node for node, room in enumerate(free) if room == each]
    return tuple((node, each) for node in empty[:nodes]) if len(empty) >= nodes else None
