"""Run times seen lately, and what they say about the next one. All times in ms."""

from bisect import bisect_right, insort
from collections import deque

WINDOW = 64
"""Runs that are remembered; the oldest is forgotten first, so that habits may change."""

LATEST = 2
"""Runs whose mean is expected of the next one (Tsafrir, Etsion and Feitelson, 2007)."""


class RunTimeHistory:
    """The latest run times of one sort of gang, in order of time and in order of length."""

    __slots__ = ("_recent", "_sorted", "_total")

    def __init__(self) -> None:
        self._recent: deque[int] = deque()
        self._sorted: list[int] = []
        self._total = 0

    def __len__(self) -> int:
        return len(self._recent)

    def add(self, ran_ms: int) -> None:
        """One more run."""
        if len(self._recent) == WINDOW:
            oldest = self._recent.popleft()
            del self._sorted[bisect_right(self._sorted, oldest) - 1]
            self._total -= oldest
        self._recent.append(ran_ms)
        insort(self._sorted, ran_ms)
        self._total += ran_ms

    def runs(self) -> list[int]:
        """The runs in order of time."""
        return list(self._recent)

    def longer(self, than_ms: int) -> int:
        """How many runs took longer."""
        return len(self._sorted) - bisect_right(self._sorted, than_ms)

    def quantile(self, percent: int, beyond_ms: int = 0) -> int:
        """Nearest-rank quantile of the runs longer than `beyond_ms`, of which there must be one."""
        first = bisect_right(self._sorted, beyond_ms) if beyond_ms else 0
        count = len(self._sorted) - first
        return self._sorted[first + max(-(-count * percent // 100) - 1, 0)]

    def mean(self, beyond_ms: int = 0) -> int:
        """Mean of the runs longer than `beyond_ms`, of which there must be one."""
        if not beyond_ms:
            return self._total // len(self._sorted)
        tail = self._sorted[bisect_right(self._sorted, beyond_ms) :]
        return sum(tail) // len(tail)

    def latest(self) -> int:
        """Mean of the last few runs, of which there must be one."""
        last = [self._recent[-1 - back] for back in range(min(LATEST, len(self._recent)))]
        return sum(last) // len(last)

    def gittins(self, ran_ms: int) -> int:
        """Least mean run time paid per completion from here on; smaller goes first.

        The Gittins index of a run that has taken `ran_ms`: over all times at which one could
        give up, the least (expected time spent until then) / (chance that it has ended). It
        is optimal for the mean completion time of jobs of known distribution (Gittins, 1979;
        Aalto, Ayesta and Righter, 2009).
        """
        tail = self._sorted[bisect_right(self._sorted, ran_ms) :]
        best = -1
        spent, count = 0, len(tail)
        for ended, length in enumerate(tail, 1):
            spent += length - ran_ms
            price = (spent + (count - ended) * (length - ran_ms)) // ended
            if best < 0 or price < best:
                best = price
        return max(best, 0)
