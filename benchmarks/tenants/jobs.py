"""Tenants for the sharing benchmark: virtual clusters of a trace, or made up from a seed."""

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from benchmarks.backfill.rigid_jobs import Pool, Rigid
from benchmarks.common.jobs import (
    GPUS_PER_NODE,
    Arrival,
    Cluster,
    cluster_of,
    nodes_at_load,
    read_arrivals,
    synthetic,
)
from benchmarks.common.traces import main_file
from ganglion.model.errors import NotFound
from ganglion.model.queue import ANY_FLAVOR, Queue
from ganglion.model.resources import Amount
from ganglion.model.workload import Checkpoint, Gang
from ganglion.worlds.simulated.job import Shapes, SimJob

LOAD = 0.9
DAY_MS = 86_400_000
FROM, DAYS = 30 * DAY_MS, 61
"""October and November 2017 in a trace that begins with September."""

FEWEST_JOBS = 1000
"""A virtual cluster with more jobs than this in all the days takes part; less in fewer days."""

CHECKPOINT_MS = 30 * 60_000
"""How often a job saves: an assumption, as the trace does not say."""


class Tenants(Struct, frozen=True):
    """Virtual clusters, each as large as its jobs need at the load.

    Attributes:
        clusters: each with its own nodes and jobs.
        synthetic: whether they are made up.
    """

    clusters: tuple[Cluster, ...]
    synthetic: bool

    @property
    def nodes(self) -> int:
        """Nodes of all together."""
        return sum(each.nodes for each in self.clusters)

    def queues(self) -> list[Queue]:
        """One queue per tenant, whose quota is the GPUs of its own nodes."""
        return [
            Queue(each.name, quota={ANY_FLAVOR: Amount(gpu_milli=each.gpus * 1000)})
            for each in self.clusters
        ]

    def jobs(self) -> list[SimJob]:
        """All tenants' jobs in order of submission."""
        shapes = Shapes(GPUS_PER_NODE)
        found = [_job(shapes, each, number) for each in self.clusters for number in _numbers(each)]
        return sorted(found, key=lambda job: (job.gang.submitted, job.gang.id))


def _numbers(cluster: Cluster) -> range:
    return range(len(cluster.jobs))


def _job(shapes: Shapes, cluster: Cluster, number: int) -> SimJob:
    job = cluster.jobs[number]
    workload = f"{cluster.name}-{number:06d}"
    gang = Gang(
        id=f"{workload}/0",
        workload=workload,
        queue=cluster.name,
        pod_sets=shapes.gpus(job.gpus),
        submitted=job.submitted,
        checkpoint=Checkpoint(interval_ms=CHECKPOINT_MS),
    )
    return SimJob(gang, job.duration)


def rigid(cluster: Cluster) -> tuple[list[Rigid], Pool]:
    """A tenant on its own, for the replays without the engine; durations are known exactly."""
    jobs = [Rigid(j.number, j.submitted, j.duration, j.duration, j.gpus) for j in cluster.jobs]
    return jobs, Pool(cluster.nodes, GPUS_PER_NODE)


def read_tenants(folder: Path, days: int = DAYS) -> Tenants:
    """The virtual clusters with enough jobs in the first days from October on.

    Raises:
        FileError, FieldError, NotFound: the folder or its file cannot be used.
    """
    path = main_file(folder, "jobs")
    found = {name: _within(each, days) for name, each in read_arrivals(path).items()}
    fewest = FEWEST_JOBS * days // DAYS
    kept = {name: each for name, each in found.items() if len(each) > fewest}
    if not kept:
        raise NotFound(f"no vc of {path} has more than {fewest:,} jobs in {days} days")
    return Tenants(tuple(_sized(name, each) for name, each in kept.items()), synthetic=False)


def made_up(seed: int, tenants: int = 3, count: int = 400) -> Tenants:
    """Tenants with jobs from a seed; see `synthetic`."""
    found = [synthetic(100 * seed + number, count, 3) for number in range(tenants)]
    sized = (_sized(f"team{number}", each) for number, each in enumerate(found))
    return Tenants(tuple(sized), synthetic=True)


def _within(arrivals: Sequence[Arrival], days: int) -> list[Arrival]:
    return [each for each in arrivals if FROM <= each[0] < FROM + days * DAY_MS]


def _sized(name: str, arrivals: Sequence[Arrival]) -> Cluster:
    return cluster_of(name, arrivals, nodes_at_load(arrivals, LOAD))
