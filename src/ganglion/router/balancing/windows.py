"""Times of the last minute, in little memory: quantiles within 5 %, whatever the number."""

from bisect import bisect_left
from collections.abc import Iterable
from itertools import accumulate

from ganglion.router.balancing.stats import Quantiles

SLOT_MS = 5_000
SLOTS = 12
"""Slots in a window, the last one of them under way."""


def _bounds() -> tuple[int, ...]:
    """Upper ends of the bins in ms, from 1 ms to a day; each 5 % or 1 ms above the one before."""
    bounds = [1]
    while bounds[-1] < 86_400_000:
        bounds.append(max(bounds[-1] + 1, bounds[-1] * 105 // 100))
    return tuple(bounds)


BOUNDS = _bounds()


class Window:
    """Counts of times, by bin and slot."""

    def __init__(self) -> None:
        self._slots: list[dict[int, int]] = [{} for _ in range(SLOTS)]
        self._epochs = [-1] * SLOTS

    def add(self, now: int, took_ms: float) -> None:
        """Record one duration; both in ms, and `now` never goes back."""
        epoch = now // SLOT_MS
        at = epoch % SLOTS
        if self._epochs[at] != epoch:
            self._epochs[at], self._slots[at] = epoch, {}
        place = min(bisect_left(BOUNDS, took_ms), len(BOUNDS) - 1)
        slot = self._slots[at]
        slot[place] = slot.get(place, 0) + 1

    def quantiles(self, now: int) -> Quantiles:
        """What the window holds at `now`."""
        oldest = now // SLOT_MS - SLOTS
        live = [s for s, epoch in zip(self._slots, self._epochs, strict=True) if epoch > oldest]
        counts: dict[int, int] = {}
        for slot in live:
            for place, count in slot.items():
                counts[place] = counts.get(place, 0) + count
        return _quantiles(sorted(counts.items()))


def _quantiles(bins: Iterable[tuple[int, int]]) -> Quantiles:
    pairs = list(bins)
    if not pairs:
        return Quantiles()
    sums = list(accumulate(count for _, count in pairs))
    p50, p90, p99 = (BOUNDS[pairs[_rank(sums, percent)][0]] for percent in (50, 90, 99))
    return Quantiles(sums[-1], p50, p90, p99)


def _rank(sums: list[int], percent: int) -> int:
    """Nearest rank: the first bin that the given per cent do not exceed."""
    return bisect_left(sums, -(-percent * sums[-1] // 100))
