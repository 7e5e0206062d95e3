"""Everything that can happen. The engine's state changes by these and nothing else.

Facts come from worlds and users; decisions (`GangPlaced`, `GangStopping`) come from the
engine itself and are recorded like facts, so that replaying a ledger needs no thinking.
`at` is the time in milliseconds.
"""

from ganglion.model import events_access as _access
from ganglion.model import events_services as _services
from ganglion.model import outcome as _outcome
from ganglion.model.behaviour import Schedule
from ganglion.model.booking import Booking
from ganglion.model.causes import Cause, CordonKind
from ganglion.model.event_base import Event as _Event
from ganglion.model.node import Node
from ganglion.model.placement import Placement
from ganglion.model.policy import Policy
from ganglion.model.queue import Queue
from ganglion.model.resources import PodRequest
from ganglion.model.workload import Gang

Outcome = _outcome.Outcome
ServiceScaled = _services.ServiceScaled
ServiceLearnt = _services.ServiceLearnt


class NodeAdded(_Event, frozen=True, tag="node_added"):
    """A node joined, or its description changed."""

    node: Node


class NodeLost(_Event, frozen=True, tag="node_lost"):
    """A node is gone; its capacity leaves at once, its pods end as their worlds report."""

    name: str


class NodeCordoned(_Event, frozen=True, tag="node_cordoned"):
    """New pods may no longer start there; an empty reason lifts that. `by`: see `cordon_of`."""

    name: str
    reason: str
    by: CordonKind | None = None


class DeviceHealth(_Event, frozen=True, tag="device_health"):
    """A device may, or may no longer, be given to new pods; `cause` says what is wrong with it."""

    node: str
    device: int
    healthy: bool
    cause: str = ""


class QueueSet(_Event, frozen=True, tag="queue_set"):
    """A queue was made or changed."""

    queue: Queue


class QueueRemoved(_Event, frozen=True, tag="queue_removed"):
    """A queue without gangs and children was removed."""

    name: str


class GangSubmitted(_Event, frozen=True, tag="gang_submitted"):
    """A gang entered its queue."""

    gang: Gang


class GangUpdated(_Event, frozen=True, tag="gang_updated"):
    """Properties of a live gang changed; None leaves one as it is.

    `counts` are pods wanted by pod set: a running gang keeps what it has of them and grows or
    shrinks to the new number. `cause` says why. `escalated`: waiting raised it.
    """

    gang: str
    priority: int | None = None
    queue: str | None = None
    time_limit_ms: int | None = None
    expected_ms: int | None = None
    deadline_ms: int | None = None
    held: bool | None = None
    counts: dict[str, int] | None = None
    floor: int | None = None
    recall_ms: int | None = None
    cause: Cause | None = None
    escalated: bool = False


class GangPlaced(_Event, frozen=True, tag="gang_placed"):
    """Decision: the gang starts there. Its resources are taken from now on."""

    gang: str
    attempt: int
    placement: Placement


class GangReserved(_Event, frozen=True, tag="gang_reserved"):
    """Decision: the place is the gang's own from now on.

    It starts once all pods that are being stopped there have left. None gives the place back.
    """

    gang: str
    placement: Placement | None
    cause: Cause | None = None


class PlaceKept(_Event, frozen=True, tag="place_kept"):
    """Decision: a gang that sleeps has this place, which is lent meanwhile; None ends that.

    It ends by itself when the gang takes any place, is cancelled, or is changed otherwise than
    by waking it.
    """

    gang: str
    placement: Placement | None
    cause: Cause | None = None


class StartPlanned(_Event, frozen=True, tag="start_planned"):
    """Decision: a blocked gang's reservation; None takes it back.

    It starts there by then at the latest, and no gang may start that would be in its way.
    `start_ms` is the announced time, `end_ms` when it ends at the latest; `cause` says why a
    reservation was moved to a later time. `drains` says that the times are guesses: the place
    is kept until it is free, however late that is.
    """

    gang: str
    placement: Placement | None
    start_ms: int = 0
    end_ms: int = 0
    cause: Cause | None = None
    drains: bool = False


class StartExpected(_Event, frozen=True, tag="start_expected"):
    """Decision: the band in which a waiting gang is expected to start, as announced to its user.

    Times in ms; half of the gangs start by `p50_ms`, nine of ten by `p90_ms`. `raw_ms` is the
    wait that was computed before past bands corrected it. All of them 0 = unknown; `guesses`
    names gangs, the first few, that the start hangs on and that have neither a time limit nor
    finished runs like them.
    """

    gang: str
    p50_ms: int
    p90_ms: int
    raw_ms: int
    guesses: tuple[str, ...] = ()

    @property
    def unknown(self) -> bool:
        """Whether it says that the start is unknown."""
        return not self.p90_ms


class GangResized(_Event, frozen=True, tag="gang_resized"):
    """Decision: an elastic gang runs on these pods from now on.

    New pods start, pods left out stop; the ones that stop are physically there until `PodsLeft`.
    """

    gang: str
    attempt: int
    placement: Placement
    cause: Cause | None = None


class PodsLeft(_Event, frozen=True, tag="pods_left"):
    """All pods that a resized gang was asked to stop are gone."""

    gang: str
    attempt: int


class CheckpointCommitted(_Event, frozen=True, tag="checkpoint_committed"):
    """Work up to `at` is safe: a restart goes on from there.

    `step` and `path` are as the program reported them, and an attempt that resumes gets them
    back; 0 and empty = it did not report them.
    """

    gang: str
    attempt: int
    step: int = 0
    path: str = ""


class GangStarted(_Event, frozen=True, tag="gang_started"):
    """All pods of the attempt run."""

    gang: str
    attempt: int


class GangStopping(_Event, frozen=True, tag="gang_stopping"):
    """The gang was asked to stop.

    Its place may be promised to others at once, which start when it has left.
    """

    gang: str
    attempt: int
    cause: Cause


class GangEnded(_Event, frozen=True, tag="gang_ended"):
    """The attempt is over and holds nothing any more.

    `requeue` says whether the gang waits again, not before `not_before`. A gang that never
    started ends with attempt 0. `lost_gpu_ms` is the work that was thrown away, in GPU-ms.
    `killed` = it had been asked to leave and was still there when its grace was over.
    `cause` names what the outcome alone does not say: `oom`, `gpu`, `crash_loop`, `node`.
    """

    gang: str
    attempt: int
    outcome: Outcome
    requeue: bool = False
    exit_code: int | None = None
    message: str = ""
    not_before: int = 0
    lost_gpu_ms: int = 0
    cause: str = ""
    killed: bool = False


class PolicySet(_Event, frozen=True, tag="policy_set"):
    """The engine decides by this policy from now on.

    Attributes:
        version: counts from 1; 0 = it is part of no history.
        user: who set it.
        cause: how it came into force.
        text: the policy file as it was written.
        queues: the whole queue tree that came with it; None = it does not mention queues.
            The queues themselves are set by events of their own.
    """

    policy: Policy
    version: int = 0
    user: str = ""
    cause: Cause | None = None
    text: str = ""
    queues: tuple[Queue, ...] | None = None


class BookingSet(_Event, frozen=True, tag="booking_set"):
    """A maintenance window or advance reservation was made or changed."""

    booking: Booking


class BookingRemoved(_Event, frozen=True, tag="booking_removed"):
    """A booking was taken back."""

    name: str


class GangSetApart(_Event, frozen=True, tag="gang_set_apart"):
    """Decision: the gang is left out of decisions, as the engine failed over it: a defect.

    It waits, or runs on untouched, until it is changed, its attempt ends, or the policy
    changes. `stage` is the part of the cycle that failed, `error` its message.
    """

    gang: str
    stage: str
    error: str


class TypicalPods(_Event, frozen=True, tag="typical_pods"):
    """The workload that fragmentation is measured against: (request, how many of them).

    `learnt` when the engine counted it from submissions, else it holds until the next such event.
    """

    pods: tuple[tuple[PodRequest, int], ...]
    learnt: bool = False


class MetricReported(_Event, frozen=True, tag="metric_reported"):
    """A program reported how well it does; the engine takes no notice.

    A `value` that is no finite number is None: JSON knows no others.
    """

    gang: str
    attempt: int
    name: str
    step: int
    value: float | None


class IdleWarned(_Event, frozen=True, tag="idle_warned"):
    """A workspace was found idle and is suspended at `suspend_at` unless it is used before.

    `suspend_at` 0 takes the warning back.
    """

    gang: str
    attempt: int
    suspend_at: int
    message: str = ""


class AlarmSet(_Event, frozen=True, tag="alarm_set"):
    """Something about a workload or node needs a person; an empty message takes it back.

    `alarm` is a stable code: `metrics.lost`, `checkpoint.missing`, `recall.at_risk`.
    """

    subject: str
    alarm: str
    message: str


class LedgerCut(_Event, frozen=True, tag="ledger_cut"):
    """A checkpoint took the place of all events up to `seq`; both sums are in hexadecimal."""

    seq: int
    checksum: str
    digest: str


class ScheduleSet(_Event, frozen=True, tag="schedule_set"):
    """A workload (`document`, JSON) is submitted at dates after `since`; None = after `at`."""

    name: str
    user: str
    document: str
    schedule: Schedule
    since: int | None = None


class ScheduleRemoved(_Event, frozen=True, tag="schedule_removed"):
    """A schedule was taken back; runs that it began go on."""

    name: str
    user: str


class ScheduleFired(_Event, frozen=True, tag="schedule_fired"):
    """A date of a schedule has come.

    `workload` is the run it began; empty = none, and `message` says why. `again`: it came before,
    as the wall clock was put back.
    """

    name: str
    due: int
    workload: str = ""
    message: str = ""
    again: bool = False


Event = (
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
    | PolicySet
    | BookingSet
    | BookingRemoved
    | MetricReported
    | _services.ServiceScaled
    | _services.ServiceLearnt
    | IdleWarned
    | AlarmSet
    | LedgerCut
    | ScheduleSet
    | ScheduleRemoved
    | ScheduleFired
    | _access.PodAccess
)
"""Any event; decode with `msgspec.json.Decoder(Event)`."""
