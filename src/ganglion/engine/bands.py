"""When a waiting gang is expected to start: a band, and how often such bands held.

The wait is first computed by playing through what is ahead of the gang in a pool of GPUs (or
CPUs, for gangs without GPUs) with learnt run times. That knows nothing of overtaking,
newcomers and fragmentation. So past bands correct it: each bound is the computed wait times a
factor that grows with every band that did not hold and shrinks with every one that did, apart
for waits of like length.
"""

from collections import deque
from collections.abc import Hashable, Iterable, Iterator
from heapq import heappop, heappush

from msgspec import Struct

from ganglion.engine.estimates import Estimates
from ganglion.engine.holdings import Holdings
from ganglion.engine.lanes import Lane
from ganglion.engine.load import Load
from ganglion.engine.queueing import Batch, wait_behind
from ganglion.engine.record import GangRecord
from ganglion.engine.reservation import Reservation
from ganglion.engine.tracking import ONE, Factor
from ganglion.model.events import StartExpected
from ganglion.model.plan import Phase
from ganglion.model.resources import WHOLE, Usage
from ganglion.model.workload import Gang

LEAST_MS = 1_800_000
"""Shortest wait that is computed; below it, who comes next matters more than what runs."""

SCORED = 1000
"""Bands over which it is reported how often they held."""


class Band(Struct, frozen=True):
    """When a gang is expected to start.

    Attributes:
        p50_ms, p90_ms: times by which half and nine of ten such gangs start.
        raw_ms: the wait computed, before the correction.
        samples: past bands that corrected it.
    """

    p50_ms: int
    p90_ms: int
    raw_ms: int
    samples: int


class Coverage(Struct, frozen=True):
    """How often bands held lately.

    Attributes:
        bands: how many ended with a start.
        held_p50, held_p90: starts that came by the time told.
    """

    bands: int
    held_p50: int
    held_p90: int


class Bands:
    """Bands that were told, and what came of them.

    Args:
        state: the fleet and what waits.
        estimates: learnt run times.
    """

    def __init__(self, state: Holdings, estimates: Estimates) -> None:
        self._state, self._estimates = state, estimates
        self._open: dict[str, _Told] = {}
        self._deadlines: list[tuple[int, str, int, int]] = []
        self._load = Load()
        self._factors: dict[Hashable, tuple[Factor, Factor]] = {
            (): (Factor(50, ONE // 2), Factor(90, 2 * ONE))
        }
        self._scores: deque[tuple[bool, bool]] = deque(maxlen=SCORED)

    def tell(self, records: Iterable[GangRecord], now: int) -> Iterator[StartExpected]:
        """The bands of gangs that have just begun to wait, in the order in which they did."""
        ahead: dict[Lane, tuple[list[Batch], dict[str, int]]] = {}
        for record in records:
            gang = record.gang.id
            lane = self._state.lanes.of(gang)
            if record.phase is not Phase.PENDING or gang in self._open or not lane:
                continue
            self._state.attend(gang)
            if lane not in ahead:
                places = {key[-1]: place for place, key in enumerate(lane.in_order())}
                ahead[lane] = (self._ahead(record, lane), places)
            others, places = ahead[lane]
            band = self._band(self._wait(record, others, places[gang], now), now)
            yield StartExpected(now, gang, band.p50_ms, band.p90_ms, band.raw_ms)

    def apply(self, event: StartExpected) -> bool:
        """A band was told to the gang's user."""
        self._settle(event.at)
        kinds = self._kinds(event.raw_ms)
        gang = self._state.record(event.gang).gang
        self._open[event.gang] = _Told(event, kinds, self._estimates.estimate(gang).mean_ms)
        for which, at in enumerate((event.p50_ms, event.p90_ms)):
            heappush(self._deadlines, (at, event.gang, event.at, which))
        return True

    def _settle(self, now: int) -> None:
        """Bounds that have passed while their gang still waits did not hold."""
        while self._deadlines and self._deadlines[0][0] < now:
            _, gang, at, which = heappop(self._deadlines)
            told = self._open.get(gang)
            if told and told.event.at == at:
                self._learn(told, which, held=False)

    def _learn(self, told: "_Told", which: int, held: bool) -> None:
        told.known[which] = True
        for kind in told.kinds:
            self._factors[kind][which].learn(held)

    def told(self, gang: str) -> StartExpected | None:
        """The band told to the user of a gang that still waits."""
        found = self._open.get(gang)
        return found.event if found else None

    def started(self, record: GangRecord, now: int) -> None:
        """A gang has started: score its band, and note when it should end."""
        expected = self._estimates.estimate(record.gang).mean_ms
        self._load.add(record.gang.id, now + expected, record.charged)
        self._settle(now)
        told = self._open.pop(record.gang.id, None)
        if told is None:
            return
        self._scores.append((now <= told.event.p50_ms, now <= told.event.p90_ms))
        for which, known in enumerate(tuple(told.known)):
            if not known:
                self._learn(told, which, held=True)

    def ended(self, gang: str) -> None:
        """An attempt is over, or nobody wants the gang any more."""
        self._load.remove(gang)
        self._open.pop(gang, None)

    def coverage(self) -> Coverage:
        """How often the latest bands held."""
        scores = self._scores
        return Coverage(len(scores), sum(p50 for p50, _ in scores), sum(p90 for _, p90 in scores))

    def band(self, record: GangRecord, now: int, held: Reservation | None = None) -> Band:
        """When a waiting gang is expected to start.

        Args:
            record: a waiting gang.
            now: the time in ms.
            held: its reservation, which bounds the band.
        """
        band = self._band(self.raw(record, now), now)
        if held is None or held.start_ms >= band.p90_ms:
            return band
        latest = max(held.start_ms, now)
        return Band(min(band.p50_ms, latest), latest, band.raw_ms, band.samples)

    def raw(self, record: GangRecord, now: int) -> int:
        """The wait of a gang by learnt run times alone, in ms."""
        lane = self._state.lanes.of(record.gang.id)
        place = 0
        if lane:
            place = [key[-1] for key in lane.in_order()].index(record.gang.id)
        return self._wait(record, self._ahead(record, lane), place, now)

    def _band(self, raw: int, now: int) -> Band:
        p50, p90 = self._factors[self._kinds(raw)[-1]]
        latest = p90.times(raw)
        return Band(now + min(p50.times(raw), latest), now + latest, raw, p90.seen)

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
        return _Unit(self._state, gpus, self._state.totals.flavors_for(record.shapes))

    def _wait(self, record: GangRecord, ahead: list[Batch], place: int, now: int) -> int:
        """The wait behind other lanes and behind so many gangs of the gang's own."""
        unit, size = self._unit(record), _Unit.asked(record.gang)
        own = Batch(place, size, self._length(record.gang))
        load = self._load.running(unit.flavors, now)
        running = [(left, unit.of(usage)) for left, usage in load]
        total = unit.capacity()
        free = total - sum(used for _, used in running)
        return max(wait_behind(free, running, [*ahead, own], size, total), LEAST_MS)

    def _ahead(self, record: GangRecord, own: Lane | None) -> list[Batch]:
        """What waits in the other lanes in front, the next to go first."""
        gang, state = record.gang, self._state
        gpus = bool(_work(gang)[0])
        key = next((k for k in own.in_order() if k[-1] == gang.id), None) if own else None
        found = []
        for lane in state.lanes:
            head = lane.head()
            if lane is own or not head or lane.priority < gang.priority:
                continue
            if lane.priority > gang.priority or key is None or head < key:
                first = state.records[head[-1]].gang
                size = _work(first)[0 if gpus else 1]
                found.append((-lane.priority, head, Batch(len(lane), size, self._length(first))))
        found.sort()
        return [batch for _, _, batch in found]

    def _length(self, gang: Gang) -> int:
        told = self._open.get(gang.id)
        return told.length_ms if told else self._estimates.estimate(gang).mean_ms


class _Told:
    """A band that was told, what it teaches, and which of its bounds did not hold.

    Attributes:
        length_ms: run time expected of the gang when it was told.
    """

    def __init__(self, event: StartExpected, kinds: tuple[Hashable, ...], length_ms: int) -> None:
        self.event, self.kinds, self.length_ms = event, kinds, length_ms
        self.known = [False, False]


class _Unit:
    """What work is counted in: thousandths of GPUs, or of CPUs, of some flavors."""

    def __init__(self, state: Holdings, gpus: bool, flavors: tuple[str, ...]) -> None:
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
        table, tree = self._state.table, self._state.tree
        total = 0
        for number, count in tree.counts.items():
            condition = table.known[number]
            node_class = table.classes[condition.node_class]
            if condition.open and node_class.flavor in self.flavors:
                whole = len(condition.gpu) - len(condition.sick)
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
