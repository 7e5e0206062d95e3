"""Pods that come and go: the openb list with its real times, laid over itself until it fills.

The list alone keeps a few dozen of its 6,212 GPUs busy. So a part of the nodes is taken, and
as many copies of the busy month as make the wanted load, each begun at a random moment of it.
"""

from collections.abc import Sequence
from pathlib import Path
from random import Random

from msgspec import Struct
from msgspec.structs import replace

from benchmarks.common.fleets import node
from benchmarks.common.jobs import synthetic
from benchmarks.common.traces import choose, csv_files, workload_files
from ganglion.model.fleet.node import Node
from ganglion.model.workload import Gang
from ganglion.worlds.simulated.job import Shapes, SimJob, gpu_milli
from ganglion.worlds.simulated.readers.openb import read_nodes, read_pods

QUEUE = "pods"
NODES, PODS, WORKLOAD = "openb_node_list_gpu_node", "openb_pod_list_", "default"
ONE_IN = 60
"""One node in this number is taken, of every model."""

DAY_MS = 86_400_000
BUSY_FROM, BUSY_UNTIL = 118 * DAY_MS, 149 * DAY_MS
LOADS = (0.85, 0.95)


class Churn(Struct, frozen=True):
    """Nodes, and pods that come and go.

    Attributes:
        name: where they come from.
        nodes: the cluster.
        jobs: in order of submission.
        load: mean demand over GPUs.
        span: time between first and last submission, in ms.
    """

    name: str
    nodes: tuple[Node, ...]
    jobs: tuple[SimJob, ...]
    load: float
    span: int

    @property
    def gpus(self) -> int:
        """GPUs of all nodes."""
        return sum(len(each.devices) for each in self.nodes)


def read_churn(folder: Path, workload: str | None, load: float, seed: int) -> Churn:
    """The busy month of a pod list.

    Raises:
        FileError, FieldError, NotFound: the folder or a file cannot be used.
    """
    nodes = _part_of(read_nodes(choose(csv_files(folder), NODES, folder)))
    name = workload or WORKLOAD
    pods = read_pods(choose(workload_files(folder, PODS, only=True), name, folder), queue=QUEUE)
    month = [job for job in pods if BUSY_FROM <= job.gang.submitted < BUSY_UNTIL]
    return _laid_over(name, nodes, month, load, seed)


def _part_of(nodes: Sequence[Node]) -> list[Node]:
    """Every so-manieth node of each model and size, in order of name."""
    ordered = sorted(nodes, key=lambda each: (each.devices[0].type, len(each.devices), each.name))
    return ordered[ONE_IN // 2 :: ONE_IN]


def made_up(load: float, seed: int) -> Churn:
    """Pods from a seed on a small uniform cluster; see `synthetic`."""
    shapes, nodes = Shapes(), [node(number) for number in range(8)]
    pods = [
        SimJob(
            Gang(
                f"pod-{number}/0",
                f"pod-{number}",
                QUEUE,
                pod_sets=shapes.gpus(min(gpus, 8)),
                submitted=submitted,
            ),
            min(duration, DAY_MS // 4),
        )
        for number, (submitted, duration, gpus) in enumerate(synthetic(seed, 300, 8, 0.3))
    ]
    return _laid_over(f"seed{seed}", nodes, pods, load, seed)


def _laid_over(
    name: str, nodes: Sequence[Node], pods: Sequence[SimJob], load: float, seed: int
) -> Churn:
    """Copies of the pods until they ask for that part of the GPUs on average."""
    dice = Random(seed)
    begin = min(job.gang.submitted for job in pods)
    span = max(job.gang.submitted for job in pods) - begin + 1
    room = span * sum(len(each.devices) for each in nodes)
    jobs: list[SimJob] = []
    work, copy = 0, 0
    while work < load * room:
        shift = dice.randrange(span)
        for job in pods:
            work += _work(job, span)
            if work < load * room:
                at = (job.gang.submitted - begin + shift) % span
                jobs.append(_copied(job, at, copy, span))
        copy += 1
    jobs.sort(key=lambda job: (job.gang.submitted, job.gang.id))
    return Churn(name, tuple(nodes), tuple(jobs), load, span)


def _work(job: SimJob, span: int) -> int:
    return min(job.duration_ms or 0, span) * gpu_milli(job.gang) // 1000


def _copied(job: SimJob, at: int, copy: int, span: int) -> SimJob:
    workload = f"{job.gang.workload}-{copy}"
    gang = replace(job.gang, id=f"{workload}/0", workload=workload, submitted=at)
    return SimJob(gang, min(job.duration_ms or 0, span))
