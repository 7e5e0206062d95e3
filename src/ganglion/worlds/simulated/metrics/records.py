"""What is known of each job when the run is over, and statistics over jobs."""

from collections.abc import Sequence

from msgspec import Struct

from ganglion.model.events import Outcome
from ganglion.worlds.simulated.job import SimJob, cpu_milli, gpu_milli
from ganglion.worlds.simulated.metrics.fragmentation import CapacityUnit

SLOWDOWN_FLOOR_MS = 10_000
"""Jobs shorter than this count as this long in the bounded slowdown (Feitelson, JSSPP'97)."""


class JobRecord(Struct):
    """One job's fate.

    Attributes:
        job: what it was.
        size_milli: thousandths of GPUs (or cores) of the whole gang.
        first_start: when its pods first ran, in ms; None = never.
        ended: when it was over, in ms; None = not yet.
        outcome: how it ended; None = not yet.
        withdrawn: it could never start and was taken back.
        attempts: attempts placed.
        preemptions: how often it was stopped for another gang.
        lost_ms: time of its attempts that was lost.
    """

    job: SimJob
    size_milli: int
    first_start: int | None = None
    ended: int | None = None
    outcome: Outcome | None = None
    withdrawn: bool = False
    attempts: int = 0
    preemptions: int = 0
    lost_ms: int = 0

    @property
    def wait_ms(self) -> int | None:
        """From submission until its pods first ran; None = they never did."""
        return None if self.first_start is None else self.first_start - self.job.gang.submitted

    @property
    def jct_ms(self) -> int | None:
        """Job completion time, from submission until it was over; None = it is not."""
        return None if self.ended is None else self.ended - self.job.gang.submitted

    @property
    def slowdown(self) -> float | None:
        """Bounded slowdown: JCT over work, both at least 10 s; None = it is not over."""
        jct, work = self.jct_ms, self.job.duration_ms
        if jct is None or work is None:
            return None
        return max(jct / max(work, SLOWDOWN_FLOOR_MS), 1.0)


def record_of(job: SimJob, unit: CapacityUnit) -> JobRecord:
    """The record of a job that was just submitted."""
    size = gpu_milli(job.gang) if unit is CapacityUnit.GPU else cpu_milli(job.gang)
    return JobRecord(job, size)


class Statistics(Struct, frozen=True):
    """Statistics of a quantity; all 0 when there is none of it."""

    count: int = 0
    mean: float = 0.0
    p50: float = 0.0
    p90: float = 0.0
    p99: float = 0.0
    max: float = 0.0


def spread(values: Sequence[float]) -> Statistics:
    """Mean, nearest-rank quantiles and maximum."""
    if not values:
        return Statistics()
    ordered = sorted(values)
    p50, p90, p99 = (quantile(ordered, percent) for percent in (50, 90, 99))
    return Statistics(len(ordered), sum(ordered) / len(ordered), p50, p90, p99, ordered[-1])


def quantile(ordered: Sequence[float], percent: int) -> float:
    """The smallest value that `percent` % of the values do not exceed (nearest rank)."""
    return ordered[max(-(-len(ordered) * percent // 100) - 1, 0)]
