"""How fast is written: a rate with a burst, and a rush for which all else waits."""

from collections.abc import Callable


class Bucket:
    """Lets `burst` pass at once and `per_second` in the long run.

    Args:
        per_second: tokens that come back each second.
        burst: most tokens at any time, and those at the start.
        clock: a clock that never goes back, in ms.
    """

    def __init__(self, per_second: int, burst: int, clock: Callable[[], int]) -> None:
        self._per_second, self._most, self._clock = per_second, burst * 1000, clock
        self._milli, self._then_ms = self._most, clock()

    def take(self) -> bool:
        """Take a token if there is one."""
        self._refill()
        if self._milli < 1000:
            return False
        self._milli -= 1000
        return True

    def wait_ms(self) -> int:
        """Return how long until there is a token, in ms."""
        self._refill()
        return max(0, -((self._milli - 1000) // self._per_second))

    def _refill(self) -> None:
        now_ms = self._clock()
        self._milli = min(self._most, self._milli + (now_ms - self._then_ms) * self._per_second)
        self._then_ms = now_ms


class Rush:
    """A time in which urgent writes wait for one another, and as long again after it.

    What these writes set off in the cluster still goes on then, and shares its API server with
    whatever else is written.

    Args:
        most_ms: longest time after it; urgent writes that wait later than that begin another rush.
        clock: a clock that never goes back, in ms.
    """

    def __init__(self, most_ms: int, clock: Callable[[], int]) -> None:
        self._most_ms, self._clock = most_ms, clock
        self._since = self._last = clock()

    def goes_on(self) -> None:
        """Urgent writes wait now."""
        now = self._clock()
        if now - self._last > self._most_ms:
            self._since = now
        self._last = now

    def lasts(self) -> bool:
        """Whether it is not over yet."""
        return self._clock() - self._last < min(self._last - self._since, self._most_ms)
