"""Clocks that are set by hand, and one that others set back and forth."""

import random

from ganglion.seams.clock import SYSTEM_CLOCK, Clock, SystemClock

HOUR_MS = 3_600_000


class HandClock:
    """Stands still until it is moved; a sleep moves it.

    Attributes:
        wall_ms: the wall clock.
        steady_s: the steady one.
    """

    def __init__(self, wall_ms: int = 1_000_000, steady_s: float = 1_000.0) -> None:
        self.wall_ms, self.steady_s = wall_ms, steady_s

    def now_ns(self) -> int:
        return self.wall_ms * 1_000_000

    def now_ms(self) -> int:
        return self.wall_ms

    def monotonic(self) -> float:
        return self.steady_s

    def since_boot(self) -> float:
        return self.steady_s

    def sleep(self, seconds: float) -> None:
        self.steady_s += seconds
        self.wall_ms += round(seconds * 1_000)

    async def pause(self, seconds: float) -> None:
        self.sleep(seconds)


class SetClock(SystemClock):
    """The clocks of this machine, with a wall clock that a test sets.

    Attributes:
        ahead_ms: by how much it was put forward; below 0 = back.
    """

    def __init__(self) -> None:
        self.ahead_ms = 0

    def now_ns(self) -> int:
        return super().now_ns() + self.ahead_ms * 1_000_000

    def now_ms(self) -> int:
        return super().now_ms() + self.ahead_ms


class SteppingClock:
    """A wall clock that is set again and again, by up to an hour back or forth.

    Args:
        seed: of the steps.
        rate: share of looks at the clock before which it is set.
        real: the clock below; its steady clock is kept.
    """

    def __init__(self, seed: int, rate: float = 0.2, real: Clock = SYSTEM_CLOCK) -> None:
        self._chance, self._rate, self._real = random.Random(seed), rate, real
        self._ahead_ms = self.steps = 0

    def now_ms(self) -> int:
        if self._chance.random() < self._rate:
            self._ahead_ms = self._chance.randint(-HOUR_MS, HOUR_MS)
            self.steps += 1
        return self._real.now_ms() + self._ahead_ms

    def now_ns(self) -> int:
        return self.now_ms() * 1_000_000

    def monotonic(self) -> float:
        return self._real.monotonic()

    def since_boot(self) -> float:
        return self._real.since_boot()

    def sleep(self, seconds: float) -> None:
        self._real.sleep(seconds)

    async def pause(self, seconds: float) -> None:
        await self._real.pause(seconds)
