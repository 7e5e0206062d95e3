"""Counters of one service."""

from bisect import bisect_left
from enum import StrEnum

from ganglion.router.balancing.windows import Window

BUCKETS_S = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)
"""Upper ends of the histograms that Prometheus reads, in seconds."""


class RequestOutcome(StrEnum):
    """How a request ended."""

    DONE = "done"
    """A replica answered, with any status."""
    REFUSED = "refused"
    """429: too many wait already."""
    UNSERVED = "unserved"
    """503 or 504: no replica could serve it in time."""
    BROKEN = "broken"
    """The replica's answer broke off, or there was none and no second try was safe: 502."""
    LEFT = "left"
    """The caller went away."""
    WRONG = "wrong"
    """The router refused the request itself: too large, cut off, malformed."""


class LevelCounter:
    """A number that goes up and down, and its integral over time."""

    def __init__(self) -> None:
        self.value, self._sum, self._at = 0, 0, 0

    def add(self, now: int, change: int) -> None:
        """Change it at `now`, in ms."""
        self._sum += self.value * (now - self._at)
        self._at = now
        self.value += change

    def total_ms(self, now: int) -> int:
        """The integral until `now`, in units times ms."""
        return self._sum + self.value * (now - self._at)


class DurationCounter:
    """Durations: of the last minute, and since the start."""

    def __init__(self) -> None:
        self.lately, self.sum_s = Window(), 0.0
        self.buckets = [0] * (len(BUCKETS_S) + 1)

    def add(self, now: int, took_ms: float) -> None:
        """Count one more duration."""
        self.lately.add(now, took_ms)
        self.sum_s += took_ms / 1000
        self.buckets[bisect_left(BUCKETS_S, took_ms / 1000)] += 1


class Counters:
    """The counters of one service."""

    def __init__(self) -> None:
        self.waiting, self.running = LevelCounter(), LevelCounter()
        self.arrived = self.retried = self.late = 0
        self.ended = dict.fromkeys(RequestOutcome, 0)
        self.first, self.whole = DurationCounter(), DurationCounter()
