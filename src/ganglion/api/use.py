"""Present use, everything about one node, and a report of the fleet.

GPU time is in GPU-microseconds, as of `money.usage`.
"""

from msgspec import Struct, field

from ganglion.api.nodes import NodeView
from ganglion.api.policies import BookingView
from ganglion.api.reasons import ModelKept, ModelUse


class DeviceUse(Struct):
    """One GPU now; None = unknown.

    Attributes:
        node, index: which.
        uuid: the vendor's identifier; empty = a pretend GPU.
        gangs, users: who holds it.
        busy_milli: thousandths of the time in which it computed.
        memory_mib, memory_total_mib: memory in use, and all of it.
        power_mw, power_limit_mw: power drawn, and its limit.
        strangers: processes on it that belong to no gang.
    """

    node: str
    index: int
    type: str
    uuid: str = ""
    gangs: tuple[str, ...] = ()
    users: tuple[str, ...] = ()
    busy_milli: int | None = None
    memory_mib: int | None = None
    memory_total_mib: int = 0
    power_mw: int | None = None
    power_limit_mw: int | None = None
    strangers: tuple[int, ...] = ()


class GangUse(Struct):
    """One gang that holds resources, now; None = unknown.

    Attributes:
        gpus: GPUs that it holds.
        gpu_busy_milli: mean over its GPUs, where it has them alone.
        gpu_memory_mib: by its processes.
        power_mw: of its GPUs, where it has them alone.
        cpu_milli: thousandths of a core.
        memory_mib: resident memory.
        processes: how many it has.
    """

    gang: str
    workload: str
    user: str
    queue: str
    phase: str
    nodes: tuple[str, ...] = ()
    gpus: float = 0
    gpu_busy_milli: int | None = None
    gpu_memory_mib: int | None = None
    power_mw: int | None = None
    cpu_milli: int | None = None
    memory_mib: int | None = None
    processes: int | None = None


class UsePage(Struct):
    """What is used at one moment, in ms."""

    at: int
    devices: tuple[DeviceUse, ...] = ()
    gangs: tuple[GangUse, ...] = ()


class Occupant(Struct):
    """A gang on a node.

    Attributes:
        since: when it was placed, in ms.
        pods: its pods on this node.
        devices: its devices there.
        milli: what it has of each, in thousandths.
    """

    gang: str
    user: str
    queue: str
    phase: str
    since: int = 0
    pods: int = 0
    devices: tuple[int, ...] = ()
    milli: int = 0


class NodeDetail(Struct):
    """Everything about one node.

    Attributes:
        node: as lists show it.
        opens: command that lets it take work again; empty = it takes work.
        occupants: who is on it.
        awaiting: who starts there once others have left.
        bookings: for whom or what it is kept.
    """

    node: NodeView
    opens: str = ""
    occupants: tuple[Occupant, ...] = ()
    awaiting: tuple[Occupant, ...] = ()
    bookings: tuple[BookingView, ...] = ()


class UtilisationRow(Struct):
    """GPUs of one queue, or of the fleet.

    Attributes:
        queue: leaf queue; empty = all that were asked for.
        allocated_gpu_us: GPU time that attempts held in the period.
        capacity_gpu_us: GPU time that there was; None = of a queue, or it may not be seen.
        held_milli: thousandths of GPUs held at this moment.
        active_milli: thousandths of GPUs that compute at this moment, as their driver says;
            None = it was not measured for each of those held.
        active_gpu_us, sampled_gpu_us, active_by, energy_mj, energy_gpu_us, energy_by: what GPUs
            did in the period, as of `UsageRow`.
        lost_gpu_us, useful_gpu_us: what became of the work of the period, likewise.
    """

    queue: str = ""
    allocated_gpu_us: int = 0
    capacity_gpu_us: int | None = None
    held_milli: int = 0
    active_milli: int | None = None
    active_gpu_us: int | None = None
    sampled_gpu_us: int = 0
    active_by: str = ""
    energy_mj: int | None = None
    energy_gpu_us: int = 0
    energy_by: str = ""
    lost_gpu_us: int | None = None
    useful_gpu_us: int | None = None


class WaitRow(Struct):
    """Waiting times of workloads, from their submission to the first place of their first gang.

    Attributes:
        queue: leaf queue; empty = all that were asked for.
        size: class of GPUs: `0`, `1`, `2-8`, `9-64`, `65-512`, `513+`; empty = all.
        started: workloads that got their first place in the period.
        p50_ms, p95_ms: waits that half, and 95 %, of them did not pass, at most a quarter too
            large; None = there are none.
        waiting: workloads that wait for their first place at this moment.
        longest_ms: how long the oldest of these has waited; None = there are none.
    """

    queue: str = ""
    size: str = ""
    started: int = 0
    p50_ms: int | None = None
    p95_ms: int | None = None
    waiting: int = 0
    longest_ms: int | None = None


class OverheadRow(Struct):
    """How long a step of scheduling takes, since the server started.

    Attributes:
        step: `decision`: one cycle of the engine; `running`: from the decision until all pods
            run; `ready`: from the decision until a replica of a service answers.
        count: how many were measured.
        p50_ms, p95_ms: upper bounds of the steps of a histogram; None = there are none, or it
            was longer than the last of them.
    """

    step: str
    count: int = 0
    p50_ms: float | None = None
    p95_ms: float | None = None


class ReportSpan(Struct):
    """A day, or in longer periods a week from Monday on, of UTC.

    Attributes:
        begin: its first date.
        allocated_gpu_us, capacity_gpu_us: as of `UtilisationRow`.
        started, p50_ms, p95_ms: as of `WaitRow`.
        lost_gpu_us, useful_gpu_us: as of `UsageRow`.
    """

    begin: str
    allocated_gpu_us: int = 0
    capacity_gpu_us: int | None = None
    started: int = 0
    p50_ms: int | None = None
    p95_ms: int | None = None
    lost_gpu_us: int | None = None
    useful_gpu_us: int | None = None


class Report(Struct):
    """The three metrics over a period.

    Attributes:
        since, until: the period, in ms.
        metered_since: since when there are figures, in ms; None = there are none yet.
        utilisation: by queue, all together first.
        waits: by queue and size, all together first, each queue as a whole before its sizes.
        overhead: of the server; empty = the caller may not see the whole fleet.
        cpu_ms: CPU time that the server has spent since it started; None = unknown, or as above.
        spans: history by day or week, oldest first.
        lost_since: since when it is known which work was thrown away, in ms; None = it is not.
    """

    since: int
    until: int
    metered_since: int | None = None
    utilisation: tuple[UtilisationRow, ...] = ()
    waits: tuple[WaitRow, ...] = ()
    overhead: tuple[OverheadRow, ...] = ()
    cpu_ms: int | None = None
    spans: tuple[ReportSpan, ...] = ()
    lost_since: int | None = None


class ReportedMetric(Struct):
    """What a program reported last.

    Attributes:
        at: when, in ms.
        step: as the program counts.
        value: None = no finite number.
        attempt: that reported it.
    """

    at: int
    step: int = 0
    value: float | None = None
    attempt: int = 0


class RoutedLoad(Struct):
    """What a service has to do, by the last report of the router.

    Attributes:
        age_ms: how old that report is.
        ready: replicas that get requests.
        waiting, running: requests that no replica has yet, and that one has.
        first_p50_ms, first_p90_ms: to the first byte of answers of the last minute; None = none.
        whole_p50_ms, whole_p90_ms: to the end of its answer.
        minute: requests whose answer ended within the last minute.
        failed: requests that were refused, not served or broke off, since the router began.
        replicas: gang id -> requests that it has.
    """

    age_ms: int
    ready: int = 0
    waiting: int = 0
    running: int = 0
    first_p50_ms: int | None = None
    first_p90_ms: int | None = None
    whole_p50_ms: int | None = None
    whole_p90_ms: int | None = None
    minute: int = 0
    failed: int = 0
    replicas: dict[str, int] = field(default_factory=dict)


class ModelRow(Struct):
    """A live workload with a model.

    Attributes:
        workload: id.
        model: that it has.
        now: what its reference meant when the registry was asked last; None = it cannot move, is
            not watched, or was never found out.
        moved: whether it means another model by now; None = not known.
        asked: when the registry was asked last, in ms; None = it was not.
        trouble: why that was not found out; empty = it was.
        before: the model before the last update; None = there was none.
        fresh: gangs with its model that have not ended.
        outdated: gangs with another one.
        kept: whether `model` lies on the machine of the server; None = none are kept.
    """

    workload: str
    name: str
    kind: str
    queue: str
    user: str
    model: ModelUse | None = None
    now: ModelUse | None = None
    moved: bool | None = None
    asked: int | None = None
    trouble: str = ""
    before: ModelUse | None = None
    fresh: int = 0
    outdated: int = 0
    kept: ModelKept | None = None


class StoredModel(Struct):
    """A model that lies on the machine of the server whole.

    Attributes:
        uri: what it is.
        digest: as the registry said.
        bytes: of all its files.
        used: when a program got it last, or it was fetched, in ms.
    """

    uri: str
    digest: str
    bytes: int
    used: int


class ModelStore(Struct):
    """The folder in which the server keeps models.

    Attributes:
        folder: its path.
        limit: most bytes that may lie there; 0 = what the disk has.
        trouble: why it cannot be used; empty = it can.
        models: that lie there whole, the one that was used last first.
    """

    folder: str
    limit: int
    trouble: str = ""
    models: tuple[StoredModel, ...] = ()


class ModelList(Struct):
    """Live workloads with a model, newest first.

    Attributes:
        items: the workloads.
        store: where models are kept; None = none are, or the caller may not see the whole fleet.
    """

    items: tuple[ModelRow, ...] = ()
    store: ModelStore | None = None
