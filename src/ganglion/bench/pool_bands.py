"""A start band as it was before roll-outs, kept as a peer: one pool, one length per gang.

The wait is what list scheduling gives in a pool without nodes, at least half an hour; factors
that grow with every bound that did not hold and shrink with every other correct it (quantile
tracking: Gibbs and Candes, NeurIPS 2021).
"""

from collections.abc import Hashable, Iterable, Sequence
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from ganglion.engine.lanes import Lane
from ganglion.engine.record import GangRecord
from ganglion.engine.state import ClusterState
from ganglion.model.events import Event, GangEnded
from ganglion.model.plan import Plan
from ganglion.model.resources import WHOLE
from ganglion.model.workload import Gang

LEAST_MS = 1_800_000
STEPS = 256
"""Starts that are played through; what is further ahead counts by its work."""

STEP, MOST = 0.05, 30.0
"""How fast a factor learns, and the largest one."""

Bound = tuple[float, float]
"""Waits in ms that half and nine of ten such gangs do not exceed."""


class Factor:
    """What a computed wait is multiplied by, so that a share of true waits stays below."""

    def __init__(self, share: float, value: float) -> None:
        self._share, self.value = share, value

    def learn(self, held: bool) -> None:
        """One more bound held, or did not."""
        self.value *= 1 + STEP * (self._share - held)
        self.value = min(max(self.value, 0.001), MOST)


class Batch(NamedTuple):
    """Equal gangs: how many, what each asks for, and how long each is expected to run."""

    gangs: int
    size: int
    length_ms: int


class Told(NamedTuple):
    """A band that was told: when, its bounds, what it teaches, and the run time expected."""

    at: int
    bound: Bound
    kinds: tuple[Hashable, ...]
    length_ms: int


class PoolBands:
    """Bands of one replay; call `look` after every cycle, then `band`."""

    def __init__(self) -> None:
        self._open: dict[str, Told] = {}
        self._known: dict[str, list[bool]] = {}
        self._deadlines: list[tuple[float, str, int]] = []
        self._ends: dict[str, tuple[int, int]] = {}
        self._factors: dict[Hashable, tuple[Factor, Factor]] = {
            (): (Factor(0.5, 0.5), Factor(0.9, 2.0))
        }

    def look(self, state: ClusterState, events: Sequence[Event], plan: Plan) -> None:
        """Take in what ended and started; a `Look` of `drive`."""
        for event in events:
            if isinstance(event, GangEnded):
                self._ends.pop(event.gang, None)
                self._open.pop(event.gang, None)
        self._settle(plan.at)
        for start in plan.starts:
            gang = start.gang
            length = state.estimates.estimate(gang).mean_ms
            self._ends[gang.id] = (plan.at + length, _size(gang))
            if told := self._open.pop(gang.id, None):
                for which, known in enumerate(self._known[gang.id]):
                    if not known:
                        self._learn(told, which, held=True)

    def tell(self, state: ClusterState, record: GangRecord, now: int) -> Bound:
        """The band of a gang that begins to wait; it teaches."""
        raw = self._raw(state, record, now)
        bound = self._bound(raw)
        length = state.estimates.estimate(record.gang).mean_ms
        self._open[record.gang.id] = Told(now, bound, self._kinds(raw), length)
        self._known[record.gang.id] = [False, False]
        for which, wait in enumerate(bound):
            heappush(self._deadlines, (now + wait, record.gang.id, which))
        return bound

    def band(self, state: ClusterState, record: GangRecord, now: int) -> Bound:
        """The band of a waiting gang."""
        return self._bound(self._raw(state, record, now))

    def _bound(self, raw: int) -> Bound:
        p50, p90 = self._factors[self._kinds(raw)[-1]]
        return min(p50.value, p90.value) * raw, p90.value * raw

    def _settle(self, now: int) -> None:
        while self._deadlines and self._deadlines[0][0] < now:
            _, gang, which = heappop(self._deadlines)
            if told := self._open.get(gang):
                self._known[gang][which] = True
                self._learn(told, which, held=False)

    def _learn(self, told: Told, which: int, held: bool) -> None:
        for kind in told.kinds:
            self._factors[kind][which].learn(held)

    def _kinds(self, raw: int) -> tuple[Hashable, ...]:
        kind = (raw // LEAST_MS).bit_length() // 2
        if kind not in self._factors:
            p50, p90 = self._factors[()]
            self._factors[kind] = (Factor(0.5, p50.value), Factor(0.9, p90.value))
        return ((), kind)

    def _raw(self, state: ClusterState, record: GangRecord, now: int) -> int:
        lane = state.lanes.of(record.gang.id)
        assert lane, "only gangs that wait for room are asked about"
        keys = lane.in_order()
        place = [key[-1] for key in keys].index(record.gang.id)
        size, total = _size(record.gang), _total(state, record.gang)
        ahead = [*self._ahead(state, record.gang, lane), self._batch(state, record.gang, place)]
        late = [(end - now, used) for end, used in self._ends.values()]
        running = [(left if left > 0 else 60_000 - left // 2, used) for left, used in late]
        free = total - sum(used for _, used in running)
        return max(wait_behind(free, running, ahead, size, total), LEAST_MS)

    def _ahead(self, state: ClusterState, gang: Gang, own: Lane) -> list[Batch]:
        """What waits in the other lanes in front, the next to go first."""
        key = next(each for each in own.in_order() if each[-1] == gang.id)
        found = []
        for lane in state.lanes:
            head = lane.head()
            if lane is own or not head or lane.priority < gang.priority:
                continue
            if lane.priority > gang.priority or head < key:
                first = state.records[head[-1]].gang
                found.append((-lane.priority, head, self._batch(state, first, len(lane))))
        return [batch for _, _, batch in sorted(found)]

    def _batch(self, state: ClusterState, gang: Gang, count: int) -> Batch:
        told = self._open.get(gang.id)
        length = told.length_ms if told else state.estimates.estimate(gang).mean_ms
        return Batch(count, _size(gang), length)


def wait_behind(
    free: int, running: Iterable[tuple[int, int]], ahead: Iterable[Batch], size: int, total: int
) -> int:
    """The wait in ms in a pool without nodes, first come first served (list scheduling).

    Args:
        free: what is free now.
        running: (time left in ms, size) of everything that runs.
        ahead: what waits in front, in order.
        size: what the gang asks for.
        total: all of the pool.
    """
    ends, at, steps, rest = list(running), 0, STEPS, 0
    heapify(ends)
    for batch in (*ahead, Batch(1, size, 0)):
        played = min(batch.gangs, steps) if batch.length_ms else 1
        for _ in range(played):
            while free < batch.size and ends:
                end, back = heappop(ends)
                at, free = max(at, end), free + back
            free -= batch.size
            heappush(ends, (at + batch.length_ms, batch.size))
        steps -= played
        rest += (batch.gangs - played) * batch.size * batch.length_ms
    return at + rest // max(total, 1)


def _size(gang: Gang) -> int:
    """Thousandths of GPUs that a gang asks for, or of CPUs if it uses none."""
    gpu = sum(s.count * s.request.gpu.count * s.request.gpu.milli for s in gang.pod_sets)
    return gpu or sum(s.count * s.request.cpu_milli for s in gang.pod_sets)


def _total(state: ClusterState, gang: Gang) -> int:
    """Thousandths of GPUs, or of CPUs, of all nodes."""
    gpus = any(each.request.gpu.count for each in gang.pod_sets)
    nodes = state.tree.nodes
    return sum(len(node.devices) * WHOLE if gpus else node.cpu_milli for node in nodes)
