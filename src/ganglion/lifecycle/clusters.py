"""What the events of clusters amount to: which gangs live there, and what became of the others.

Follows from the events that were delivered and from nothing else, so that a replay gives the
same books. Events of a scheduler before the newest one are kept in the ledger and change nothing
here: the newest one says anew what it finds.
"""

from collections.abc import Iterator
from functools import partial

from msgspec import Struct, field
from msgspec.structs import replace

from ganglion.lifecycle.waiting.delivered import ClusterWaits, DeliveredWait
from ganglion.model.events import (
    Delivered,
    DeliveredEvent,
    GangEnded,
    GangPlaced,
    GangResized,
    GangStarted,
    GangSubmitted,
    GangUpdated,
    ImagesReported,
    Outcome,
    QueueRemoved,
    QueueSet,
    ReasonsChanged,
    RecordsLost,
    ReportedImage,
    SchedulerEnded,
    SchedulerSettled,
    SchedulerStarted,
    WaitGroups,
)
from ganglion.model.placement import Placement, same_place
from ganglion.model.resources import WHOLE
from ganglion.model.workload import Gang, Workload

CLUSTER_NAME = "[a-z0-9](?:[a-z0-9.-]{0,61}[a-z0-9])?"
"""Pattern of the names of clusters."""
UNSEEN = "unseen"
"""Cause of an end that no scheduler saw."""


class DeliveredGang(Struct):
    """A gang of a cluster.

    Attributes:
        gang: as it was last submitted.
        image, owner: as its submission names them.
        placement: where it runs or ran last; None = it never did.
        placed: when its last attempt was placed, in ms.
        started: when its last attempt ran whole, in ms; 0 = it has not.
        began: when its first attempt did; 0 = never.
        attempts: how many were placed.
        outcome: how the last attempt that ended did.
        restarts: attempts that were followed by another wait.
        preemptions: attempts that were stopped for others.
        lost_gpu_ms: GPU time that these threw away.
        run_ms: time in which it ran.
        gpu_ms: GPU time that it held.
        ended: when it ended for good, in ms; 0 = it lives.
        number: of its attempt, as its scheduler counts.
        confirmed: whether the present scheduler has named it.
        holds: whether it holds its place.
        images: what the containers of its last attempt ran, as kubelets said.
        wait: for what it has waited.
    """

    gang: Gang
    image: str = ""
    owner: str = ""
    placement: Placement | None = None
    placed: int = 0
    started: int = 0
    began: int = 0
    attempts: int = 0
    outcome: Outcome | None = None
    exit_code: int | None = None
    message: str = ""
    restarts: int = 0
    preemptions: int = 0
    lost_gpu_ms: int = 0
    run_ms: int = 0
    gpu_ms: int = 0
    ended: int = 0
    number: int = 0
    confirmed: bool = True
    holds: bool = False
    images: tuple[ReportedImage, ...] = ()
    wait: DeliveredWait = field(default_factory=DeliveredWait)

    def take(self, event: Delivered) -> None:
        """Go on by one event about it."""
        match event:
            case GangPlaced(placement=place, attempt=number, at=at):
                self.number = number
                if self.holds and same_place(self.placement, place):
                    return  # a scheduler that has started says again where it found it
                self._let_go(at)
                self.wait.end(at)
                self.placement, self.placed, self.started = place, at, 0
                self.attempts += 1
                self.holds, self.images = True, ()
            case GangResized(placement=place, at=at):
                self._charge(at)
                self.placement, self.placed = place, at
            case ImagesReported(images=images):
                self.images = tuple(dict.fromkeys((*self.images, *images)))
            case GangStarted(at=at):
                self.started = self.started or at
                self.began = self.began or at
            case GangUpdated(queue=str(queue)):
                self.gang = _moved(self.gang, queue)
            case GangEnded():
                self._end(event)

    def _end(self, event: GangEnded) -> None:
        self._let_go(event.at)
        self.outcome, self.exit_code = event.outcome, event.exit_code
        self.message = event.message
        if event.outcome is Outcome.PREEMPTED:
            self.preemptions += 1
            self.lost_gpu_ms += event.lost_gpu_ms
        if event.requeue:
            self.restarts += 1
            self.wait.begin(self.attempts + 1, event.at)
        else:
            self.ended = max(event.at, 1)
            self.wait.end(event.at)

    def _charge(self, at: int) -> None:
        if self.holds and self.placement:
            milli = sum(len(pod.devices) * pod.milli for pod in self.placement.pods)
            self.gpu_ms += milli * max(at - self.placed, 0) // WHOLE

    def _let_go(self, at: int) -> None:
        self._charge(at)
        if self.holds and self.started:
            self.run_ms += max(at - self.started, 0)
        self.holds, self.started = False, 0


def _moved(gang: Gang, queue: str) -> Gang:
    return replace(gang, queue=queue)


class ClusterBook(Struct):
    """What is known of one cluster.

    Attributes:
        scheduler: id of the newest one that began.
        version: of its software.
        settled: whether it has looked at all that the cluster shows.
        positions: number of the last record of each scheduler.
        open: schedulers that began and have not ended, as far as is known.
        gangs: those that live, by id.
        over: those that have ended since `close`.
        parents: queue -> the queue above it.
        heard: when the last record came, in ms.
        lost: records that are known to be missing.
        waits: what its newest scheduler has said of why gangs wait.
    """

    scheduler: str = ""
    version: str = ""
    settled: bool = False
    positions: dict[str, int] = field(default_factory=dict)
    open: list[str] = field(default_factory=list)
    gangs: dict[str, DeliveredGang] = field(default_factory=dict)
    over: list[DeliveredGang] = field(default_factory=list)
    parents: dict[str, str] = field(default_factory=dict)
    heard: int = 0
    lost: int = 0
    waits: ClusterWaits = field(default_factory=ClusterWaits)

    def unaccounted(self, scheduler: str, follows: tuple[str, ...]) -> list[str]:
        """Schedulers before one whose last records may be missing."""
        return [each for each in self.open if each < scheduler and each not in follows]

    def gone(self) -> list[DeliveredGang]:
        """Gangs that the newest scheduler would have named if they were there still."""
        return [each for each in self.gangs.values() if not each.confirmed]

    def note(self, event: DeliveredEvent) -> None:
        """Take an event of the cluster in."""
        known = self.positions.get(event.scheduler, 0)
        self.positions[event.scheduler] = max(known, event.number)
        self.heard, said = event.at, event.event
        match said:
            case SchedulerStarted():
                self._began(event.scheduler, said)
            case SchedulerEnded():
                self._closed(event.scheduler)
            case RecordsLost():
                self.lost += said.records
                self._closed(said.scheduler)
            case _ if event.scheduler == self.scheduler:
                self._take(said)
        if event.scheduler == self.scheduler:
            self._heard(said)

    def _heard(self, said: Delivered) -> None:
        """Until now holds what the newest scheduler has said of waits, unless it ends here."""
        match said:
            case SchedulerEnded(at=at):
                self._interrupted(at, at)
            case RecordsLost(scheduler=""):
                self._interrupted(said.since_ms or self.waits.said, said.until_ms or said.at)
                return
        self.waits.said = max(self.waits.said, said.at)

    def _interrupted(self, last: int, since: int) -> None:
        self.waits.interrupted((each.wait for each in self.gangs.values()), last, since)

    def _began(self, scheduler: str, said: SchedulerStarted) -> None:
        for each in said.follows:
            self._closed(each)
        self.open.append(scheduler)
        if scheduler > self.scheduler:
            self._interrupted(self.waits.said, said.at)
            self.scheduler, self.version, self.settled = scheduler, said.version, False
            for gang in self.gangs.values():
                gang.confirmed = False

    def _closed(self, scheduler: str) -> None:
        self.open = [each for each in self.open if each != scheduler]

    def _take(self, event: Delivered) -> None:
        match event:
            case SchedulerSettled():
                self.settled = True
            case QueueSet(queue=queue):
                self.parents[queue.name] = queue.parent
            case QueueRemoved(name=name):
                self.parents.pop(name, None)
            case GangSubmitted():
                self._submitted(event)
            case WaitGroups():
                self.waits.grouped(event, partial(self._waiting, event.at))
            case ReasonsChanged():
                self.waits.changed(event, [each.wait for each in self.gangs.values()], self._wait)
            case _:
                self._happened(event)

    def _wait(self, gang: str) -> DeliveredWait | None:
        known = self.gangs.get(gang)
        return known.wait if known else None

    def _waiting(self, at: int, gang: str) -> DeliveredWait | None:
        """The wait of a gang of which it is said that it waits; its begin may be missing."""
        known = self.gangs.get(gang)
        if known and known.wait.clock is None:
            known.wait.begin(known.attempts + 1, at if known.attempts else known.gang.submitted)
        return known.wait if known else None

    def _submitted(self, event: GangSubmitted) -> None:
        gang = event.gang
        if not gang.name:
            return  # a pod on its way out, which is no work of a user
        known = self.gangs.get(gang.id) or self._withdrawn(gang.id)
        if known is None:
            known = self.gangs[gang.id] = DeliveredGang(gang, event.image, event.owner)
            known.wait.begin(1, gang.submitted)
            return
        known.gang, known.image, known.owner = gang, event.image, event.owner
        known.confirmed = True
        self.gangs[gang.id] = known

    def _withdrawn(self, gang: str) -> DeliveredGang | None:
        """A gang that waited and was taken back, to be submitted otherwise."""
        found = next((e for e in self.over if e.gang.id == gang and not e.attempts), None)
        if found:
            self.over.remove(found)
            found.wait.resume(found.ended)
            found.ended, found.outcome = 0, None
        return found

    def _happened(self, event: Delivered) -> None:
        name = getattr(event, "gang", "")
        known = self.gangs.get(name) if isinstance(name, str) else None
        if known is None:
            return
        known.take(event)
        if known.ended:
            self.over.append(self.gangs.pop(name))


class ClusterBooks(Struct):
    """The clusters that deliver, by name."""

    of: dict[str, ClusterBook] = field(default_factory=dict)

    def note(self, event: object) -> None:
        """Take an event in, if it is one of a cluster."""
        if isinstance(event, DeliveredEvent):
            self.of.setdefault(event.cluster, ClusterBook()).note(event)

    def over(self) -> Iterator[tuple[str, DeliveredGang]]:
        """Gangs that have ended since `close`, each with its cluster before it."""
        for cluster, book in self.of.items():
            for gang in book.over:
                yield cluster, gang

    def close(self) -> None:
        """Forget gangs that have ended."""
        for book in self.of.values():
            book.over.clear()

    def tree(self) -> dict[str, str]:
        """Every cluster and its queues, as rights name them -> what is above each."""
        found = dict[str, str]()
        for cluster, book in self.of.items():
            found[place_of(cluster)] = ""
            for queue, parent in book.parents.items():
                found[place_of(cluster, queue)] = place_of(cluster, parent)
        return found


def place_of(cluster: str, queue: str = "") -> str:
    """How a queue of a cluster, or the cluster as a whole, is named at a server."""
    return f"{cluster}:{queue}"


def cluster_of(queue: str) -> str:
    """The cluster of a queue as a server names it; empty = it is one of the server itself."""
    return queue.rpartition(":")[0]


def workload_of(gang: Gang, name: str, queue: str, user: str) -> Workload:
    """The workload that a gang of a cluster is by itself.

    Args:
        gang: whose pods, constraints and limits it has.
        name: of the workload.
        queue: that it is in.
        user: whose it is.
    """
    return Workload(
        name=name,
        kind=gang.kind,
        queue=queue,
        user=user,
        priority=gang.priority,
        preemptible=gang.preemptible,
        pod_sets=gang.pod_sets,
        topology=gang.topology,
        constraints=gang.constraints,
        time_limit_ms=gang.time_limit_ms,
        checkpoint=gang.checkpoint,
    )
