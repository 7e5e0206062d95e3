"""Uniform fleets and gangs, made in memory, for benchmarks of the engine's speed."""

from collections.abc import Iterator

from ganglion.engine.cycle import cycle
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.model.events import Event, NodeAdded, QueueSet
from ganglion.model.fleet.levels import Level
from ganglion.model.fleet.node import Device, Node
from ganglion.model.queue import Queue
from ganglion.model.resources import GpuRequest, PodRequest
from ganglion.model.workload import Gang, PodSet, Slice, Topology

US = 1_000
"""Nanoseconds in a microsecond."""

GPUS_PER_NODE = 8
NODES_PER_RACK = 16
RACKS_PER_BLOCK = 16
CPU_PER_GPU = 12_000
MEMORY_PER_GPU = 128 * 1024
SIZES = (1, 1, 1, 1, 2, 1, 4, 8)
"""GPUs of successive single pods: mostly one, as in production traces."""


def fleet(nodes: int) -> ClusterState:
    """A state with `nodes` equal nodes in racks and blocks, and one queue."""
    state = ClusterState()
    events: list[Event] = [QueueSet(0, Queue("bench"))]
    events += [NodeAdded(0, node(number)) for number in range(nodes)]
    cycle(state, events, 0)
    return state


def node(number: int) -> Node:
    """Node `number` of the fleet: 8 GPUs in one NVLink island over two NUMA nodes."""
    rack = number // NODES_PER_RACK
    return Node(
        f"node-{number:05d}",
        cpu_milli=CPU_PER_GPU * GPUS_PER_NODE,
        memory_mib=MEMORY_PER_GPU * GPUS_PER_NODE,
        devices=tuple(Device("H100", 80 * 1024, numa=i // 4) for i in range(GPUS_PER_NODE)),
        domains={
            Level.BLOCK: f"block-{rack // RACKS_PER_BLOCK:03d}",
            Level.RACK: f"rack-{rack:04d}",
        },
    )


def request(gpus: int) -> PodRequest:
    """A pod with `gpus` GPUs and their share of the node."""
    return PodRequest(CPU_PER_GPU * gpus, MEMORY_PER_GPU * gpus, GpuRequest(gpus))


def pods(count: int, first: int = 0) -> Iterator[Gang]:
    """Gangs of one pod each, of mixed sizes."""
    for number in range(first, first + count):
        yield gang(number, PodSet(request=request(SIZES[number % len(SIZES)])))


def rack_gang(number: int) -> Gang:
    """8 pods of 8 GPUs that must share a rack."""
    pod_set = PodSet(count=8, request=request(GPUS_PER_NODE))
    return gang(number, pod_set, Topology(required=Level.RACK))


def sliced_gang(number: int, count: int) -> Gang:
    """`count` pods of one GPU; every 100 consecutive ones must share a rack."""
    slices = (Slice(100, required=Level.RACK),)
    return gang(number, PodSet(count=count, request=request(1), slices=slices))


def gang(number: int, pod_set: PodSet, topology: Topology | None = None) -> Gang:
    """One gang of one pod set."""
    return Gang(
        f"job-{number}/0",
        f"job-{number}",
        "bench",
        pod_sets=(pod_set,),
        topology=topology or Topology(),
        submitted=number,
    )
