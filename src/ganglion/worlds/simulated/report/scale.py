"""Axes: where values lie on the page, and at which round numbers ticks stand."""

import math
from collections.abc import Callable

from msgspec import Struct

from ganglion.worlds.simulated.report.format import UNITS, number

STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
CLOCK = (1, 2, 5, 10, 15, 30)
HOURS = (1, 2, 3, 6, 12)
LOG_TICKS = (1, 10, 60, 600, 3_600, 36_000, 86_400, 604_800, 6_048_000)


class PlotScale(Struct, frozen=True):
    """A mapping from values to points on the page.

    Attributes:
        low, high: range of values.
        start, end: where they lie, in SVG units; `start` may be the larger one.
        ticks: (value, label).
        log: logarithmic.
    """

    low: float
    high: float
    start: float
    end: float
    ticks: tuple[tuple[float, str], ...]
    log: bool = False

    def __call__(self, value: float) -> float:
        """Where a value lies, rounded to a tenth; values outside are put on the border."""
        value = min(max(value, self.low), self.high)
        if self.log:
            part = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            part = (value - self.low) / (self.high - self.low)
        return round(self.start + part * (self.end - self.start), 1)


def linear(
    high: float, start: float, end: float, show: Callable[[float], str] = number
) -> PlotScale:
    """From 0 to `high` or the next round number, with about five ticks."""
    step = round_step(high / 5) if high > 0 else 1.0
    count = max(math.ceil(high / step - 1e-9), 1)
    ticks = tuple((step * place, show(step * place)) for place in range(count + 1))
    return PlotScale(0.0, step * count, start, end, ticks)


def round_step(least: float) -> float:
    """The smallest 1, 2, 2.5 or 5 times a power of ten that is not below `least`."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(step * power for step in STEPS if step * power >= least * (1 - 1e-9))


def time_axis(seconds: float, start: float, end: float) -> tuple[PlotScale, str]:
    """From 0 to `seconds`, ticks in a unit that suits; also says which unit."""
    unit, size = next(((u, s) for u, s in UNITS if seconds >= 3 * s), UNITS[-1])
    length = max(seconds / size, 1e-9)
    known = {"h": HOURS, "min": CLOCK, "s": CLOCK}.get(unit, ())
    step = next((float(each) for each in known if length / each <= 9), round_step(length / 8))
    if unit == "d":
        step = max(step, 1.0)
    ticks = tuple(
        (step * place * size, number(step * place)) for place in range(int(length / step) + 1)
    )
    return PlotScale(0.0, max(seconds, 1e-9), start, end, ticks), unit


def log_time(high: float, start: float, end: float) -> PlotScale:
    """From 1 s to `high`, ticks at times that people name."""
    top = max(high, 10.0)
    ticks = tuple((float(t), _spell(t)) for t in LOG_TICKS if t <= top)
    return PlotScale(1.0, top, start, end, ticks, log=True)


def _spell(seconds: int) -> str:
    unit, size = next((u, s) for u, s in UNITS if seconds >= s)
    return f"{number(seconds / size)} {unit}"
