"""Clusters for runs without a cluster file: equal nodes in racks."""

from collections.abc import Sequence

from ganglion.model.fleet.levels import Level
from ganglion.model.fleet.node import Device, Node
from ganglion.model.queue import ANY_FLAVOR, Queue
from ganglion.model.resources import WHOLE, Amount
from ganglion.worlds.simulated.job import SimJob, cpu_milli, gpu_milli

LOAD_PCT = 90
"""Offered load that a cluster is sized for when its size is not given."""

GPU_TYPE = "GPU"


def build_nodes(
    count: int,
    gpus: int = 8,
    nodes_per_rack: int = 8,
    *,
    cpus_per_gpu: int = 12,
    memory_gib_per_gpu: int = 128,
    cpus: int = 0,
) -> tuple[Node, ...]:
    """Equal nodes `n0001`.. in racks `r001`..

    Args:
        count: nodes.
        gpus: GPUs of each, of type `GPU` with 80 GiB, in two NUMA halves, all in one island.
        nodes_per_rack: how many share a rack.
        cpus_per_gpu: CPU cores per GPU.
        memory_gib_per_gpu: host memory per GPU in GiB.
        cpus: cores of a node without GPUs, with 8 GiB each; used when `gpus` is 0.
    """
    devices = tuple(
        Device(GPU_TYPE, memory_mib=81_920, numa=2 * place // max(gpus, 2)) for place in range(gpus)
    )
    cores = gpus * cpus_per_gpu if gpus else cpus
    memory = (gpus * memory_gib_per_gpu if gpus else cpus * 8) * 1024
    return tuple(
        Node(
            name=f"n{place + 1:04d}",
            cpu_milli=cores * WHOLE,
            memory_mib=memory,
            devices=devices,
            domains={Level.RACK: f"r{place // nodes_per_rack + 1:03d}"},
        )
        for place in range(count)
    )


def equal_quotas(names: Sequence[str], nodes: Sequence[Node]) -> tuple[Queue, ...]:
    """Queues that share the GPUs of a cluster in equal whole parts, and may borrow freely.

    The quota is given in the flavor of the nodes where they all have one: some policies, as
    Kueue's, know no quota of GPUs of any kind.
    """
    gpus = sum(len(node.devices) for node in nodes)
    part = gpus // len(names) * WHOLE
    flavors = {node.kind for node in nodes if node.devices}
    flavor = flavors.pop() if len(flavors) == 1 else ANY_FLAVOR
    quota = {flavor: Amount(gpu_milli=part)}
    return tuple(Queue(name, quota=quota) for name in names)


def nodes_for(jobs: Sequence[SimJob], per_node: int, *, gpus: bool) -> int:
    """How many nodes carry a trace at 90 % mean load.

    The mean demand is the work of all jobs over the time in which they are submitted; the
    cluster also fits the largest job and at least two nodes.

    Args:
        jobs: the trace.
        per_node: GPUs (or CPU cores) of a node.
        gpus: whether to count GPUs or CPU cores.
    """
    size = gpu_milli if gpus else cpu_milli
    sizes = [size(job.gang) for job in jobs]
    work = sum(milli * (job.duration_ms or 0) for milli, job in zip(sizes, jobs, strict=True))
    submits = sorted(job.gang.submitted for job in jobs)
    longest = max(job.duration_ms or 0 for job in jobs)
    span = max(submits[-1] - submits[0], longest, 1)
    mean = round(work * 100 / span / WHOLE / per_node / LOAD_PCT)
    return max(2, mean, -(-max(sizes) // (WHOLE * per_node)))
