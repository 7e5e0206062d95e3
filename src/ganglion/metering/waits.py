"""How long workloads waited for their first place, as counts of bounded size."""

from bisect import bisect_right
from collections.abc import Mapping

SIZES = ("0", "1", "2-8", "9-64", "65-512", "513+")
"""Size classes of workloads, by the GPUs of their first gang; a share of a GPU counts as one."""
SIZE_BOUNDS_MILLI = (1, 1_001, 8_001, 64_001, 512_001)
"""Thousandths of GPUs from which on the next class begins."""


DAYS_TO_MONDAY = 3
"""1970-01-01 was a Thursday, three days after a Monday."""


def _bounds() -> tuple[int, ...]:
    found, at = [1_000], 1_000
    while at < 90 * 86_400_000:
        at = at * 5 // 4
        found.append(at)
    return tuple(found)


WAIT_BOUNDS_MS = _bounds()
"""Where the next step of waits begins: 1 s, then a quarter more each time, to 90 days."""


def size_of(milli: int) -> str:
    """The class of a gang that asks for thousandths of GPUs."""
    return SIZES[bisect_right(SIZE_BOUNDS_MILLI, milli)]


def span_of(day: int, *, weekly: bool) -> int:
    """The day, or the Monday before, that a day counts in; days are counted from 1970-01-01."""
    return day - (day + DAYS_TO_MONDAY) % 7 if weekly else day


def step_of(wait_ms: int) -> int:
    """The step that a wait in ms counts in, from 0."""
    return bisect_right(WAIT_BOUNDS_MS, wait_ms)


def percentile_ms(counts: Mapping[int, int], permille: int) -> int | None:
    """The wait in ms that a part of all workloads did not pass, rounded up to the end of its step.

    Args:
        counts: step -> workloads.
        permille: the part: 500 is the median.

    Returns:
        None where there are no workloads. What lies beyond the last step is its beginning.
    """
    total = sum(counts.values())
    wanted = -(-total * permille // 1000)
    for step in sorted(counts):
        wanted -= counts[step]
        if wanted <= 0 and total:
            return WAIT_BOUNDS_MS[min(step, len(WAIT_BOUNDS_MS) - 1)]
    return None
