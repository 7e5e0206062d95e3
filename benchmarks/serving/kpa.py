"""The decisions of Knative's pod autoscaler, to compare with.

After knative/serving, pkg/autoscaler/scaling/autoscaler.go, and its documented defaults; written
from the description of the algorithm, in floating point as there.
"""

from collections import deque
from math import ceil, floor

from msgspec import Struct

from benchmarks.serving.fleet import Seen


class KpaSettings(Struct, frozen=True):
    """Its settings, with Knative's defaults.

    Attributes:
        target: requests at once per replica; Knative multiplies the limit of a container by 0.7.
        window_ms: stable window.
        panic_pct: the panic window, in per cent of the stable one.
        panic_threshold: panic begins where this many times the ready replicas are wanted.
        up_rate, down_rate: most and fewest replicas, as multiples of the ready ones.
        down_delay_ms: the most that was wanted within this time counts.
        zero_grace_ms: how long the last replica stays after the window is empty.
    """

    target: float = 0.7
    window_ms: int = 60_000
    panic_pct: int = 10
    panic_threshold: float = 2.0
    up_rate: float = 1_000.0
    down_rate: float = 2.0
    down_delay_ms: int = 0
    zero_grace_ms: int = 30_000


class Kpa:
    """Knative's autoscaler for concurrency; a `Policy`.

    Args:
        settings: as an operator sets them.
    """

    def __init__(self, settings: KpaSettings | None = None) -> None:
        self._settings = settings or KpaSettings()
        self._samples: deque[tuple[int, float]] = deque()
        self._wants: deque[tuple[int, int]] = deque()
        self._panic_at: int | None = None
        self._most = 0
        self._busy_at = 0

    @property
    def panics(self) -> bool:
        """Whether load is sudden."""
        return self._panic_at is not None

    def desired(self, seen: Seen) -> int:
        """How many replicas there should be."""
        self._samples.append((seen.now, seen.requests))
        if seen.requests:
            self._busy_at = seen.now
        wanted = self._wanted(seen.now, max(1, seen.ready))
        return self._zero(seen, self._delayed(seen.now, wanted))

    def started(self, took_ms: int) -> None:
        """It does not learn."""

    def _wanted(self, now: int, ready: int) -> int:
        settings = self._settings
        stable = ceil(self._mean(now, settings.window_ms) / settings.target)
        short = settings.window_ms * settings.panic_pct // 100
        sudden = ceil(self._mean(now, short) / settings.target)
        self._panic(now, sudden / ready)
        wanted = self._clamped(stable, ready)
        if not self.panics:
            return wanted
        self._most = max(self._most, wanted, self._clamped(sudden, ready))
        return self._most

    def _mean(self, now: int, window: int) -> float:
        while self._samples[0][0] <= now - self._settings.window_ms:
            self._samples.popleft()
        within = [value for at, value in self._samples if at > now - window]
        return sum(within) / len(within)

    def _panic(self, now: int, times: float) -> None:
        if times >= self._settings.panic_threshold:
            self._panic_at = now
        elif self._panic_at is not None and now - self._panic_at > self._settings.window_ms:
            self._panic_at, self._most = None, 0

    def _clamped(self, wanted: int, ready: int) -> int:
        low, high = floor(ready / self._settings.down_rate), ceil(ready * self._settings.up_rate)
        return max(low, min(wanted, high))

    def _delayed(self, now: int, wanted: int) -> int:
        self._wants.append((now, wanted))
        while self._wants[0][0] < now - self._settings.down_delay_ms:
            self._wants.popleft()
        return max(each for _, each in self._wants)

    def _zero(self, seen: Seen, wanted: int) -> int:
        quiet = seen.now - self._busy_at
        stays = quiet < self._settings.window_ms + self._settings.zero_grace_ms
        return max(wanted, 1 if seen.replicas and stays else 0)
