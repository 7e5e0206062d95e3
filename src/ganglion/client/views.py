"""What the server answers, as typed values. Keys that newer servers add are ignored.

Times are milliseconds since 1970; 0 = not yet.
"""

from typing import Any

from msgspec import Struct, field

from ganglion.client.session_views import SessionView
from ganglion.model.placement import Placement
from ganglion.model.reasons import Chance, Explanation, Reason
from ganglion.model.resources import Amount

ENDED = frozenset({"SUCCEEDED", "FAILED", "CANCELLED", "TIMED_OUT"})
"""States that a workload never leaves."""


class Submitted(Struct):
    """A workload was accepted.

    Attributes:
        id: `<name>-<n>`, unique for ever.
        name: as given, or made up.
        gangs: how many gangs it has.
        next: commands that are useful now.
        due: first date of a schedule, in ms; None = it is none.
    """

    id: str
    name: str
    gangs: int = 1
    next: tuple[str, ...] = ()
    due: int | None = None


class WorkloadBase(Struct):
    """What lists and details have in common."""

    id: str
    name: str
    kind: str
    queue: str
    user: str
    priority: int
    state: str
    reason: str = ""
    message: str = ""
    gpus: int | float = 0
    gpus_held: int | float = 0
    pods: int = 0
    running: int = 0
    succeeded: int = 0
    failed: int = 0
    cancelled: int = 0
    stopped_early: int = 0
    waiting: int = 0
    standby: int = 0
    submitted: int | None = None
    started: int | None = None
    ended: int | None = None
    exit_code: int | None = None
    position: int | None = None
    waits_for: tuple[str, ...] = ()
    preemptions: int = 0
    lost_gpu_ms: int = 0
    alarms: dict[str, str] = field(default_factory=dict)

    @property
    def over(self) -> bool:
        """Whether it has ended for good."""
        return self.state in ENDED


class WorkloadView(WorkloadBase):
    """One line about a workload.

    Attributes:
        gangs: how many gangs it has.
    """

    gangs: int = 1


class Suspension(Struct):
    """A workspace that goes until it is resumed, or would.

    Attributes:
        id: of the workspace.
        loss: what is lost by that, and what is kept.
    """

    id: str
    loss: str = ""


class Opening(Struct):
    """How a service or workspace is reached by those who are asked who they are.

    Attributes:
        url: lets one browser in, once, within five minutes.
        token: for programs: the value of `X-Ganglion-Token`.
    """

    url: str
    token: str


class WorkloadPage(Struct):
    """Some workloads.

    Attributes:
        items: one page of them.
        next: give it as `after` to get the next page; None = that was all.
    """

    items: tuple[WorkloadView, ...] = ()
    next: str | None = None


class Saved(Struct):
    """A checkpoint.

    Attributes:
        at: up to when the work is safe, in ms.
        step: as the program counts; 0 = it did not say.
        path: where it lies; empty = the program did not say.
        attempt: that saved it.
    """

    at: int
    step: int = 0
    path: str = ""
    attempt: int = 0


class GangView(Struct):
    """One gang of a workload.

    Attributes:
        id: `<workload id>/<index>`.
        index: its number within the workload.
        params: a trial's parameters.
        phase: pending, reserved, starting, running, stopping or ended.
        attempt: number of the present or last attempt; 0 = never placed.
        ranks: processes, and so log files, of one attempt.
        placement: where it runs or ran last.
        reason: why it waits.
        outcome: how the last attempt that ended did.
        restarts: attempts that were followed by another wait.
        promise: the place it is going to start in.
        waits_for: workloads that have to leave that place first.
        preemptions: attempts that were stopped for others.
        lost_gpu_ms: GPU time that these threw away.
        saved: its newest checkpoint that was reported; None = there is none.
        endpoint: `address:port` where it listens while it runs.
    """

    id: str
    index: int
    phase: str
    attempt: int = 0
    ranks: int = 1
    placement: Placement | None = None
    reason: Reason | None = None
    outcome: str | None = None
    exit_code: int | None = None
    message: str = ""
    restarts: int = 0
    promise: Placement | None = None
    waits_for: tuple[str, ...] = ()
    params: dict[str, str] = field(default_factory=dict)
    preemptions: int = 0
    lost_gpu_ms: int = 0
    saved: Saved | None = None
    submitted: int | None = None
    placed: int | None = None
    started: int | None = None
    ended: int | None = None
    endpoint: str = ""
    draining: bool = False


class Scaling(Struct):
    """How many replicas a service has.

    Attributes:
        floor, ceiling: fewest and most; None = it does not scale by itself.
        wanted: replicas it is to have now.
        draining: gangs that get no more requests.
        at: when that number was set; None = at its submission.
        cause: why.
    """

    floor: int | None = None
    ceiling: int | None = None
    wanted: int = 0
    draining: tuple[str, ...] = ()
    at: int | None = None
    cause: str = ""


class Spent(Struct):
    """What a workload used in its life.

    Attributes:
        wait_ms: time in which none of its gangs ran.
        run_ms: time in which at least one of its gangs ran.
        gpu_ms: GPU time that its gangs held.
        attempts: attempts of its gangs that were placed.
    """

    wait_ms: int
    run_ms: int
    gpu_ms: int
    attempts: int


class WorkloadDetail(WorkloadBase):
    """Everything about one workload.

    Attributes:
        gangs: its gangs, by index.
        document: what was submitted, with every alias resolved.
        url: where all its replicas are reached; empty = nowhere.
        use: whether a workspace is idle, busy or unknown, and why.
        scaling: None = it has always had its replicas.
        spent: None = it has not ended, or it is unknown.
        sessions: the last ones in its pods, newest first.
    """

    gangs: tuple[GangView, ...] = ()
    document: dict[str, Any] = field(default_factory=dict)
    url: str = ""
    use: str = ""
    scaling: Scaling | None = None
    spent: Spent | None = None
    sessions: tuple[SessionView, ...] = ()


class Explained(Explanation, frozen=True, kw_only=True):
    """An explanation and, as `text`, the sentence that sums it up.

    Attributes:
        chance: whether it meets its deadline; None = it has none.
        preemptions, lost_gpu_ms: attempts stopped for others, and GPU time that was lost by it.
    """

    chance: Chance | None = None
    preemptions: int = 0
    lost_gpu_ms: int = 0
    text: str = ""


class Why(Struct):
    """Why a workload of `gangs` gangs waits: each of them, or the one that was asked about."""

    workload: str
    explanations: tuple[Explained, ...] = ()
    gangs: int = 1


class OrderItem(Struct):
    """One gang that waits.

    Attributes:
        position: place in the order, from 1; 0 = it is not in the order yet.
        workload: id of its workload.
        gang: its id.
        reason: token of the dominant reason.
        message: that reason as a sentence.
        never: whether no future of the present fleet and queues could start it.
    """

    position: int
    workload: str
    gang: str
    queue: str
    user: str = ""
    kind: str = ""
    priority: int = 0
    gpus: int | float = 0
    reason: str = ""
    message: str = ""
    never: bool = False
    submitted: int | None = None


class OrderPage(Struct):
    """Some of what waits, in order.

    Attributes:
        items: one page of it.
        total: how many there are on all pages.
        next: as of `WorkloadPage`.
    """

    items: tuple[OrderItem, ...] = ()
    total: int = 0
    next: str | None = None


class Check(Struct):
    """One thing that was looked at.

    Attributes:
        name: as `ledger`.
        status: `ok`, `warn` or `fail`.
        message: what is wrong; empty = nothing.
    """

    name: str
    status: str = "ok"
    message: str = ""


class Health(Struct):
    """Whether the server works.

    Attributes:
        status: `ok`, or `trouble`: requests are read but none accepted.
        trouble: what the trouble is; where there is none, what is warned of.
        checks: everything that was looked at.
    """

    status: str = "ok"
    trouble: str = ""
    checks: tuple[Check, ...] = ()


class Version(Struct):
    """The server's version."""

    version: str


class QueueView(Struct):
    """One queue: its rules and what it uses now.

    Attributes:
        name: unique in the tree.
        parent: name of the queue above; empty = a root.
        quota: guaranteed amount of each resource by flavor.
        limit: most it may use by flavor.
        lend_limit: most of its unused quota that others may use, by flavor.
        over_quota_weight: weight in the division of what no queue is guaranteed.
        priority: order of that division; higher first.
        max_pending: most workloads that may wait here; 0 = no bound.
        leaf: whether workloads may be submitted to it.
        gpu_used_milli: thousandths of GPUs in use, its children's included.
        used: in use by flavor; `*` = all together.
        running: gangs that hold resources, those of its children included.
        waiting: gangs that wait, likewise.
        document: its rules, as a policy file says them.
        etag: names these rules, for changes of just these.
    """

    name: str
    parent: str = ""
    quota: dict[str, Amount] = field(default_factory=dict)
    limit: dict[str, Amount] = field(default_factory=dict)
    lend_limit: dict[str, Amount] = field(default_factory=dict)
    over_quota_weight: int = 1
    priority: int = 100
    max_pending: int = 0
    leaf: bool = True
    gpu_used_milli: int = 0
    used: dict[str, Amount] = field(default_factory=dict)
    running: int = 0
    waiting: int = 0
    document: dict[str, Any] = field(default_factory=dict)
    etag: str = ""


class QueuePage(Struct):
    """Queues, by name."""

    items: tuple[QueueView, ...] = ()
    next: str | None = None


class EventView(Struct):
    """One event of the ledger.

    Attributes:
        seq: its number, without gaps.
        event: the event itself; `type` says which sort, `at` when in ms.
    """

    seq: int
    event: dict[str, Any]
