"""Gangs driven through the engine: what restarts cost, and what a stop loses."""

from benchmarks.common.drive import Course, Stage, drive
from benchmarks.common.fleets import node
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


def test_an_urgent_job_stops_another_which_goes_on_where_it_had_saved() -> None:
    # stopped at 25 with 20 saved; the urgent job runs to 30; a minute of restart, 20 more
    found = run(job("a", 0, 40, saves_every=10), job("u", 25, 5, priority=90))
    assert found["u"].wait == 0
    assert found["a"].attempts == 2
    assert (found["a"].redone, found["a"].restarting) == (5 * MINUTE, MINUTE)
    assert found["a"].ended == (30 + 1 + 20) * MINUTE
    assert found["a"].lost_gpu_ms == 8 * 6 * MINUTE


def test_a_world_that_saves_when_told_loses_only_the_restart() -> None:
    found = run(job("a", 0, 40, saves_every=10), job("u", 25, 5, priority=90), saves=True)
    assert found["a"].redone == 0
    assert found["a"].ended == (30 + 1 + 15) * MINUTE


def test_a_job_without_checkpoints_begins_anew() -> None:
    found = run(job("a", 0, 40), job("u", 25, 5, priority=90), saves=True)
    assert found["a"].redone == 25 * MINUTE
    assert found["a"].ended == (30 + 1 + 40) * MINUTE
