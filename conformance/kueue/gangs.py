"""Workloads of a scenario as gangs, and where the running ones run."""

from conformance.kueue import schema as said
from conformance.kueue.nodes import Ground
from conformance.kueue.queues import DEFAULT_QUEUE, Rank, milli
from ganglion.model.errors import FieldError
from ganglion.model.fleet.node import Node
from ganglion.model.placement import Placement, PodPlacement
from ganglion.model.resources import WHOLE, GpuRequest, PodRequest
from ganglion.model.workload import Constraints, Gang, PodSet, Slice, Topology

BEGIN_MS = 10**9
"""Time 0 of a scenario; what it dates earlier is still positive."""


def ms(seconds: float) -> int:
    """A time of the file as ours."""
    return BEGIN_MS + round(seconds * 1000)


def gang_of(workload: said.Workload, case: said.Case, ground: Ground, rank: Rank) -> Gang:
    """A workload as a gang; its name is its id."""
    groups = {each.topology.group for each in workload.sets if each.topology}
    grouped = len(workload.sets) > 1 and len(groups) == 1 and "" not in groups
    tolerated = {taint for each in workload.sets for taint in each.tolerations}
    return Gang(
        workload.name,
        workload.name,
        workload.queue or (case.queues or (DEFAULT_QUEUE,))[0].name,
        priority=rank(workload.priority),
        pod_sets=tuple(_pod_set(each, ground, grouped) for each in workload.sets),
        topology=_topology(workload.sets[-1].topology, ground) if grouped else Topology(),
        constraints=Constraints(
            labels={k: (v,) for each in workload.sets for k, v in each.node_selector.items()},
            avoid={f"taint/{taint}": ("yes",) for taint in sorted(ground.taints() - tolerated)},
        ),
        submitted=ms(workload.created),
        name=workload.name,
    )


def _pod_set(each: said.PodSet, ground: Ground, grouped: bool) -> PodSet:
    gpu = milli(each.per_pod.get("gpu", 0))
    shared = 0 < gpu < WHOLE
    types: tuple[str, ...] = ()
    fabric = each.topology is not None
    if ground.mixed or fabric:
        types = tuple(name for name, on in ground.flavors.items() if on is fabric) or (NONE,)
    request = GpuRequest(1 if shared else gpu // WHOLE, gpu if shared else WHOLE, types=types)
    layers = each.topology.slices if each.topology else ()
    return PodSet(
        each.name,
        each.count,
        each.min_count,
        PodRequest(milli(each.per_pod.get("cpu", 0)), gpu=request),
        topology=Topology() if grouped else _topology(each.topology, ground),
        slices=tuple(Slice(layer.size, ground.level(layer.level)) for layer in layers),
    )


def _topology(topology: said.Topology | None, ground: Ground) -> Topology:
    if topology is None:
        return Topology()
    return Topology(
        required=ground.level(topology.required) if topology.required else None,
        preferred=ground.level(topology.preferred) if topology.preferred else None,
    )


NONE = "no flavor"
"""Device type of pods that want a topology where no flavor has one."""


class Seats:
    """Assigns the nodes and devices that running workloads begin with."""

    def __init__(self, nodes: dict[str, Node]) -> None:
        self._nodes = nodes
        self._free = {name: list(range(len(node.devices))) for name, node in nodes.items()}
        self._used: dict[tuple[str, int], int] = {}

    def placement(self, gang: Gang, where: dict[str, dict[str, int]]) -> Placement:
        """Seats for the pods of each set, by node."""
        pods = []
        for each in gang.pod_sets:
            if each.name not in where:
                problem = f"the placement of {gang.id} leaves out pod set {each.name}"
                raise FieldError(problem, key="placement")
            nodes = [name for name, count in where[each.name].items() for _ in range(count)]
            for index, node in enumerate(nodes):
                pods.append(self._seat(each, index, node))
        return Placement(tuple(pods))

    def _seat(self, each: PodSet, index: int, node: str) -> PodPlacement:
        if node not in self._free:
            raise FieldError(f"there is no node {node} to run on", key="placement")
        gpu = each.request.gpu
        free = self._free[node]
        if gpu.milli < WHOLE and gpu.count:
            device = next(
                at
                for at in range(len(self._nodes[node].devices))
                if self._used.get((node, at), 0) + gpu.milli <= WHOLE
                and (at in free or (node, at) in self._used)
            )
            self._used[node, device] = self._used.get((node, device), 0) + gpu.milli
            if device in free:
                free.remove(device)
            return PodPlacement(each.name, index, node, (device,), gpu.milli)
        devices = tuple(free[: gpu.count])
        del free[: gpu.count]
        return PodPlacement(each.name, index, node, devices, gpu.milli if devices else 0)
