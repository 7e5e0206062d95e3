"""What the events of clusters amount to: which gangs live there, and what became of the others.

Follows from the events that were delivered and from nothing else, so that a replay gives the
same books. Events of a scheduler before the newest one are kept in the ledger and change nothing
here: the newest one says anew what it finds.
"""

from collections.abc import Iterator
from functools import partial
from hashlib import sha256

from msgspec import Struct, field

from ganglion.lifecycle.cluster_gangs import DeliveredGang, LiveGangs
from ganglion.lifecycle.past.cluster_reclaims import ClusterReclaim, ClusterReclaims
from ganglion.lifecycle.waiting.delivered import ClusterWaits, DeliveredWait
from ganglion.model.causes import RECLAIMS
from ganglion.model.events import (
    Delivered,
    DeliveredEvent,
    GangResized,
    GangStopping,
    GangSubmitted,
    QueueRemoved,
    QueueSet,
    ReasonsChanged,
    RecordsLost,
    SchedulerEnded,
    SchedulerSettled,
    SchedulerStarted,
    WaitGroups,
    WaitOrder,
)
from ganglion.model.queue import CLUSTER_SIGN
from ganglion.model.workload import Gang, Workload

CLUSTER_NAME = "[a-z0-9](?:[a-z0-9.-]{0,61}[a-z0-9])?"
"""Pattern of the names of clusters."""
SILENT_MS = 150_000
"""From this time without a word on a scheduler is silent: one that decides speaks each minute."""
UNSEEN = "unseen"
"""Cause of an end that no scheduler saw."""


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
        placed: those that got their first place since `close`.
        parents: queue -> the queue above it.
        heard: when the last record came, in ms.
        lost: records that are known to be missing.
        waits: what its newest scheduler has said of why gangs wait.
        reclaims: which queues took back from which; None = nothing was delivered yet.
    """

    scheduler: str = ""
    version: str = ""
    settled: bool = False
    positions: dict[str, int] = field(default_factory=dict)
    open: list[str] = field(default_factory=list)
    gangs: LiveGangs = field(default_factory=LiveGangs)
    over: list[DeliveredGang] = field(default_factory=list)
    placed: list[DeliveredGang] = field(default_factory=list)
    parents: dict[str, str] = field(default_factory=dict)
    heard: int = 0
    lost: int = 0
    waits: ClusterWaits = field(default_factory=ClusterWaits)
    reclaims: ClusterReclaims | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.gangs, LiveGangs):  # as documents have them
            self.gangs = LiveGangs(self.gangs)

    def unaccounted(self, scheduler: str, follows: tuple[str, ...]) -> list[str]:
        """Schedulers before one whose last records may be missing."""
        return [each for each in self.open if each < scheduler and each not in follows]

    def gone(self) -> list[DeliveredGang]:
        """Gangs that the newest scheduler would have named if they were there still."""
        return [each for each in self.gangs.values() if not each.confirmed]

    def silent_since(self, asked: int, begun: int, now: int) -> int:
        """Since when nothing was heard of its scheduler, in ms; 0 = it is not silent.

        Args:
            asked: when it last asked without a record, in ms; 0 = it did not since `begun`.
            begun: since when it could be heard.
            now: time in ms.
        """
        if self.scheduler not in self.open:
            return self.heard
        if now - max(self.heard, begun) <= SILENT_MS:
            return 0
        # That what was said of waits holds still, only a record says.
        last = self.heard if self.gangs.wait else max(self.heard, asked)
        return last if now - max(last, begun) > SILENT_MS else 0

    def note(self, event: DeliveredEvent) -> None:
        """Take an event of the cluster in."""
        known = self.positions.get(event.scheduler, 0)
        self.positions[event.scheduler] = max(known, event.number)
        if self.reclaims is None:  # earlier versions have noted none
            self.reclaims = ClusterReclaims(since=event.at if self.heard else 0)
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
        self.waits.interrupted(self._waits(), last, since)

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
            case WaitOrder():
                self.waits.ordered(event)
            case ReasonsChanged():
                self.waits.changed(event, self._waits(), self._wait)
            case _:
                self._happened(event)

    def _waits(self) -> Iterator[DeliveredWait]:
        return (each.wait for each in self.gangs.values())

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
            known = DeliveredGang(gang, event.image, event.owner, seen=event.at)
            self.gangs.enter(known)
            known.wait.begin(1, gang.submitted)
            return
        known.ask(gang, event.image, event.at)
        known.owner = event.owner
        known.confirmed = True
        self.gangs.enter(known)

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
        waited = not known.first
        if isinstance(event, GangStopping | GangResized):
            self._reclaimed(known, event)
        self.gangs.take(known, event)
        if known.holds or known.ended:
            self.waits.leaves(name)
        if waited and known.first:
            self.placed.append(known)
        if known.ended:
            self.over.append(self.gangs.leave(name))

    def _reclaimed(self, known: DeliveredGang, event: GangStopping | GangResized) -> None:
        """Note for which queue it is, if an attempt yields to another queue."""
        cause, place = event.cause, known.placement if known.holds else None
        if self.reclaims is None or cause is None or cause.kind not in RECLAIMS or not cause.gang:
            return
        kept = event.placement.gpu_milli if isinstance(event, GangResized) else 0
        asker = self.gangs.get(cause.gang)
        found = ClusterReclaim(
            *(event.at, cause.kind, known.gang.id, known.attempts, known.gang.queue, cause.gang),
            taker=asker.gang.queue if asker else "",
            gave_milli=max(0, place.gpu_milli - kept) if place else None,
            kept_milli=kept,
        )
        self.reclaims.note(found)


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

    def queue_of(self, event: DeliveredEvent) -> str:
        """The queue, as rights name it, of the gang that an event since `close` was about.

        Empty = it is about none, or one of an earlier scheduler, and changed nothing.
        """
        book, name = self.of[event.cluster], getattr(event.event, "gang", "")
        found = book.gangs.get(name) or next((e for e in book.over if e.gang.id == name), None)
        if found is None or event.scheduler != book.scheduler:
            return ""
        return place_of(event.cluster, found.gang.queue)

    def placed(self) -> Iterator[tuple[str, DeliveredGang]]:
        """Gangs that got their first place since `close`, each with its cluster before it."""
        for cluster, book in self.of.items():
            for gang in book.placed:
                yield cluster, gang

    def close(self) -> None:
        """Forget gangs that have ended, and who got a first place."""
        for book in self.of.values():
            book.over.clear()
            book.placed.clear()

    def live(self) -> Iterator[tuple[str, DeliveredGang]]:
        """Gangs that live, each with its cluster before it."""
        for cluster, book in self.of.items():
            for gang in book.gangs.values():
                yield cluster, gang

    def called(self, ref: str) -> list[tuple[str, DeliveredGang]]:
        """Gangs that live and have this id, see `live_id`, or else this name; the newest first."""
        cluster, sign, rest = ref.rpartition(CLUSTER_SIGN)
        if sign:
            begin = self._of(cluster).gangs.named(rest.rpartition("-")[0])
            return [(cluster, each) for each in begin if live_id(cluster, each) == ref]
        named = [(name, each) for name, book in self.of.items() for each in book.gangs.named(ref)]
        return sorted(named, key=lambda each: -each[1].gang.submitted)

    def keyed(self, key: str) -> tuple[str, DeliveredGang] | None:
        """The gang that lives and is `key` in usage and events, as `east:lab/Job/train/7f`."""
        cluster, _, rest = key.partition(CLUSTER_SIGN)
        found = self._of(cluster).gangs.get(rest)
        return (cluster, found) if found else None

    def _of(self, cluster: str) -> ClusterBook:
        return self.of.get(cluster) or ClusterBook()

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
    return f"{cluster}{CLUSTER_SIGN}{queue}"


def live_id(cluster: str, gang: DeliveredGang) -> str:
    """How a gang of a cluster is named at a server for as long as it lives."""
    digest = sha256(gang.gang.id.encode()).hexdigest()[:8]
    return place_of(cluster, f"{gang.own_name}-{digest}")


def cluster_of(queue: str) -> str:
    """The cluster of a queue as a server names it; empty = it is one of the server itself."""
    return queue.rpartition(CLUSTER_SIGN)[0]


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
