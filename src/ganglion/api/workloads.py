"""Workloads and their gangs, live and ended."""

from typing import Any

from msgspec import Struct, field

from ganglion.api.events import SessionView
from ganglion.api.money.costs import WorkloadCost
from ganglion.api.reasons import ModelKept, ModelUse, Placement, Reason, WaitedFor
from ganglion.api.use import ReportedMetric, RoutedLoad

ENDED = frozenset({"SUCCEEDED", "FAILED", "CANCELLED", "TIMED_OUT"})
"""States that a workload never leaves."""


class Accepted(Struct):
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
    """What lists and details have in common.

    Attributes:
        reason: token of the reason of a wait; empty = it does not wait.
        gpus: GPUs that its gangs ask for; while any lives, of those that are wanted.
        gpus_held: GPUs that its gangs hold now.
        pods: pods of all its gangs.
        running: gangs that run.
        failed: gangs that ended otherwise than well, by themselves.
        cancelled: gangs that were cancelled.
        stopped_early: trials that were given up for better ones.
        waiting: gangs that wait to start.
        standby: replicas that sleep until they are wanted.
        position: place in the order of all that waits, from 1; of work in a cluster among what
            waits there.
        silent_since: of work in a cluster, since when nothing was heard of its scheduler, in ms:
            all of this is as it was then. 0 = it is not silent, or the server itself decides.
        waits_for: workloads that have to leave the place it was promised.
        preemptions: attempts of its gangs stopped for others.
        lost_gpu_ms: GPU time that these threw away.
        alarms: what needs a person, by stable code.
        cost: so far and at most; None = no price is set.
    """

    id: str
    name: str
    kind: str
    queue: str
    user: str
    priority: int
    state: str
    reason: str = ""
    message: str = ""
    gpus: float = 0
    gpus_held: float = 0
    pods: int = 0
    running: int = 0
    succeeded: int = 0
    failed: int = 0
    cancelled: int = 0
    stopped_early: int = 0
    waiting: int = 0
    standby: int = 0
    submitted: int = 0
    started: int | None = None
    ended: int | None = None
    exit_code: int | None = None
    position: int | None = None
    silent_since: int = 0
    waits_for: tuple[str, ...] = ()
    preemptions: int = 0
    lost_gpu_ms: int = 0
    alarms: dict[str, str] = field(default_factory=dict)
    cost: WorkloadCost | None = None

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
        url: lets one browser in, once, within five minutes; where keys are off, the plain address.
        token: for programs: the value of `X-Ganglion-Token`; empty = keys are off.
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


class LifeChange(Struct, frozen=True):
    """One thing that was otherwise before.

    Attributes:
        name: of what: `priority`, `queue`, `GPUs`, `image`, `pods of main`; `time_limit_ms` is a
            length of time and `deadline_at` a time, in ms.
        before, after: its values; empty = none, or not known.
    """

    name: str
    before: str = ""
    after: str = ""


class LifeEvent(Struct):
    """One thing that happened to a gang.

    Attributes:
        at: when, in ms.
        kind: `checkpoint` = one was reported; `resumed` = an attempt was placed that got one to go
            on from; `resized` = it grew or shrank while it ran; `changed` = something else is asked
            for, from the next attempt on where it needs one.
        attempt: the last one that was placed by then; 0 = none, or not known.
        step, path: of the checkpoint; 0 and empty = its program did not say.
        saved_by: attempt that saved the checkpoint that was gone on from; 0 = the newest one was
            not there any more: `why` says what the attempt got.
        changes: what was before and after.
        why: its cause; empty = it was not said.
    """

    at: int
    kind: str
    attempt: int = 0
    step: int = 0
    path: str = ""
    saved_by: int = 0
    changes: tuple[LifeChange, ...] = ()
    why: str = ""


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
        draining: whether it gets no more requests and then stops.
        model: that its programs load, with its version; empty = none.
        metrics: what its programs reported last, by name.
        waited: for what it has waited, the first first; empty = it has not, or that was not kept.
        life: what happened to it beside its attempts, the first first: at most 50 checkpoints, and
            50 others.
        life_left_out: older ones than these.
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
    submitted: int = 0
    placed: int | None = None
    started: int | None = None
    ended: int | None = None
    endpoint: str = ""
    draining: bool = False
    model: str = ""
    metrics: dict[str, ReportedMetric] = field(default_factory=dict)
    waited: tuple[WaitedFor, ...] = ()
    life: tuple[LifeEvent, ...] = ()
    life_left_out: int = 0


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
        waited: token of a reason -> for how long its gangs waited for that, in ms, all gangs
            added up; empty = they did not wait, or that was not kept.
    """

    wait_ms: int
    run_ms: int
    gpu_ms: int
    attempts: int
    waited: dict[str, int] = field(default_factory=dict)


class WorkloadDetail(WorkloadBase):
    """Everything about one workload.

    Attributes:
        gangs: its gangs, by index.
        document: what was submitted, with every alias resolved.
        time_limit_ms: most that its gangs may run, as it holds now; 0 = no limit, None = unknown.
        submitted_limit_ms: the limit that it was submitted with, where another one holds now;
            None = it is the same, or unknown.
        url: where all its replicas are reached; empty = nowhere.
        use: whether a workspace is idle, busy or unknown, and why.
        scaling: None = it has always had its replicas.
        spent: None = it has not ended, or it is unknown.
        sessions: the last ones in its pods, newest first.
        model: that gangs submitted from now on get; None = it names none.
        model_kept: whether it lies on the machine of the server; None = none are kept.
        image: that it asks for, with its digest or with why that is not known; empty = none.
        load: None = the router has not reported about it.
    """

    gangs: tuple[GangView, ...] = ()
    document: dict[str, Any] = field(default_factory=dict)
    time_limit_ms: int | None = None
    submitted_limit_ms: int | None = None
    url: str = ""
    use: str = ""
    scaling: Scaling | None = None
    spent: Spent | None = None
    sessions: tuple[SessionView, ...] = ()
    model: ModelUse | None = None
    model_kept: ModelKept | None = None
    load: RoutedLoad | None = None
    image: str = ""


class OrderItem(Struct):
    """One gang that waits.

    Attributes:
        position: place in the order, from 1: of all that waits, or in its cluster of what waits
            there. 0 = it is not in the order yet, or not among the first that its scheduler
            names, or the caller does not see all of what it counts.
        workload: id of its workload.
        gang: its id.
        reason: token of the dominant reason.
        message: that reason as a sentence.
        never: whether no future of the present fleet and queues could start it.
        cluster: that it lives in; empty = the server itself decides.
        silent_since: since when nothing was heard of that cluster's scheduler, in ms: the row is
            as it was then. 0 = it is not silent.
    """

    position: int
    workload: str
    gang: str
    queue: str
    user: str = ""
    kind: str = ""
    priority: int = 0
    gpus: float = 0
    reason: str = ""
    message: str = ""
    never: bool = False
    submitted: int = 0
    cluster: str = ""
    silent_since: int = 0


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


class HistoryItem(WorkloadView):
    """A workload that has ended.

    Attributes:
        spent: what it used; None = unknown, as an earlier version of Ganglion wrote its end.
    """

    spent: Spent | None = None


class HistoryPage(Struct):
    """Some ended workloads.

    Attributes:
        items: one page of them, the one that ended last first.
        next: give it as `after` to get the next page; None = that was all.
    """

    items: tuple[HistoryItem, ...] = ()
    next: str | None = None
