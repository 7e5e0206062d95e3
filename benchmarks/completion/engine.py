"""The engine's own policies on job lists: it may stop jobs, and a restart costs time."""

from collections.abc import Callable

from msgspec.structs import replace

from benchmarks.common.bands import Told
from benchmarks.common.drive import Outcomes, Stage, drive
from benchmarks.common.jobs import GPUS_PER_NODE, Cluster
from benchmarks.common.metrics import Done
from benchmarks.common.replay import QUEUE, Schedule, nodes_of
from ganglion.model.policy import Policy
from ganglion.model.queue import Queue
from ganglion.model.workload import Checkpoint, Gang
from ganglion.worlds.simulated.job import Shapes, SimJob, gpu_milli

SECOND_MS = 1000
GRACE_MS = 10_000
"""Time within which a job saves when it is asked to stop."""


def restart_ms(gpus: int) -> int:
    """What a restart costs: 7 s for one GPU, 30 s up to a node, 60 s beyond (Helios, SC'21)."""
    return SECOND_MS * (7 if gpus == 1 else 30 if gpus <= GPUS_PER_NODE else 60)


def run_engine(
    cluster: Cluster,
    policy: Policy,
    told: Callable[[int], None],
    quantum_ms: int | None = None,
) -> Schedule:
    """Run all jobs of a cluster to their end; a job that is stopped loses no work.

    Args:
        cluster: jobs that all fit the empty cluster.
        policy: the policy.
        told: called with the number of jobs that have ended.
        quantum_ms: quantum of the queue, in ms of one GPU; None = the queue gives none.
    """
    bands = Told()
    found = drive(stage_of(cluster, policy, quantum_ms), told, bands.look)
    return replace(_schedule(cluster, found), eta=bands.scored(found.courses))


def stage_of(cluster: Cluster, policy: Policy, quantum_ms: int | None = None) -> Stage:
    """The jobs of a cluster on its nodes, in one queue."""
    return Stage(
        nodes_of(cluster.nodes),
        [Queue(QUEUE, timeshare_ms=quantum_ms)],
        _jobs(cluster),
        policy,
        lambda gang: restart_ms(gpu_milli(gang) // 1000),
    )


def _jobs(cluster: Cluster) -> list[SimJob]:
    shapes, saves = Shapes(GPUS_PER_NODE), Checkpoint(grace_ms=GRACE_MS)
    return [
        SimJob(
            Gang(
                id=f"{job.number:07d}/0",
                workload=f"{job.number:07d}",
                queue=QUEUE,
                pod_sets=shapes.gpus(job.gpus),
                submitted=job.submitted,
                checkpoint=saves,
            ),
            job.duration,
        )
        for job in cluster.jobs
    ]


def _schedule(cluster: Cluster, found: Outcomes) -> Schedule:
    ends = zip(cluster.jobs, found.courses, strict=True)
    done = tuple(Done(job, course.ended) for job, course in ends)
    in_order = tuple(sorted(done, key=lambda each: (each.ended, each.job.number)))
    return Schedule(in_order, found.preemptions, found.starts, found.cycles, found.engine_seconds)
