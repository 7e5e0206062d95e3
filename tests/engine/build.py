"""Small fleets and gangs for the engine's tests."""

from ganglion.engine.cycle import cycle
from ganglion.engine.plugins.protocols import Plugins
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.model.events import Event, GangEnded, GangSubmitted, NodeAdded, Outcome, QueueSet
from ganglion.model.fleet.levels import Level
from ganglion.model.fleet.node import Device, Node
from ganglion.model.plan import Plan
from ganglion.model.policy import Policy
from ganglion.model.queue import Queue
from ganglion.model.resources import GpuRequest, PodRequest
from ganglion.model.workload import Gang, PodSet

GIB = 1024


def node(
    name: str,
    gpus: int = 8,
    kind: str = "H100",
    rack: str = "",
    block: str = "",
    island: int = 8,
    **more: object,
) -> Node:
    """A node; `island` GPUs share each NVLink island, and 4 each NUMA node."""
    domains = {level: at for level, at in ((Level.BLOCK, block), (Level.RACK, rack)) if at}
    devices = tuple(Device(kind, 80 * GIB, i // 4, i // island) for i in range(gpus))
    fields = {"cpu_milli": 96_000, "memory_mib": 1024 * GIB, "domains": domains} | more
    return Node(name, devices=devices, **fields)  # type: ignore[arg-type]


def gang(
    name: str, pods: int = 1, gpus: int = 1, queue: str = "team", cpu: int = 0, **more: object
) -> Gang:
    """A gang of equal pods; `more` are fields of the gang, `pod` fields of its pod set."""
    pod = dict(more.pop("pod", {}))  # type: ignore[call-overload]
    request = more.pop("request", PodRequest(cpu_milli=cpu, gpu=GpuRequest(gpus)))
    sets = (PodSet(count=pods, request=request, **pod),)  # type: ignore[arg-type]
    fields = {"id": f"{name}/0", "workload": name, "queue": queue, "pod_sets": sets}
    return Gang(**fields | more)  # type: ignore[arg-type]


def state_of(
    *nodes: Node,
    queues: tuple[Queue, ...] = (Queue("team"),),
    policy: Policy | None = None,
    plugins: Plugins | None = None,
) -> ClusterState:
    state = ClusterState(policy, plugins)
    events: list[Event] = [QueueSet(0, queue) for queue in queues]
    plan = cycle(state, [*events, *(NodeAdded(0, each) for each in nodes)], 0)
    assert plan.rejected == []
    return state


def submit(state: ClusterState, *gangs: Gang, now: int = 1) -> Plan:
    plan = cycle(state, [GangSubmitted(now, each) for each in gangs], now)
    assert plan.rejected == []
    return plan


def end(state: ClusterState, *names: str, now: int = 2) -> Plan:
    ends = [
        GangEnded(now, f"{name}/0", state.gangs.record(f"{name}/0").attempt, Outcome.SUCCEEDED)
        for name in names
    ]
    return cycle(state, ends, now)


def started(plan: Plan) -> list[str]:
    return [start.gang.workload for start in plan.starts]


def where(plan: Plan, name: str) -> list[str]:
    """Nodes of the pods of a gang that the plan starts."""
    (start,) = (each for each in plan.starts if each.gang.workload == name)
    return [pod.node for pod in start.placement.pods]
