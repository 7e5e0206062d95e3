"""Jobs of the completion-time benchmarks: what a trace, or a seed, says."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from random import Random

from msgspec import Struct

from ganglion.worlds.simulated.job import gpu_milli
from ganglion.worlds.simulated.readers.jobs_csv import read_jobs

GPUS_PER_NODE = 8
ITP_SIZES = {1: 57682, 2: 1483, 4: 2371, 8: 7009, 16: 381, 32: 354}
"""How many jobs of each number of GPUs the ITP trace has (ElasticFlow, ASPLOS'23)."""


class Job(Struct, frozen=True):
    """One job, rigid: it runs on all its GPUs at once or not at all.

    Attributes:
        number: its place in the order of submission, from 0; unique within a cluster.
        submitted: when it arrives, in ms.
        duration: how long it runs, in ms.
        gpus: whole GPUs, at least one.
    """

    number: int
    submitted: int
    duration: int
    gpus: int

    @property
    def work(self) -> int:
        """GPU-milliseconds."""
        return self.duration * self.gpus


class Cluster(Struct, frozen=True):
    """Jobs and the equal nodes of eight GPUs that they share.

    Attributes:
        name: as the trace calls it.
        nodes: how many nodes.
        jobs: in order of submission.
        dropped: jobs left out, being larger than the cluster or without GPUs.
    """

    name: str
    nodes: int
    jobs: tuple[Job, ...]
    dropped: int = 0

    @property
    def gpus(self) -> int:
        """GPUs of all nodes."""
        return self.nodes * GPUS_PER_NODE


Arrival = tuple[int, int, int]
"""(submitted ms, duration ms, GPUs)."""


def read_arrivals(path: Path) -> dict[str, list[Arrival]]:
    """Jobs of a job table by `vc`, in order of submission.

    Raises:
        FileError, FieldError: the file or a value cannot be used.
    """
    found: dict[str, list[Arrival]] = {}
    for job in read_jobs(path, gpus_per_node=GPUS_PER_NODE):
        gpus = gpu_milli(job.gang) // 1000
        assert job.duration_ms is not None, "job tables always have durations"
        arrival = (job.gang.submitted, job.duration_ms, gpus)
        found.setdefault(job.gang.queue, []).append(arrival)
    return dict(sorted(found.items()))


def cluster_of(name: str, arrivals: Iterable[Arrival], nodes: int) -> Cluster:
    """Put jobs on a cluster of that many nodes; those that never fit are dropped."""
    listed = list(arrivals)
    room = range(1, nodes * GPUS_PER_NODE + 1)
    kept = [each for each in listed if each[2] in room]
    jobs = tuple(Job(number, *each) for number, each in enumerate(kept))
    return Cluster(name, nodes, jobs, len(listed) - len(jobs))


def nodes_at_load(arrivals: Sequence[Arrival], load: float, least: int = 2) -> int:
    """Nodes on which jobs offer a load: mean demand in GPUs over what the nodes have.

    The mean demand is all GPU-milliseconds over the time from first to last submission (over
    the longest duration where all arrive at once).

    Args:
        arrivals: at least one job.
        load: wanted load, in (0, 1].
        least: fewest nodes.
    """
    submits = [submitted for submitted, _, _ in arrivals]
    span = max(submits) - min(submits) or max(duration for _, duration, _ in arrivals) or 1
    demand = sum(duration * gpus for _, duration, gpus in arrivals) / span
    return max(least, round(demand / GPUS_PER_NODE / load))


def synthetic(seed: int, count: int = 1500, nodes: int = 8, load: float = 0.9) -> list[Arrival]:
    """Made-up jobs: Poisson arrivals, log-normal durations, sizes mixed as in the ITP trace.

    Durations have a median of 20 minutes and a mean near 4 hours, as in the Philly trace.
    The mean time between arrivals is chosen for the wanted load of a cluster.
    """
    dice = Random(seed)
    sizes = dice.choices(list(ITP_SIZES), weights=list(ITP_SIZES.values()), k=count)
    durations = [round(dice.lognormvariate(7.1, 2.2) * 1000) + 1000 for _ in sizes]
    work = sum(size * duration for size, duration in zip(sizes, durations, strict=True))
    gap = work / count / (nodes * GPUS_PER_NODE * load)
    now, found = 0.0, []
    for duration, size in zip(durations, sizes, strict=True):
        found.append((round(now), duration, size))
        now += dice.expovariate(1 / gap)
    return found
