"""A token bucket: a rate with a burst."""

from collections.abc import Callable


class Bucket:
    """Lets `burst` pass at once and `per_second` in the long run.

    Args:
        per_second: tokens that come back each second.
        burst: most tokens at any time, and those at the start.
        clock: a clock that never goes back, in seconds.
    """

    def __init__(self, per_second: float, burst: int, clock: Callable[[], float]) -> None:
        self._per_second, self._burst, self._clock = per_second, burst, clock
        self._tokens, self._then = float(burst), clock()

    def take(self) -> bool:
        """Take a token if there is one."""
        self._refill()
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True

    def wait_s(self) -> float:
        """Return how long until there is a token, in seconds."""
        self._refill()
        return max(0.0, (1 - self._tokens) / self._per_second)

    def _refill(self) -> None:
        now = self._clock()
        self._tokens = min(self._burst, self._tokens + (now - self._then) * self._per_second)
        self._then = now
