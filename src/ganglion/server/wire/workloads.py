"""What the server answers: one model per answer, from which its OpenAPI page is made.

Times are milliseconds since 1970.
"""

from typing import Any

from pydantic import Field

from ganglion.model.reasons import Chance
from ganglion.server.wire.base import NEXT, Model
from ganglion.server.wire.services import Scaling
from ganglion.server.wire.sessions import Session


class Reason(Model):
    """Why something waits."""

    token: str
    message: str
    never: bool = False
    evidence: dict[str, int] = Field({})
    remedy: str = "wait"


class Suggestion(Model):
    """A change that was verified to start it."""

    change: str
    level: str = ""
    stops: tuple[str, ...] = Field((), description="gangs that would be stopped or moved for it")
    awaits: tuple[str, ...] = Field((), description="gangs whose end would start it")


class Band(Model):
    """When something is expected, in ms: as likely before as after, and nine times in ten."""

    p50: int
    p90: int


class Raise(Model):
    """A step by which waiting raises a priority: when, in ms, to which, and from which."""

    at: int
    to: int
    before: int = 0


class PodPlacement(Model):
    """One pod's place."""

    pod_set: str
    index: int
    node: str
    devices: tuple[int, ...] = ()
    milli: int = 0


class Placement(Model):
    """A gang's place."""

    pods: tuple[PodPlacement, ...]
    level: str = "fleet"
    domain: str = ""


class Verdict(Model):
    """What would happen to a workload submitted now."""

    placement: Placement | None = None
    stops: tuple[str, ...] = Field((), description="gangs that would be stopped or moved for it")
    reason: Reason | None = None
    suggestions: tuple[Suggestion, ...] = ()


class Accepted(Model):
    """A workload was accepted."""

    id: str
    name: str
    gangs: int = Field(description="how many gangs it has")
    next: tuple[str, ...] = Field(description="commands that are useful now")
    due: int | None = Field(None, description="first date of a schedule, in ms; null = it is none")


class Base(Model):
    """What lists and details have in common."""

    id: str
    name: str
    kind: str
    queue: str
    user: str
    priority: int
    state: str
    reason: str = Field("", description="token of the reason of a wait")
    message: str = ""
    gpus: float = Field(
        0, description="GPUs that its gangs ask for; while any lives, of those that are wanted"
    )
    gpus_held: float = Field(0, description="GPUs that its gangs hold now")
    pods: int = Field(0, description="pods of all its gangs")
    running: int = Field(0, description="gangs that run")
    succeeded: int = 0
    failed: int = Field(0, description="gangs that ended otherwise than well, by themselves")
    cancelled: int = Field(0, description="gangs that were cancelled")
    stopped_early: int = Field(0, description="trials that were given up for better ones")
    waiting: int = Field(0, description="gangs that wait to start")
    standby: int = Field(0, description="replicas that sleep until they are wanted")
    submitted: int
    started: int | None = None
    ended: int | None = None
    exit_code: int | None = None
    position: int | None = Field(None, description="place in the order of all that waits, from 1")
    waits_for: tuple[str, ...] = Field(
        (), description="workloads that have to leave the place it was promised"
    )
    preemptions: int = Field(0, description="attempts of its gangs stopped for others")
    lost_gpu_ms: int = Field(0, description="GPU time that these threw away")
    alarms: dict[str, str] = Field({}, description="what needs a person, by stable code")


class WorkloadView(Base):
    """One line about a workload."""

    gangs: int = Field(description="how many gangs it has")


class Saved(Model):
    """A checkpoint."""

    at: int = Field(description="up to when the work is safe")
    step: int = Field(0, description="as the program counts; 0 = it did not say")
    path: str = Field("", description="where it lies; empty = the program did not say")
    attempt: int = Field(0, description="the attempt that saved it")


class GangView(Model):
    """One gang."""

    id: str
    index: int
    params: dict[str, str] = Field({}, description="of a trial")
    phase: str
    attempt: int = 0
    ranks: int = Field(1, description="processes, and so log files, of one attempt")
    placement: Placement | None = Field(None, description="where it runs or ran last")
    reason: Reason | None = None
    outcome: str | None = Field(None, description="how the last attempt that ended did")
    exit_code: int | None = None
    message: str = ""
    restarts: int = 0
    promise: Placement | None = Field(None, description="the place it is going to start in")
    waits_for: tuple[str, ...] = Field(
        (), description="workloads that have to leave that place first"
    )
    preemptions: int = Field(0, description="attempts stopped for others")
    lost_gpu_ms: int = Field(0, description="GPU time that these threw away")
    saved: Saved | None = Field(None, description="its newest checkpoint that was reported")
    submitted: int
    placed: int | None = None
    started: int | None = None
    ended: int | None = None
    endpoint: str = Field("", description="`address:port` where it listens while it runs")
    draining: bool = Field(False, description="it gets no more requests, then it stops")


class Spent(Model):
    """What a workload used in its life."""

    wait_ms: int = Field(description="time in which none of its gangs ran")
    run_ms: int = Field(description="time in which at least one of its gangs ran")
    gpu_ms: int = Field(description="GPU time that its gangs held")
    attempts: int = Field(description="attempts of its gangs that were placed")


class WorkloadDetail(Base):
    """Everything about one workload."""

    gangs: tuple[GangView, ...]
    document: dict[str, Any] = Field(description="the workload file in canonical keys")
    url: str = Field("", description="where all its replicas are reached; empty = nowhere")
    use: str = Field("", description="whether a workspace is idle, busy or unknown, and why")
    scaling: Scaling | None = Field(None, description="null = it has always had its replicas")
    spent: Spent | None = Field(None, description="null = it has not ended, or it is unknown")
    sessions: tuple[Session, ...] = Field((), description="the last ones in its pods, newest first")


class Suspension(Model):
    """A workspace that goes until it is resumed, or would."""

    id: str
    loss: str = Field(description="what is lost by that, and what is kept, for people")


class WorkloadPage(Model):
    """Some workloads, newest first."""

    items: tuple[WorkloadView, ...]
    next: str | None = NEXT


class Explanation(Model):
    """Why one gang waits."""

    gang: str
    phase: str
    reason: Reason | None = None
    histogram: dict[str, int] = Field({}, description="nodes by the first obstacle met there")
    ahead: tuple[str, ...] = ()
    ahead_count: int = 0
    position: int = 0
    suggestions: tuple[Suggestion, ...] = ()
    holders: tuple[str, ...] = Field((), description="gangs that hold what it needs")
    holder_count: int = 0
    start: Band | None = Field(None, description="when it is expected to start; null = unknown")
    guesses: tuple[str, ...] = Field(
        (), description="gangs without time limit and finished runs that make the start unknown"
    )
    reserved_ms: int = Field(0, description="when its reservation begins; 0 = it holds none")
    closed: dict[str, str] = Field(
        {}, description="nodes that it could use but that take nothing new, and how that ends"
    )
    deadline_ms: int = Field(0, description="when it should have ended; 0 = no matter when")
    end: Band | None = Field(
        None, description="when it is expected to end, where it has a deadline; null = unknown"
    )
    chance: Chance | None = Field(
        None, description="whether it meets its deadline; null = it has none"
    )
    raised: tuple[Raise, ...] = Field((), description="steps by which waiting raised its priority")
    next_raise: Raise | None = Field(None, description="the next such step; null = none")
    preemptions: int = Field(0, description="attempts stopped for others")
    lost_gpu_ms: int = Field(0, description="GPU time that these threw away")
    text: str


class Why(Model):
    """Why a workload waits."""

    workload: str
    gangs: int = Field(1, description="how many gangs it has")
    explanations: tuple[Explanation, ...]


class OrderItem(Model):
    """One gang that waits."""

    position: int = Field(description="from 1; 0 = it is not in the order yet")
    workload: str
    gang: str
    queue: str
    user: str
    kind: str
    priority: int
    gpus: float
    reason: str
    message: str
    never: bool
    submitted: int


class OrderPage(Model):
    """Everything that waits, in order."""

    items: tuple[OrderItem, ...]
    total: int
    next: str | None = NEXT


class Amount(Model):
    """A quantity; null = not governed."""

    gpu_milli: int | None = None
    cpu_milli: int | None = None
    memory_mib: int | None = None


class QueueView(Model):
    """A queue with its usage, that of queues under it included."""

    name: str
    parent: str
    quota: dict[str, Amount]
    limit: dict[str, Amount]
    lend_limit: dict[str, Amount]
    over_quota_weight: int
    priority: int
    max_pending: int
    leaf: bool
    gpu_used_milli: int
    used: dict[str, Amount] = Field(description="in use by flavor; `*` = all together")
    running: int = Field(description="gangs that hold resources")
    waiting: int = Field(description="gangs that wait")
    document: dict[str, Any] = Field(description="its rules, as a policy file says them")
    etag: str = Field(description="names these rules: give it as If-Match to change just these")


class QueueRules(Model):
    """The rules of a queue, without its usage."""

    name: str
    document: dict[str, Any] = Field(description="its rules, as a policy file says them")
    etag: str = Field(description="names these rules: give it as If-Match to change just these")


class QueuePage(Model):
    """Queues, by name."""

    items: tuple[QueueView, ...]
    next: str | None = NEXT


class PolicyChange(Model):
    """One thing that differs between two policies."""

    key: str = Field(description="dotted: `evict.restart`, `queues.research.quota.H100`")
    before: str | None = Field(None, description="null = it was not there")
    after: str | None = Field(None, description="null = it is there no more")


class PolicyOutcome(Model):
    """What setting a policy did, or would do."""

    version: int = Field(description="in force now")
    changes: tuple[PolicyChange, ...] = Field(description="empty = nothing was set")
    warnings: tuple[str, ...] = Field(description="what looks wrong but is no error")


class PolicyVersion(Model):
    """A policy that was set once."""

    version: int = Field(description="counts from 1; 0 = built in")
    at: int
    user: str
    cause: str
    changes: tuple[PolicyChange, ...] = Field(description="against the version before")


class PolicyHistory(Model):
    """Policies, oldest first."""

    items: tuple[PolicyVersion, ...]
    next: str | None = NEXT


class PolicyView(Model):
    """A policy with everything it says."""

    version: int
    at: int
    user: str
    cause: str
    text: str = Field(description="the file as it was written")
    document: dict[str, Any] = Field(description="every knob with its value, in keys of the file")
    etag: str = Field(description="names all of this: give it as If-Match to replace just this")


class BookingView(Model):
    """Nodes that are kept for some queues or users, or for none, from one time to another."""

    name: str
    nodes: tuple[str, ...]
    begin: int
    end: int
    queues: tuple[str, ...] = ()
    users: tuple[str, ...] = ()
    reason: str = ""
    state: str = Field(description="planned, active or over")


class BookingPage(Model):
    """Bookings, by when they begin."""

    items: tuple[BookingView, ...]
    next: str | None = NEXT


class Done(Model):
    """It was done."""

    ok: bool = True
