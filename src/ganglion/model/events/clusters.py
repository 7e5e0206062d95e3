"""What a scheduler of clusters delivers to a server: the events of its turns, and their order.

A scheduler keeps no ledger. It numbers what each turn decided and saw, and a server writes that
to its own ledger, each event inside a `DeliveredEvent`: no decision of the server follows from it.
"""

from enum import StrEnum

from msgspec import Struct

from ganglion.model.events.base import EventBase
from ganglion.model.events.fleet import (
    BookingRemoved,
    BookingSet,
    DeviceHealth,
    NodeAdded,
    NodeCordoned,
    NodeLost,
    TypicalPods,
)
from ganglion.model.events.gangs import (
    CheckpointCommitted,
    GangEnded,
    GangPlaced,
    GangResized,
    GangSetApart,
    GangStarted,
    GangStopping,
    GangSubmitted,
    GangUpdated,
    GpusSampled,
    ImagesReported,
    PodsLeft,
    ReasonsChanged,
    WaitGroups,
    WaitOrder,
)
from ganglion.model.events.policy import PolicySet, QueueRemoved, QueueSet
from ganglion.model.events.reservations import GangReserved, PlaceKept, StartExpected, StartPlanned


class SchedulerStarted(EventBase, frozen=True, tag="scheduler_started"):
    """A scheduler began to decide; what it finds in its clusters is said anew after this.

    Attributes:
        version: of the software, which decides until it ends.
        identity: of the process, as in the Lease.
        follows: ids of schedulers whose records lie in the same outbox and are delivered before.
    """

    version: str
    identity: str = ""
    follows: tuple[str, ...] = ()


class SchedulerSettled(EventBase, frozen=True, tag="scheduler_settled"):
    """All that the clusters show has been looked at: gangs that were not named are gone."""


class SchedulerEnded(EventBase, frozen=True, tag="scheduler_ended"):
    """A scheduler ended in good order: nothing follows from it."""


class RecordLoss(StrEnum):
    """What became of records that are missing; the values are stable."""

    FULL = "full"
    """The outbox had reached its limit."""
    DISK = "disk"
    """The disk refused them."""
    DAMAGED = "damaged"
    """They cannot be read."""
    GONE = "gone"
    """The outbox has them no more."""
    UNKNOWN = "unknown"
    """A scheduler did not end in good order, and its last records have not come."""


class RecordsLost(EventBase, frozen=True, tag="records_lost"):
    """Records are missing from here on, up to the number of the record that says so.

    Attributes:
        loss: what became of them.
        records: how many; 0 = unknown.
        events: in them; 0 = unknown.
        since_ms, until_ms: times of the first and the last; 0 = unknown.
        scheduler: whose they are, if not that of the record.
        detail: what the machine said.
    """

    loss: RecordLoss
    records: int = 0
    events: int = 0
    since_ms: int = 0
    until_ms: int = 0
    scheduler: str = ""
    detail: str = ""


class QueueLending(Struct, frozen=True, omit_defaults=True):
    """What one queue lent and borrowed; see `docs/usage.md`.

    Attributes:
        queue: its name.
        lent_gpu_us: GPU-microseconds of its quota that others at its level used while it did not.
        borrowed_gpu_us: what it used of the quota of others at its level.
    """

    queue: str
    lent_gpu_us: int = 0
    borrowed_gpu_us: int = 0


class QueuesLent(EventBase, frozen=True, tag="queues_lent"):
    """What queues lent and borrowed from one time on, and before another one, within one day.

    In all of them together as much is lent as is borrowed.
    """

    begin_ms: int
    end_ms: int
    queues: tuple[QueueLending, ...]


class ObjectRefused(EventBase, frozen=True, tag="object_refused"):
    """An object of a cluster is left out of decisions; an empty problem = no longer.

    Attributes:
        kind: `gang`, `node` and the like.
        name: its name, with the prefix of its cluster.
        problem: why.
    """

    kind: str
    name: str
    problem: str


SchedulingEvent = (
    NodeAdded
    | NodeLost
    | NodeCordoned
    | DeviceHealth
    | QueueSet
    | QueueRemoved
    | GangSubmitted
    | GangUpdated
    | GangPlaced
    | GangStarted
    | GangStopping
    | GangEnded
    | TypicalPods
    | GangReserved
    | PlaceKept
    | StartPlanned
    | StartExpected
    | GangSetApart
    | GangResized
    | PodsLeft
    | CheckpointCommitted
    | ImagesReported
    | PolicySet
    | BookingSet
    | BookingRemoved
)
"""What happens to nodes, queues, gangs, bookings and the policy, whichever program decides."""

Delivered = (
    SchedulingEvent
    | ReasonsChanged
    | WaitGroups
    | WaitOrder
    | GpusSampled
    | QueuesLent
    | SchedulerStarted
    | SchedulerSettled
    | SchedulerEnded
    | RecordsLost
    | ObjectRefused
)
"""What a scheduler of clusters reports."""


class DeliveredEvent(EventBase, frozen=True, tag="cluster_event"):
    """An event of a scheduler of clusters, as it was delivered; `at` is when it came.

    Attributes:
        cluster: name under which its scheduler delivers.
        scheduler: id of the scheduler, another one for each start.
        number: of the record that it came in, without gaps for each scheduler.
        event: what happened; its `at` is the scheduler's time.
        decision: whether the scheduler decided it, else it found it.
    """

    cluster: str
    scheduler: str
    number: int
    event: Delivered
    decision: bool = False


class DeliveryRecord(Struct, frozen=True, omit_defaults=True):
    """What one turn of a scheduler reports, or a part of it.

    Attributes:
        number: counts from 1 for each scheduler.
        at: time of the turn in ms.
        facts: what it found, in order.
        decisions: what it decided after them.
        covers: how many numbers up to `number` it accounts for; more than 1 = the others were lost.
    """

    number: int
    at: int
    facts: tuple[Delivered, ...] = ()
    decisions: tuple[Delivered, ...] = ()
    covers: int = 1

    @property
    def first(self) -> int:
        """The first number that it accounts for."""
        return self.number - self.covers + 1


def following(
    records: "tuple[DeliveryRecord, ...]", position: int
) -> "tuple[list[DeliveryRecord], int]":
    """Choose the records of one scheduler that go on where those before ended.

    Args:
        records: as they came: some may have come before, and others may be missing.
        position: number of the last one that was taken.

    Returns:
        those that are new and follow without a gap, in order; and the position after them.
    """
    taken = list[DeliveryRecord]()
    for record in sorted(records, key=lambda each: each.number):
        if record.number <= position:
            continue
        if record.first > position + 1:
            break
        taken.append(record)
        position = record.number
    return taken, position
