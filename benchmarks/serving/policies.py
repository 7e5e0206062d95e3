"""Simple ways to scale a service, to compare others with."""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, pairwise
from math import ceil, log, sqrt
from typing import Any

from benchmarks.serving.fleet import Seen
from benchmarks.serving.requests import Request


class Reactive:
    """As many replicas as requests need; what was wanted lately is kept.

    Args:
        percent: how busy replicas should be.
        keep_ms: the most that was wanted within this time counts.
    """

    def __init__(self, percent: int, keep_ms: int) -> None:
        self._percent, self._keep = percent, keep_ms
        self._wants: deque[tuple[int, int]] = deque()

    def desired(self, seen: Seen) -> int:
        """How many replicas there should be."""
        self._wants.append((seen.now, -(-seen.requests * 100 // self._percent)))
        while self._wants[0][0] < seen.now - self._keep:
            self._wants.popleft()
        return max(wanted for _, wanted in self._wants)

    def started(self, took_ms: int) -> None:
        """It does not learn."""


class SquareRoot:
    """As many replicas as requests, `factor` square roots of them, and one more.

    The rule of thumb of many-server queues (Halfin and Whitt, Operations Research 29, 1981) with
    a short hold: what `serve-genai` and `serve-tokens` have to be ahead of at every factor.

    Args:
        factor: square roots that are kept beside the load.
        keep_ms: the most that was wanted within this time counts.
        share: requests at once that one replica should have.
    """

    def __init__(self, factor: float, keep_ms: int = 60_000, share: float = 1.0) -> None:
        self._factor, self._keep, self._share = factor, keep_ms, share
        self._wants: deque[tuple[int, int]] = deque()

    def desired(self, seen: Seen) -> int:
        """How many replicas there should be."""
        load = seen.requests / self._share
        self._wants.append((seen.now, ceil(load + self._factor * sqrt(load) + 1)))
        while self._wants[0][0] < seen.now - self._keep:
            self._wants.popleft()
        return max(wanted for _, wanted in self._wants)

    def started(self, took_ms: int) -> None:
        """It does not learn."""


CURVE = (0.5, 1.0, 1.5, 2.0, 2.5, 3.0)
"""Factors of the square-root rule that are compared with."""


def curve_name(factor: float) -> str:
    """What the square-root rule is called at a factor."""
    return f"sqrt-{factor:g}"


def hours_of_curve(points: Iterable[tuple[float, float]], late_pct: float) -> float | None:
    """Replica-hours of a curve at a lateness, between its two points beside that.

    Args:
        points: (late %, replica-hours); lateness is interpolated by its logarithm.
        late_pct: lateness to compare at.

    Returns:
        None where the curve has no points on both sides.
    """
    ranked = sorted((late, hours) for late, hours in points if late > 0)
    for (low, dear), (high, cheap) in pairwise(ranked):
        if low <= late_pct <= high and low < high:
            return dear + (cheap - dear) * log(late_pct / low) / log(high / low)
    return None


def over_curve(means: Mapping[str, Mapping[str, Any]]) -> float | None:
    """Ganglion's replica-hours over those of the square-root rule at the same lateness.

    None where the rule did not run, or none of its factors is as late.
    """
    names = [curve_name(factor) for factor in CURVE]
    points = [
        (100 - means[name]["on_time_pct"], means[name]["replica_hours"])
        for name in names
        if name in means
    ]
    ours = means.get("ganglion")
    hours = hours_of_curve(points, 100 - ours["on_time_pct"]) if ours else None
    return ours["replica_hours"] / hours if ours and hours else None


def curve_note(means: Mapping[str, Mapping[str, Any]]) -> tuple[str, ...]:
    """The same as `over_curve` for people."""
    over = over_curve(means)
    if over is None:
        return ()
    return (f"Replica-hours of ganglion: {over:.3f} x the square-root rule as late as it.",)


class Static:
    """Always the same number.

    Args:
        replicas: how many.
    """

    def __init__(self, replicas: int) -> None:
        self._replicas = replicas

    def desired(self, seen: Seen) -> int:
        """How many replicas there should be."""
        del seen
        return self._replicas

    def started(self, took_ms: int) -> None:
        """It does not learn."""


class Oracle:
    """Knows what comes: most requests at once within the time ahead, if none had to wait.

    It knows nothing of models that have to be loaded first.

    Args:
        requests: all of them, by time of arrival.
        ahead_ms: how far it sees.
        share: requests at once that one replica should have.
    """

    def __init__(self, requests: Sequence[Request], ahead_ms: int, share: float = 1.0) -> None:
        self._share = share
        self._ahead = -(-ahead_ms // 1000)
        self._at_once = _by_second(requests)

    def desired(self, seen: Seen) -> int:
        """How many replicas there should be."""
        now = seen.now // 1000
        most = max(self._at_once[now : now + self._ahead + 1], default=min(1, seen.requests))
        return ceil(most / self._share)

    def started(self, took_ms: int) -> None:
        """It knows."""


def _by_second(requests: Sequence[Request]) -> list[int]:
    """Requests at once at the beginning of each second."""
    last = max((each.at + each.takes for each in requests), default=0)
    change = [0] * (last // 1000 + 2)
    for each in requests:
        change[-(-each.at // 1000)] += 1
        change[-(-(each.at + each.takes) // 1000)] -= 1
    return list(accumulate(change))
