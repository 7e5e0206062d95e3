"""What a schedule of jobs is judged by, and what no schedule can beat.

All times are in milliseconds unless a name ends in `_s`.
"""

from collections.abc import Iterable, Sequence
from heapq import heappop, heappush

from msgspec import Struct

from benchmarks.common.jobs import Job
from ganglion.worlds.simulated.metrics.records import SLOWDOWN_FLOOR_MS, quantile


class Done(Struct, frozen=True):
    """A job and when it was over.

    Attributes:
        job: the job.
        ended: when it was over.
    """

    job: Job
    ended: int

    @property
    def jct(self) -> int:
        """Job completion time: from submission to the end."""
        return self.ended - self.job.submitted

    @property
    def wait(self) -> int:
        """All the time it did not run, before its start and while preempted."""
        return self.jct - self.job.duration

    @property
    def slowdown(self) -> float:
        """Bounded slowdown: JCT over duration, at least 1; durations count 10 s or more."""
        return max(1.0, self.jct / max(self.job.duration, SLOWDOWN_FLOOR_MS))


class Figures(Struct, frozen=True):
    """How good a schedule is.

    Percentiles are nearest-rank: the smallest value that the given per cent do not exceed.

    Attributes:
        jobs: how many ended.
        avg_jct_s, p50_jct_s, p99_jct_s, max_jct_s: job completion time.
        avg_wait_s, p50_wait_s, p99_wait_s, max_wait_s: time not running.
        avg_bounded_slowdown: with a floor of 10 s.
        makespan_s: first submission to last end.
    """

    jobs: int
    avg_jct_s: float
    p50_jct_s: float
    p99_jct_s: float
    max_jct_s: float
    avg_wait_s: float
    p50_wait_s: float
    p99_wait_s: float
    max_wait_s: float
    avg_bounded_slowdown: float
    makespan_s: float


def figures(done: Sequence[Done], makespan: int | None = None) -> Figures:
    """Judge a schedule.

    Args:
        done: every job, at least one.
        makespan: given where `done` pools clusters; None = computed.
    """
    jcts = sorted(each.jct for each in done)
    waits = sorted(each.wait for each in done)
    count = len(done)
    return Figures(
        jobs=count,
        avg_jct_s=sum(jcts) / count / 1000,
        p50_jct_s=quantile(jcts, 50) / 1000,
        p99_jct_s=quantile(jcts, 99) / 1000,
        max_jct_s=jcts[-1] / 1000,
        avg_wait_s=sum(waits) / count / 1000,
        p50_wait_s=quantile(waits, 50) / 1000,
        p99_wait_s=quantile(waits, 99) / 1000,
        max_wait_s=waits[-1] / 1000,
        avg_bounded_slowdown=sum(each.slowdown for each in done) / count,
        makespan_s=(makespan_of(done) if makespan is None else makespan) / 1000,
    )


def makespan_of(done: Iterable[Done]) -> int:
    """First submission to last end."""
    listed = list(done)
    return max(each.ended for each in listed) - min(each.job.submitted for each in listed)


class Bounds(Struct, frozen=True):
    """What no schedule of rigid jobs on `gpus` GPUs can go below.

    Attributes:
        mean_duration_s: a job cannot take less than its duration.
        fluid_srpt_s: mean JCT of shortest remaining work first on one server as fast as all
            GPUs together, which is optimal there and can imitate any schedule of the cluster
            (Schrage, Operations Research 1968).
        avg_jct_s: the larger of the two.
        makespan_s: for every moment, the work that arrives from then on needs all GPUs for
            work / GPUs; and no job ends before its submission plus its duration.
    """

    mean_duration_s: float
    fluid_srpt_s: float
    avg_jct_s: float
    makespan_s: float


def bounds(jobs: Sequence[Job], gpus: int) -> Bounds:
    """Lower bounds for jobs, at least one, on a cluster of `gpus` GPUs."""
    duration = sum(job.duration for job in jobs) / len(jobs) / 1000
    fluid = fluid_srpt_total(jobs, gpus) / gpus / len(jobs) / 1000
    return Bounds(duration, fluid, max(duration, fluid), makespan_bound(jobs, gpus) / 1000)


def pooled_bounds(parts: Sequence[tuple[Bounds, int]]) -> Bounds:
    """Bounds of several clusters together: (bounds, jobs) of each."""
    jobs = sum(count for _, count in parts)
    duration, fluid, jct = (
        sum(getattr(each, name) * count for each, count in parts) / jobs
        for name in ("mean_duration_s", "fluid_srpt_s", "avg_jct_s")
    )
    return Bounds(duration, fluid, jct, max(each.makespan_s for each, _ in parts))


def fluid_srpt_total(jobs: Sequence[Job], gpus: int) -> int:
    """Sum of completion times under SRPT on one server of speed `gpus`, in ms x `gpus`.

    Time is counted in units of 1/`gpus` ms, so that the server does one GPU-millisecond of
    work per unit and everything stays an exact integer.
    """
    waiting: list[tuple[int, int]] = []
    now = total = 0
    arrivals = sorted((job.submitted * gpus, job.work) for job in jobs)
    for at, work in [*arrivals, (None, 0)]:
        while waiting and (at is None or now < at):
            left, since = heappop(waiting)
            if at is not None and now + left > at:
                heappush(waiting, (left - (at - now), since))
                now = at
            else:
                now += left
                total += now - since
        if at is not None:
            now = max(now, at)
            heappush(waiting, (work, at))
    return total


def makespan_bound(jobs: Sequence[Job], gpus: int) -> int:
    """Least possible time from the first submission to the last end, rounded down."""
    latest = max(job.submitted + job.duration for job in jobs)
    work = 0
    for job in sorted(jobs, key=lambda job: -job.submitted):
        work += job.work
        latest = max(latest, job.submitted + work // gpus)
    return latest - min(job.submitted for job in jobs)
