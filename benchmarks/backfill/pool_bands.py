"""A start band as it was before roll-outs, kept as a peer: one pool, one length per gang.

The wait is computed by playing through what is ahead of the gang in a pool of GPUs (or CPUs, for
gangs without GPUs) with learnt run times. Factors that grow with every bound that did not hold
and shrink with every other one correct it, apart for waits of like length.
"""

from collections.abc import Hashable, Iterable, Iterator, Sequence, Set
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from ganglion.engine.gangs.pending import PendingClass
from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.model.events import Event, GangEnded
from ganglion.model.plan import Plan
from ganglion.model.resources import WHOLE, Usage
from ganglion.model.workload import Gang

LEAST_MS = 1_800_000
"""Shortest wait that is computed."""

STEPS = 256
"""Starts that are played through; what is further ahead counts by its work."""

ONE = 1_000_000
"""Factors are in millionths."""

STEP = 50_000
"""How much a factor grows, in millionths of itself, over as many misses as holds outweigh."""

MOST = 30 * ONE
"""The largest factor."""

GRAIN_MS = 60_000
"""Width of a bucket of time."""

Charged = tuple[tuple[str, Usage], ...]


Bound = tuple[int, int]
"""Waits in ms that half and nine of ten such gangs do not exceed."""


class Factor:
    """What a computed wait is multiplied by, so that `percent` % of true waits stay below.

    A miss makes it larger, a hold a little smaller, in such a ratio that it settles
    where the bound holds for `percent` % (adaptive conformal inference: Gibbs and Candes,
    NeurIPS 2021; Angelopoulos et al., 2023, call the plain form quantile tracking). It needs no
    assumption about how waits are distributed, and follows when habits change.

    Args:
        percent: how often the bound should hold.
        millionths: where to start.
    """

    __slots__ = ("_percent", "millionths", "seen")

    def __init__(self, percent: int, millionths: int) -> None:
        self._percent, self.millionths, self.seen = percent, millionths, 0

    def learn(self, held: bool) -> None:
        """One more bound held, or did not."""
        self.seen += 1
        share = self._percent - 100 if held else self._percent
        self.millionths += self.millionths * share * STEP // (100 * ONE)
        self.millionths = min(max(self.millionths, ONE // 1000), MOST)

    def times(self, wait_ms: int) -> int:
        """The bound for a computed wait."""
        return wait_ms * self.millionths // ONE


class Load:
    """What running gangs use by flavor and by the bucket in which they should end."""

    def __init__(self) -> None:
        self._gangs: dict[str, tuple[int, Charged]] = {}
        self._buckets: dict[str, dict[int, Usage]] = {}

    def add(self, gang: str, end: int, charged: Charged) -> None:
        """A gang starts that should end then (ms)."""
        self.remove(gang)
        self._gangs[gang] = (end // GRAIN_MS, charged)
        self._count(end // GRAIN_MS, charged, 1)

    def remove(self, gang: str) -> None:
        """A gang runs no more; does nothing for one that did not."""
        known = self._gangs.pop(gang, None)
        if known:
            self._count(*known, -1)

    def running(self, flavors: Set[str], now: int) -> Iterator[tuple[int, Usage]]:
        """(time left in ms, use) of all that runs on the flavors, bucket by bucket.

        What is overdue may run half as long again as it is late.
        """
        for flavor in sorted(flavors & self._buckets.keys()):
            for bucket, usage in self._buckets[flavor].items():
                left = (bucket + 1) * GRAIN_MS - now
                yield (left if left > 0 else GRAIN_MS - left // 2, usage)

    def _count(self, bucket: int, charged: Charged, sign: int) -> None:
        for flavor, usage in charged:
            buckets = self._buckets.setdefault(flavor, {})
            total = buckets.get(bucket, Usage()).plus(usage, sign)
            if total == Usage():
                buckets.pop(bucket, None)
            else:
                buckets[bucket] = total


class Batch(NamedTuple):
    """Equal gangs: how many, what each asks for, and how long each is expected to run."""

    gangs: int
    size: int
    length_ms: int


def wait_behind(
    free: int, running: Iterable[tuple[int, int]], ahead: Iterable[Batch], size: int, total: int
) -> int:
    """The wait of a gang in a pool without nodes, first come first served (list scheduling).

    Args:
        free: what is free now.
        running: (time left in ms, size) of everything that runs.
        ahead: what waits in front, in order.
        size: what the gang asks for.
        total: all of the pool.

    Returns:
        The wait in ms.
    """
    pool = _Pool(free, list(running))
    steps, rest = STEPS, 0
    for batch in ahead:
        played = min(batch.gangs, steps)
        for _ in range(played):
            pool.start(batch.size, batch.length_ms)
        steps -= played
        rest += (batch.gangs - played) * batch.size * batch.length_ms
    pool.start(size, 0)
    return pool.at + rest // max(total, 1)


class _Pool:
    """What is free, and when more comes back."""

    def __init__(self, free: int, running: list[tuple[int, int]]) -> None:
        self.at, self._free, self._ends = 0, free, running
        heapify(running)

    def start(self, size: int, length_ms: int) -> None:
        """Wait until `size` is free, or nothing runs any more, and take it."""
        while self._free < size and self._ends:
            end, back = heappop(self._ends)
            self.at, self._free = max(self.at, end), self._free + back
        self._free -= size
        heappush(self._ends, (self.at + length_ms, size))


class PoolBands:
    """The peer's bands in one replay."""

    def __init__(self) -> None:
        self._open: dict[str, _Told] = {}
        self._deadlines: list[tuple[int, str, int, int]] = []
        self._load = Load()
        self._factors: dict[Hashable, tuple[Factor, Factor]] = {
            (): (Factor(50, ONE // 2), Factor(90, 2 * ONE))
        }

    def look(self, state: ClusterState, events: Sequence[Event], plan: Plan) -> None:
        """Take in what ended and started; a `Look` of `drive`."""
        self._state = state
        for event in events:
            if isinstance(event, GangEnded):
                self._load.remove(event.gang)
                self._open.pop(event.gang, None)
        for start in plan.starts:
            self._started(state.gangs.record(start.gang.id), plan.at)

    def tell(self, record: GangRecord, now: int) -> Bound:
        """The band of a gang that begins to wait; it teaches."""
        raw = self._raw(record, now)
        bound = self._bound(raw)
        self._settle(now)
        gang, length = record.gang, self._state.gangs.estimates.estimate(record.gang).mean_ms
        self._open[gang.id] = _Told(now, self._kinds(raw), length)
        for which, wait in enumerate(bound):
            heappush(self._deadlines, (now + wait, gang.id, now, which))
        return bound

    def band(self, record: GangRecord, now: int) -> Bound:
        """The band of a waiting gang."""
        return self._bound(self._raw(record, now))

    def _bound(self, raw: int) -> Bound:
        p50, p90 = self._factors[self._kinds(raw)[-1]]
        latest = p90.times(raw)
        return min(p50.times(raw), latest), latest

    def _started(self, record: GangRecord, now: int) -> None:
        expected = self._state.gangs.estimates.estimate(record.gang).mean_ms
        self._load.add(record.gang.id, now + expected, record.charged)
        self._settle(now)
        told = self._open.pop(record.gang.id, None)
        for which, known in enumerate(tuple(told.known) if told else ()):
            if told and not known:
                self._learn(told, which, held=True)

    def _settle(self, now: int) -> None:
        """Bounds that have passed while their gang still waits did not hold."""
        while self._deadlines and self._deadlines[0][0] < now:
            _, gang, at, which = heappop(self._deadlines)
            told = self._open.get(gang)
            if told and told.at == at:
                self._learn(told, which, held=False)

    def _learn(self, told: "_Told", which: int, held: bool) -> None:
        told.known[which] = True
        for kind in told.kinds:
            self._factors[kind][which].learn(held)

    def _raw(self, record: GangRecord, now: int) -> int:
        """The wait of a gang by learnt run times alone, in ms."""
        lane = self._state.gangs.lanes.of(record.gang.id)
        place = 0
        if lane:
            place = [key[-1] for key in lane.in_order()].index(record.gang.id)
        return self._wait(record, self._ahead(record, lane), place, now)

    def _kinds(self, raw: int) -> tuple[Hashable, ...]:
        """What a band teaches about: all, and waits of like length.

        A length that is met for the first time starts from what all have taught.
        """
        kind = (raw // LEAST_MS).bit_length() // 2
        if kind not in self._factors:
            p50, p90 = self._factors[()]
            self._factors[kind] = (Factor(50, p50.millionths), Factor(90, p90.millionths))
        return ((), kind)

    def _unit(self, record: GangRecord) -> "_Unit":
        gpus = bool(_work(record.gang)[0])
        return _Unit(self._state, gpus, self._state.fleet.totals.flavors_for(record.shapes))

    def _wait(self, record: GangRecord, ahead: list[Batch], place: int, now: int) -> int:
        """The wait behind other lanes and behind a number of gangs of the gang's own."""
        unit, size = self._unit(record), _Unit.asked(record.gang)
        own = Batch(place, size, self._length(record.gang))
        load = self._load.running(unit.flavors, now)
        running = [(left, unit.of(usage)) for left, usage in load]
        total = unit.capacity()
        free = total - sum(used for _, used in running)
        return max(wait_behind(free, running, [*ahead, own], size, total), LEAST_MS)

    def _ahead(self, record: GangRecord, own: PendingClass | None) -> list[Batch]:
        """What waits in the other lanes in front, the next to go first."""
        gang, state = record.gang, self._state
        gpus = bool(_work(gang)[0])
        key = next((k for k in own.in_order() if k[-1] == gang.id), None) if own else None
        found = []
        for lane in state.gangs.lanes:
            head = lane.head()
            if lane is own or not head or lane.priority < gang.priority:
                continue
            if lane.priority > gang.priority or key is None or head < key:
                first = state.gangs.records[head[-1]].gang
                size = _work(first)[0 if gpus else 1]
                found.append((-lane.priority, head, Batch(len(lane), size, self._length(first))))
        found.sort()
        return [batch for _, _, batch in found]

    def _length(self, gang: Gang) -> int:
        told = self._open.get(gang.id)
        return told.length_ms if told else self._state.gangs.estimates.estimate(gang).mean_ms


class _Told:
    """When a band was given, what it teaches, the run time expected, and which bounds passed."""

    def __init__(self, at: int, kinds: tuple[Hashable, ...], length_ms: int) -> None:
        self.at, self.kinds, self.length_ms = at, kinds, length_ms
        self.known = [False, False]


class _Unit:
    """What work is counted in: thousandths of GPUs, or of CPUs, of some flavors."""

    def __init__(self, state: ClusterState, gpus: bool, flavors: tuple[str, ...]) -> None:
        self._state, self._gpus, self.flavors = state, gpus, frozenset(flavors)

    @staticmethod
    def asked(gang: Gang) -> int:
        """What a gang asks for: GPUs, or CPUs if it uses none."""
        gpu, cpu = _work(gang)
        return gpu or cpu

    def of(self, usage: Usage) -> int:
        """The part of a use that counts."""
        return usage.gpu_milli if self._gpus else usage.cpu_milli

    def capacity(self) -> int:
        """What nodes of the flavors have."""
        table, tree = self._state.fleet.table, self._state.fleet.tree
        total = 0
        for number, count in tree.counts.items():
            condition = table.known[number]
            node_class = table.classes[condition.node_class]
            if count and condition.open and node_class.flavor in self.flavors:
                whole = len(node_class.devices) - len(condition.sick)
                total += count * (whole * WHOLE if self._gpus else node_class.cpu_milli)
        return total


def _work(gang: Gang) -> tuple[int, int]:
    """Thousandths of GPUs and of CPUs that a gang asks for; a share in memory counts as half."""
    gpu = cpu = 0
    for each in gang.pod_sets:
        asked = each.request.gpu
        gpu += each.count * asked.count * (WHOLE // 2 if asked.share_mib else asked.milli)
        cpu += each.count * each.request.cpu_milli
    return gpu, cpu
