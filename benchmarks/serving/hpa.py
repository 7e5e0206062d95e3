"""The decisions of Kubernetes' horizontal pod autoscaler, v2, to compare with.

After the documented algorithm (kubernetes.io, "Horizontal Pod Autoscaling") and the defaults of
autoscaling/v2: a metric with an average value per pod, tolerance, both policies upwards, window
and policy downwards.
"""

from collections import deque
from math import ceil

from msgspec import Struct

from benchmarks.serving.fleet import Seen


class HpaSettings(Struct, frozen=True):
    """Its settings, with the defaults of autoscaling/v2.

    Attributes:
        target: requests at once per pod.
        tolerance: a ratio this near to 1 changes nothing.
        up_pct, up_pods: most that come within `period_ms`, the larger of both.
        down_pct: most that go within `period_ms`, in per cent.
        period_ms: of both policies.
        down_window_ms: the most that was recommended within this time counts.
        least: fewest pods; 0 only where the feature gate for it is on.
    """

    target: float = 0.8
    tolerance: float = 0.1
    up_pct: int = 100
    up_pods: int = 4
    down_pct: int = 100
    period_ms: int = 15_000
    down_window_ms: int = 300_000
    least: int = 1


class Hpa:
    """The horizontal pod autoscaler; a `Policy`.

    Args:
        settings: as its object says.
    """

    def __init__(self, settings: HpaSettings | None = None) -> None:
        self._settings = settings or HpaSettings()
        self._recommended: deque[tuple[int, int]] = deque()
        self._changes: deque[tuple[int, int]] = deque()

    def desired(self, seen: Seen) -> int:
        """How many replicas there should be."""
        wanted = self._recommendation(seen.requests, seen.replicas)
        wanted = self._stabilised(seen.now, wanted, seen.replicas)
        chosen = max(self._settings.least, self._paced(seen.now, wanted, seen.replicas))
        if chosen != seen.replicas:
            self._changes.append((seen.now, chosen - seen.replicas))
        return chosen

    def started(self, took_ms: int) -> None:
        """It does not learn."""

    def _recommendation(self, requests: int, replicas: int) -> int:
        """`ceil(total / target)`, unless the total is near what the pods should have."""
        ratio = requests / (self._settings.target * max(1, replicas))
        if replicas and abs(ratio - 1) <= self._settings.tolerance:
            return replicas
        return ceil(requests / self._settings.target)

    def _stabilised(self, now: int, wanted: int, replicas: int) -> int:
        self._recommended.append((now, wanted))
        while self._recommended[0][0] <= now - self._settings.down_window_ms:
            self._recommended.popleft()
        if wanted >= replicas:
            return wanted
        return min(replicas, max(each for _, each in self._recommended))

    def _paced(self, now: int, wanted: int, replicas: int) -> int:
        while self._changes and self._changes[0][0] <= now - self._settings.period_ms:
            self._changes.popleft()
        if wanted > replicas:
            return min(wanted, max(replicas, self._most(replicas)))
        return max(wanted, min(replicas, self._fewest(replicas)))

    def _most(self, replicas: int) -> int:
        before = replicas - sum(by for _, by in self._changes)
        by_pct = ceil(before * (100 + self._settings.up_pct) / 100)
        return max(before + self._settings.up_pods, by_pct)

    def _fewest(self, replicas: int) -> int:
        before = replicas - sum(by for _, by in self._changes)
        return before * (100 - self._settings.down_pct) // 100
