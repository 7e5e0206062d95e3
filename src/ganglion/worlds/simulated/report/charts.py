"""The plots of a run."""

from collections.abc import Iterator
from itertools import pairwise

from ganglion.worlds.simulated.report.format import duration, number, pct
from ganglion.worlds.simulated.report.scale import linear, log_time, time_axis
from ganglion.worlds.simulated.report.summary import Summary
from ganglion.worlds.simulated.report.svg import INNER, MOST_HOVERS, Plot, steps

LEFT, RIGHT, LOWER, UPPER = INNER


def allocation(summary: Summary) -> str:
    """Capacity in use and usable over time."""
    series, length, width = summary.series, _length(summary), summary.series.bucket_s
    top, unit = max(series.total, default=0.0), summary.unit
    plot = _over_time(f"{unit}s in use over time", summary, top, f"{unit}s")
    used = steps(series.used, width, length)
    plot.area(used, [(x, 0.0) for x, _ in used], "fill c0")
    plot.line(used, "c0")
    plot.line(steps(series.total, width, length), "total")
    for left, right, place in _strips(summary):
        used_now, total_now = series.used[place], series.total[place]
        plot.hover(
            left,
            right,
            f"{_when(left)}: {number(round(used_now, 1))} of {number(round(total_now, 1))} {unit}s"
            f" in use, {number(round(series.waiting[place], 1))} jobs waiting",
        )
    return plot.render()


def backlog(summary: Summary) -> str:
    """Jobs that wait and that run, over time."""
    series, length, width = summary.series, _length(summary), summary.series.bucket_s
    top = max([1.0, *series.waiting, *series.running])
    plot = _over_time("Jobs waiting and running over time", summary, top, "jobs")
    plot.line(steps(series.running, width, length), "c0")
    plot.line(steps(series.waiting, width, length), "c1")
    for left, right, place in _strips(summary):
        plot.hover(
            left,
            right,
            f"{_when(left)}: {number(round(series.running[place], 1))} running,"
            f" {number(round(series.waiting[place], 1))} waiting",
        )
    return plot.render()


def fragmentation(summary: Summary) -> str:
    """Part of the free capacity that typical pods cannot use, over time."""
    series, length, width = summary.series, _length(summary), summary.series.bucket_s
    plot = _over_time("Fragmentation over time", summary, 100.0, f"% of free {summary.unit}s")
    points = steps(series.fragmentation_pct, width, length)
    plot.area(points, [(x, 0.0) for x, _ in points], "fill c3")
    plot.line(points, "c3")
    for left, right, place in _strips(summary):
        free, gang = series.total[place] - series.used[place], series.headroom[place]
        plot.hover(
            left,
            right,
            f"{_when(left)}: {pct(series.fragmentation_pct[place])} of {number(round(free, 1))}"
            f" free {summary.unit}s; a gang of {number(round(gang, 1))} could start",
        )
    return plot.render()


def shares(summary: Summary) -> str:
    """Capacity in use by queue over time, stacked."""
    series, length, width = summary.series, _length(summary), summary.series.bucket_s
    top, unit = max(series.total, default=0.0), summary.unit
    plot = _over_time(f"{unit}s in use by queue over time", summary, top, f"{unit}s")
    below = [0.0] * len(series.used)
    for colour, values in enumerate(series.queues.values()):
        above = [low + value for low, value in zip(below, values, strict=True)]
        plot.area(steps(above, width, length), steps(below, width, length), f"stack c{colour}")
        below = above
    for left, right, place in _strips(summary):
        lines = [
            f"{name}: {number(round(values[place], 1))}"
            for name, values in series.queues.items()
            if values[place] >= 0.05
        ]
        plot.hover(left, right, "\n".join([_when(left), *lines]))
    return plot.render()


def waits(summary: Summary) -> str:
    """Which part of the jobs waited at most how long; time on a logarithmic axis."""
    points = list(summary.wait_cdf)
    x = log_time(max((value for value, _ in points), default=1.0), LEFT, RIGHT)
    y = linear(100.0, LOWER, UPPER)
    label = "waited at most (1 s and less at the left border)"
    plot = Plot("Distribution of waiting times", x, y, label, "% of jobs")
    line = [(x.low, 0.0)]
    for value, part in points:
        line += [(value, line[-1][1]), (value, 100 * part)]
    plot.line([*line, (x.high, line[-1][1])], "c0")
    shown = points[:: max(len(points) // MOST_HOVERS, 1)]
    for here, after in pairwise([*shown, (x.high, 1.0)]):
        text = f"{pct(100 * here[1])} of jobs waited at most {duration(here[0])}"
        plot.hover(here[0], after[0], text)
    return plot.render()


def _length(summary: Summary) -> float:
    return max(summary.end_s - summary.start_s, 1e-3)


def _over_time(title: str, summary: Summary, top: float, label: str) -> Plot:
    x, unit = time_axis(_length(summary), LEFT, RIGHT)
    named = {"d": "days", "h": "hours", "min": "minutes", "s": "seconds"}[unit]
    return Plot(title, x, linear(top, LOWER, UPPER), f"{named} since the first job", label)


def _strips(summary: Summary) -> Iterator[tuple[float, float, int]]:
    """Strips of time to point at: (from, to, the bucket in the middle of it)."""
    count, width = len(summary.series.used), summary.series.bucket_s
    every = max(-(-count // MOST_HOVERS), 1)
    for first in range(0, count, every):
        last = min(first + every, count)
        yield first * width, min(last * width, _length(summary)), (first + last - 1) // 2


def _when(seconds: float) -> str:
    days, rest = divmod(int(seconds), 86_400)
    return f"day {days}, {rest // 3600:02d}:{rest // 60 % 60:02d}"
