"""Waits of jobs, summed up the same way wherever they come from."""

from collections.abc import Sequence

from msgspec import Struct

from ganglion.worlds.simulated.metrics.records import SLOWDOWN_FLOOR_MS, quantile


class Waited(Struct, frozen=True):
    """A job that ran: how long it waited and ran, in ms."""

    wait: int
    duration: int

    @property
    def slowdown(self) -> float:
        """Bounded slowdown: at least 1; durations count 10 s or more."""
        return max(1.0, (self.wait + self.duration) / max(self.duration, SLOWDOWN_FLOOR_MS))


class WaitFigures(Struct, frozen=True):
    """Waits in seconds (percentiles nearest-rank), and the mean bounded slowdown."""

    jobs: int
    mean_wait_s: float
    p50_wait_s: float
    p95_wait_s: float
    max_wait_s: float
    mean_bounded_slowdown: float


def wait_figures(jobs: Sequence[Waited]) -> WaitFigures:
    """Sum up waits of at least one job."""
    waits = sorted(job.wait for job in jobs)
    count = len(jobs)
    return WaitFigures(
        jobs=count,
        mean_wait_s=sum(waits) / count / 1000,
        p50_wait_s=quantile(waits, 50) / 1000,
        p95_wait_s=quantile(waits, 95) / 1000,
        max_wait_s=waits[-1] / 1000,
        mean_bounded_slowdown=sum(job.slowdown for job in jobs) / count,
    )
