"""Simple ways to scale a service, to compare others with."""

from collections import deque
from collections.abc import Sequence
from itertools import accumulate
from math import ceil

from ganglion.bench.serve_fleet import Seen
from ganglion.bench.serve_requests import Request


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
