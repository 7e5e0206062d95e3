"""Averages over time, and the distribution of waits, in a bounded number of points."""

from bisect import bisect_right
from collections.abc import Sequence

from msgspec import Struct

from ganglion.worlds.simulated.metrics.steps import Steps
from ganglion.worlds.simulated.run import FinishedRun

CDF_POINTS = 400
MOST_QUEUES = 8
REST = "all others"


class TimeSeries(Struct, frozen=True):
    """Averages per bucket of time; all lists are equally long.

    Attributes:
        bucket_s: width of a bucket; the last one may be shorter.
        used, total: GPUs (or cores) in use, and usable.
        waiting, running: jobs.
        fragmentation_pct: part of the free capacity that typical pods cannot use.
        headroom: largest gang that could start.
        queues: GPUs (or cores) in use by queue, the largest first; the small ones are `all others`.
    """

    bucket_s: float
    used: tuple[float, ...]
    total: tuple[float, ...]
    waiting: tuple[float, ...]
    running: tuple[float, ...]
    fragmentation_pct: tuple[float, ...]
    headroom: tuple[float, ...]
    queues: dict[str, tuple[float, ...]]


def series_of(run: FinishedRun) -> TimeSeries:
    """The series of a run."""
    collector, end = run.collector, run.ended
    fragments, free = collector.fragment.bins(end), collector.free.bins(end)
    weight = collector.fragments.weight
    return TimeSeries(
        bucket_s=collector.used.width / 1000,
        used=_units(collector.used, end),
        total=_units(collector.total, end),
        waiting=tuple(collector.waiting.means(end)),
        running=tuple(collector.running.means(end)),
        fragmentation_pct=tuple(
            100 * lost / (room * weight) if room else 0.0
            for lost, room in zip(fragments, free, strict=True)
        ),
        headroom=tuple(collector.headroom.means(end)),
        queues=_by_queue(collector.by_queue, end),
    )


def _units(steps: Steps, end: int) -> tuple[float, ...]:
    return tuple(value / 1000 for value in steps.means(end))


def _by_queue(queues: dict[str, Steps], end: int) -> dict[str, tuple[float, ...]]:
    for steps in queues.values():
        steps.means(end)
    ranked = sorted(queues, key=lambda name: (-queues[name].total, name))
    kept = ranked if len(ranked) <= MOST_QUEUES else ranked[: MOST_QUEUES - 1]
    shown = {name: _units(queues[name], end) for name in kept}
    rest = [_units(queues[name], end) for name in ranked[len(kept) :]]
    if rest:
        shown[REST] = tuple(sum(values) for values in zip(*rest, strict=True))
    return shown


def cdf(values: Sequence[float]) -> tuple[tuple[float, float], ...]:
    """At most 401 points (value, part of the values that are not above it), ascending."""
    ordered, count = sorted(values), len(values)
    points = min(CDF_POINTS, count)
    places = [-(-(point * (count - 1)) // points) for point in range(points + 1)] if count else []
    shown = dict.fromkeys(ordered[place] for place in places)
    return tuple((value, bisect_right(ordered, value) / count) for value in shown)
