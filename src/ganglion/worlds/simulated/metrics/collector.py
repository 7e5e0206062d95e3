"""Collects the figures of a run while it goes; notified by the world of what really happens."""

from collections import Counter
from collections.abc import Sequence

from msgspec import Struct, field

from ganglion.engine.plugins.protocols import Typical
from ganglion.model.events import Outcome
from ganglion.model.fleet.node import Node
from ganglion.model.placement import PodPlacement
from ganglion.worlds.simulated.job import SimJob
from ganglion.worlds.simulated.metrics.fragmentation import CapacityUnit, Fragments, NodeRoom
from ganglion.worlds.simulated.metrics.records import JobRecord, record_of
from ganglion.worlds.simulated.metrics.steps import Steps
from ganglion.worlds.simulated.watcher import SimulatedEnd


class Counts(Struct):
    """How often things happened.

    Attributes:
        node_losses, device_failures: of the cluster.
        interruptions: attempts that were cut short, by outcome.
        trades: attempts that were stopped for another gang, by kind.
        grown, shrunk: changes of elastic gangs.
        lost_milli_ms: time lost, in thousandths of a unit x ms.
        traded_milli_ms: what of it is the price of preemption and of changes of size.
    """

    node_losses: int = 0
    device_failures: int = 0
    interruptions: Counter[str] = field(default_factory=Counter)
    trades: Counter[str] = field(default_factory=Counter)
    grown: int = 0
    shrunk: int = 0
    lost_milli_ms: int = 0
    traded_milli_ms: int = 0


class Collector:
    """Figures of one run; a `Watcher`.

    Memory is bounded by the number of jobs, nodes and queues, not by the length of the run.

    Args:
        typical: the workload that fragmentation is measured against.
        start: time at which the run begins, in ms.
        unit: what capacity is counted in.

    Attributes:
        unit: the same.
        records: every submitted job, by gang id.
        done: how many of them are over.
        while_submitting: integrals of `used` and `total` up to the last submission.
        used, total, free: thousandths in use, usable in all, and free.
        fragment: free thousandths that typical pods cannot use, times `fragments.weight`.
        waiting, running: jobs that wait and that hold resources.
        headroom: units of the largest gang that could start: those of wholly free nodes, or the
            most whole ones free on one node.
        by_queue: thousandths in use per queue.
    """

    def __init__(self, typical: Typical, start: int, unit: CapacityUnit = CapacityUnit.GPU) -> None:
        self.unit, self._start = unit, start
        self.records: dict[str, JobRecord] = {}
        self.done = 0
        self.while_submitting = (0, 0)
        self.counts = Counts()
        self.fragments = Fragments(typical)
        self.used, self.total, self.free, self.fragment, self.waiting, self.running = (
            Steps(start) for _ in range(6)
        )
        self.headroom = Steps(start)
        self.by_queue: dict[str, Steps] = {}
        self._rooms: dict[str, NodeRoom] = {}
        self._untouched = 0
        self._holes: Counter[int] = Counter()

    # --- jobs -----------------------------------------------------------------------------

    def submitted(self, job: SimJob, at: int) -> None:
        """A job was submitted."""
        self.records[job.gang.id] = record_of(job, self.unit)
        self.waiting.add(at, 1)
        for steps in (self.used, self.total):
            steps.add(at, 0)
        self.while_submitting = (self.used.total, self.total.total)

    def placed(self, job: SimJob, pods: Sequence[PodPlacement], at: int) -> None:
        """An attempt takes its resources."""
        self.records[job.gang.id].attempts += 1
        self.waiting.add(at, -1)
        self.running.add(at, 1)
        self._move(job, pods, at, 1)

    def begun(self, job: SimJob, at: int) -> None:
        """The pods of an attempt run."""
        record = self.records[job.gang.id]
        if record.first_start is None:
            record.first_start = at

    def resized(
        self, job: SimJob, gone: Sequence[PodPlacement], came: Sequence[PodPlacement], at: int
    ) -> None:
        """Pods of an attempt give their resources back, or take new ones."""
        self.counts.shrunk += bool(gone)
        self.counts.grown += bool(came)
        self._move(job, gone, at, -1)
        self._move(job, came, at, 1)

    def ended(self, job: SimJob, pods: Sequence[PodPlacement], end: SimulatedEnd) -> None:
        """An attempt gives its resources back."""
        record = self.records[job.gang.id]
        self.running.add(end.at, -1)
        self._move(job, pods, end.at, -1)
        record.lost_ms += end.lost_ms
        self.counts.lost_milli_ms += end.lost_ms * record.size_milli
        self.counts.traded_milli_ms += end.traded_ms * record.size_milli
        if end.trade:
            self.counts.trades[end.trade] += 1
            record.preemptions += 1
        if end.final:
            self.done += 1
            record.ended, record.outcome = end.at, end.outcome
        else:
            self.waiting.add(end.at, 1)
            self.counts.interruptions[end.outcome] += 1

    def withdrawn(self, job: SimJob, at: int) -> None:
        """A job that could never start was taken back."""
        self.waiting.add(at, -1)
        record = self.records[job.gang.id]
        self.done += 1
        record.withdrawn, record.ended, record.outcome = True, at, Outcome.CANCELLED

    # --- nodes ----------------------------------------------------------------------------

    def begin(self, nodes: Sequence[Node]) -> None:
        """The cluster as it is when the run begins."""
        for node in nodes:
            self.node_up(node, self._start)

    def node_up(self, node: Node, at: int) -> None:
        """A node joined or came back."""
        room = self._rooms[node.name] = NodeRoom(node, self.unit)
        self._count(room, at, 1)

    def node_down(self, node: Node, at: int) -> None:
        """A node is gone; nothing runs on it any more."""
        self.counts.node_losses += 1
        room = self._rooms.pop(node.name)
        self._count(room, at, -1)

    def device(self, node: Node, index: int, healthy: bool, at: int) -> None:
        """A device failed or is usable again; nothing runs on it."""
        self.counts.device_failures += not healthy
        room = self._rooms[node.name]
        self._count(room, at, -1)
        room.heal(index, healthy)
        self._count(room, at, 1)

    # --- resources ------------------------------------------------------------------------

    def _move(self, job: SimJob, pods: Sequence[PodPlacement], at: int, sign: int) -> None:
        requests = {pods.name: pods.request for pods in job.gang.pod_sets}
        milli = 0
        for pod in pods:
            room = self._rooms[pod.node]
            self._count(room, at, -1)
            milli += room.take(requests[pod.pod_set], pod.devices, pod.milli, sign)
            self._count(room, at, 1)
        if milli:
            self.used.add(at, sign * milli)
            self._queue(job.gang.queue).add(at, sign * milli)

    def _queue(self, name: str) -> Steps:
        found = self.by_queue.get(name)
        if found is None:
            found = self.by_queue[name] = Steps(self._start)
        return found

    def _count(self, room: NodeRoom, at: int, sign: int) -> None:
        """Take a node into (`sign` 1) or out of (-1) the sums over nodes."""
        size = room.size_milli
        if not size:
            return
        self.total.add(at, sign * size)
        self.free.add(at, sign * room.free_milli)
        self.fragment.add(at, sign * self.fragments.of(room))
        self._holes[room.whole_free] += sign
        if room.untouched:
            self._untouched += sign * room.whole_free
        if sign > 0:
            hole = max((size for size, nodes in self._holes.items() if nodes), default=0)
            self.headroom.set(at, max(self._untouched, hole))
