"""Gangs driven through the engine: what restarts cost, and what a stop loses."""

from ganglion.bench.drive import Course, Stage, drive
from ganglion.bench.fleets import node
from ganglion.model.policy import Policy
from ganglion.model.queue import Queue
from ganglion.model.resources import GpuRequest, PodRequest
from ganglion.model.workload import Checkpoint, Gang, PodSet
from ganglion.worlds.simulated.job import SimJob

MINUTE = 60_000


def job(
    name: str, at: int, minutes: int, gpus: int = 8, priority: int = 50, saves_every: int = 0
) -> SimJob:
    """A job of one pod; times in minutes."""
    gang = Gang(
        f"{name}/0",
        name,
        "q",
        priority=priority,
        pod_sets=(PodSet(request=PodRequest(gpu=GpuRequest(gpus))),),
        submitted=at * MINUTE,
        checkpoint=Checkpoint(interval_ms=saves_every * MINUTE) if saves_every else None,
    )
    return SimJob(gang, minutes * MINUTE)


def run(*jobs: SimJob, saves: bool = False) -> dict[str, Course]:
    stage = Stage([node(0)], [Queue("q")], jobs, Policy(), lambda _: MINUTE, saves)
    return {course.job.gang.workload: course for course in drive(stage).courses}


def test_jobs_that_nobody_stops_run_their_time() -> None:
    found = run(job("a", 0, 10), job("b", 5, 10))
    assert [found[name].ended // MINUTE for name in "ab"] == [10, 20]
    assert found["b"].wait == 5 * MINUTE
    assert found["b"].lost_gpu_ms == 0
