"""The life of a gang: submitted, placed, resized, stopped, ended."""

from enum import StrEnum

from msgspec import Struct

from ganglion.model.causes import Cause
from ganglion.model.events.base import EventBase
from ganglion.model.placement import Placement
from ganglion.model.workload import Gang, UnixAccount


class Outcome(StrEnum):
    """How an attempt of a gang ended."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"
    PREEMPTED = "preempted"
    SUSPENDED = "suspended"
    NODE_LOST = "node_lost"
    START_FAILED = "start_failed"
    STOPPED_EARLY = "stopped_early"
    """A trial that was given up for better ones: its sweep does well without it."""


class GangSubmitted(EventBase, frozen=True, tag="gang_submitted"):
    """A gang entered its queue.

    `image`: the container image that its workload asks for, as it was written; empty = none. Of
    several they are written with commas between them. `account`: Unix account that its programs run
    as; None = that of the server. `owner`: kind and name of the object of a cluster that made its
    pods, as `Job train`; empty = none.
    """

    gang: Gang
    image: str = ""
    account: UnixAccount | None = None
    owner: str = ""


class GangUpdated(EventBase, frozen=True, tag="gang_updated"):
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


class GangPlaced(EventBase, frozen=True, tag="gang_placed"):
    """Decision: the gang starts there. Its resources are taken from now on.

    `ahead_of`: id of a gang that was submitted earlier, and for which a place and a time are
    reserved, which this start does not delay; empty = there is none, or an early version decided.
    """

    gang: str
    attempt: int
    placement: Placement
    ahead_of: str = ""


class GangResized(EventBase, frozen=True, tag="gang_resized"):
    """Decision: an elastic gang runs on these pods from now on.

    New pods start, pods left out stop; the ones that stop are physically there until `PodsLeft`.
    """

    gang: str
    attempt: int
    placement: Placement
    cause: Cause | None = None


class PodsLeft(EventBase, frozen=True, tag="pods_left"):
    """All pods that a resized gang was asked to stop are gone."""

    gang: str
    attempt: int


class CheckpointCommitted(EventBase, frozen=True, tag="checkpoint_committed"):
    """Work up to `at` is safe: a restart goes on from there.

    `step` and `path` are as the program reported them, and an attempt that resumes gets them
    back; 0 and empty = it did not report them.
    """

    gang: str
    attempt: int
    step: int = 0
    path: str = ""


class GangStarted(EventBase, frozen=True, tag="gang_started"):
    """All pods of the attempt run."""

    gang: str
    attempt: int


class ReportedImage(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a container of a pod runs, as its kubelet said.

    Attributes:
        pod_set: of the pod.
        container: its name.
        image: as its pod asks for it.
        id: as the container runtime names what it runs: `NAME@sha256:DIGEST`, or the digest of the
            configuration alone for an image that was never pulled.
    """

    pod_set: str
    container: str
    image: str
    id: str

    def __str__(self) -> str:
        """Print it as `main/worker: registry.example/train@sha256:…`."""
        return f"{self.pod_set}/{self.container}: {self.id}"


class ImagesReported(EventBase, frozen=True, tag="images_reported"):
    """Kubelets said which images containers of an attempt run; those that were not said before.

    Of one container there are several where a tag was moved between two of its pods or starts.
    """

    gang: str
    attempt: int
    images: tuple[ReportedImage, ...]


class GangStopping(EventBase, frozen=True, tag="gang_stopping"):
    """The gang was asked to stop.

    Its place may be promised to others at once, which start when it has left.
    """

    gang: str
    attempt: int
    cause: Cause


class GangEnded(EventBase, frozen=True, tag="gang_ended"):
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


class GangSetApart(EventBase, frozen=True, tag="gang_set_apart"):
    """Decision: the gang is left out of decisions, as the engine failed over it: a defect.

    It waits, or runs on untouched, until it is changed, its attempt ends, or the policy
    changes. `stage` is the part of the cycle that failed, `error` its message.
    """

    gang: str
    stage: str
    error: str


class ReasonsChanged(EventBase, frozen=True, tag="reasons_changed"):
    """Gangs wait for other kinds of reasons from now on, each with all of its equals.

    Attributes:
        reasons: token of the reason -> ids of gangs.
    """

    reasons: dict[str, tuple[str, ...]]


class OrderedReason(Struct, frozen=True, omit_defaults=True):
    """For what some gangs of an order wait.

    Attributes:
        token: of the reason.
        message: the reason as a sentence, with its numbers.
        places: theirs, from 1.
        never: whether no future of the present fleet and queues could start them.
    """

    token: str
    message: str
    places: tuple[int, ...]
    never: bool = False


class WaitOrder(EventBase, frozen=True, tag="wait_order"):
    """The first gangs in the order in which a scheduler of clusters decides about what waits.

    It holds until the next one; those that wait no more leave it, and others move up.

    Attributes:
        gangs: ids, the first first.
        reasons: for what they wait.
    """

    gangs: tuple[str, ...]
    reasons: tuple[OrderedReason, ...] = ()


class WaitGroups(EventBase, frozen=True, tag="wait_groups"):
    """Gangs that wait belong to other groups of equals from now on, which share their reasons.

    A scheduler of clusters says so. All that it said before of waits holds still.

    Attributes:
        groups: number of a group, or the token of a reason that is the gang's own -> ids of gangs.
    """

    groups: dict[str, tuple[str, ...]]


class SampledAttempt(Struct, frozen=True, omit_defaults=True):
    """What the GPUs that one attempt had alone on one node did; see `ActivityInterval`.

    Attributes:
        gang: its id.
        attempt: its number.
        node: the node.
        begin_ms, end_ms: from and before when.
        source: what said how active they were: `dcgm-sm`: multiprocessors were active;
            `dcgm-util`: some kernel ran; empty = nothing did.
        sampled_gpu_us: GPU-microseconds for which that is known.
        active_gpu_us: those of them in which they were active.
        energy_source: what said how much was drawn: `dcgm`: a counter; `dcgm-power`: power times
            time; empty = nothing did.
        energy_gpu_us: GPU-microseconds for which that is known.
        energy_mj: what was drawn then, in thousandths of a joule.
    """

    gang: str
    attempt: int
    node: str
    begin_ms: int
    end_ms: int
    source: str = ""
    sampled_gpu_us: int = 0
    active_gpu_us: int = 0
    energy_source: str = ""
    energy_gpu_us: int = 0
    energy_mj: int = 0


class GpusSampled(EventBase, frozen=True, tag="gpus_sampled"):
    """What GPUs did, summed up between looks at the exporters of a cluster's nodes.

    What an attempt did before it ends is said before its end.
    """

    attempts: tuple[SampledAttempt, ...]
