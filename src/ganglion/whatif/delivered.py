"""What a scheduler of a cluster delivered, as the events of one engine that never stopped.

A scheduler that starts says again what it finds. What it repeats is no news: a gang that sits where
it sat is placed once. What it does not repeat is gone: nodes that it has not named by the time at
which it has looked at everything are lost. Attempts and gangs are numbered here, as schedulers
count anew, and as a name may come back after its gang has ended.
"""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from ganglion.lifecycle.clusters import UNSEEN
from ganglion.model.events import (
    Delivered,
    DeliveredEvent,
    Event,
    GangEnded,
    GangPlaced,
    GangResized,
    GangStarted,
    GangSubmitted,
    GangUpdated,
    GpusSampled,
    NodeAdded,
    NodeLost,
    ObjectRefused,
    Outcome,
    QueueSet,
    QueuesLent,
    ReasonsChanged,
    RecordsLost,
    SchedulerEnded,
    SchedulerSettled,
    SchedulerStarted,
    WaitGroups,
    WaitOrder,
)
from ganglion.model.fleet.node import Node
from ganglion.model.placement import Placement, same_place
from ganglion.model.queue import Queue
from ganglion.model.workload import Gang

_OF_NO_CONCERN = (
    *(SchedulerStarted, SchedulerEnded, RecordsLost, ObjectRefused),
    *(ReasonsChanged, WaitGroups, WaitOrder),  # a replay finds reasons of its own
    GpusSampled,
    QueuesLent,
)


class DeliveryGap(Struct, frozen=True):
    """Records that are missing.

    Attributes:
        since, until: in ms, about.
        records: how many; 0 = unknown.
    """

    since: int
    until: int
    records: int


class _GangLife(Struct):
    """A gang of a cluster from its submission to its end.

    Attributes:
        id: another one where a gang of that name has lived before.
        gang: as it was last submitted.
        attempt: how many were placed.
        place: where it is; None = it holds no place.
        started: whether the attempt runs.
    """

    id: str
    gang: Gang
    attempt: int = 0
    place: Placement | None = None
    started: bool = False


class ClusterNews(Struct):
    """Follows the newest scheduler of one cluster.

    Attributes:
        cluster: its name.
        heard: time of the newest record, in ms.
        gaps: records that are missing.
        unseen: gangs whose end no scheduler saw.
    """

    cluster: str
    heard: int = 0
    gaps: list[DeliveryGap] = field(default_factory=list)
    unseen: int = 0
    _scheduler: str = ""
    _nodes: dict[str, Node] = field(default_factory=dict)
    _named: dict[str, None] = field(default_factory=dict)
    _queues: dict[str, Queue] = field(default_factory=dict)
    _lives: dict[str, _GangLife] = field(default_factory=dict)
    _ended: dict[str, int] = field(default_factory=dict)

    def of(self, delivered: DeliveredEvent) -> Iterator[Event]:
        """The news in an event that came."""
        if delivered.cluster != self.cluster:
            return
        said = delivered.event
        if isinstance(said, RecordsLost):
            since = said.since_ms or min(self.heard or said.at, said.at)
            self.gaps.append(DeliveryGap(since, said.until_ms or said.at, said.records))
        elif isinstance(said, SchedulerStarted) and delivered.scheduler > self._scheduler:
            self._scheduler, self._named = delivered.scheduler, {}
        if delivered.scheduler == self._scheduler:
            yield from self._told(said)
            self.heard = max(self.heard, said.at)

    def _told(self, said: Delivered) -> Iterator[Event]:
        match said:
            case _ if isinstance(said, _OF_NO_CONCERN):
                return
            case SchedulerSettled(at=at):
                for name in [each for each in self._nodes if each not in self._named]:
                    del self._nodes[name]
                    yield NodeLost(at, name)
            case NodeAdded(node=node):
                self._named[node.name] = None
                if self._nodes.get(node.name) != node:
                    self._nodes[node.name] = node
                    yield said
            case NodeLost(name=name):
                self._nodes.pop(name, None)
                yield said
            case QueueSet(queue=queue):
                if self._queues.get(queue.name) != queue:
                    self._queues[queue.name] = queue
                    yield said
            case GangSubmitted():
                yield from self._submitted(said)
            case _:
                gang = getattr(said, "gang", None)
                if gang is None:
                    yield said
                elif (life := self._lives.get(gang)) is not None:
                    yield from self._happened(life, said)

    def _submitted(self, said: GangSubmitted) -> Iterator[Event]:
        gang, known = said.gang, self._lives.get(said.gang.id)
        if known is None:
            before = self._ended.get(gang.id, 0)
            life = _GangLife(f"{gang.id}#{before + 1}" if before else gang.id, gang)
            self._lives[gang.id] = life
            yield replace(said, gang=_named(gang, life.id))
            return
        changes = _changes(known.gang, gang)
        known.gang = gang
        if changes:
            yield GangUpdated(said.at, known.id, **changes)

    def _happened(self, life: _GangLife, said: Event) -> Iterator[Event]:
        match said:
            case GangPlaced(placement=place):
                if same_place(life.place, place):
                    return
                if life.place is not None:  # what became of that attempt was seen by none
                    yield GangEnded(said.at, life.id, life.attempt, Outcome.NODE_LOST, requeue=True)
                life.attempt, life.place, life.started = life.attempt + 1, place, False
            case GangResized(placement=place):
                life.place = place
            case GangStarted():
                if life.started:
                    return
                life.started = True
            case GangEnded():
                life.place, life.started = None, False
                self.unseen += said.cause == UNSEEN
                if not said.requeue:
                    own = life.gang.id
                    self._ended[own] = self._ended.get(own, 0) + 1
                    del self._lives[own]
        numbered = {"attempt": life.attempt} if hasattr(said, "attempt") else {}
        yield replace(said, gang=life.id, **numbered)


def _named(gang: Gang, name: str) -> Gang:
    if name == gang.id:
        return gang
    return replace(gang, id=name, workload=gang.workload + name.removeprefix(gang.id))


def _changes(before: Gang, after: Gang) -> dict[str, Any]:
    """What a gang that is submitted again has otherwise, of what may change."""
    names = ("queue", "priority", "time_limit_ms")
    return {
        name: getattr(after, name)
        for name in names
        if getattr(before, name) != getattr(after, name)
    }
