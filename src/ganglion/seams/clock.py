"""The time: the wall clock, which may be set, and a steady one, which only goes forward."""

import asyncio
import time
from typing import Protocol

_SINCE_BOOT = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class Clock(Protocol):
    """Tells the time, and waits. Safe from any thread."""

    def now_ns(self) -> int:
        """The wall clock in ns since 1970; may step back."""

    def now_ms(self) -> int:
        """The same in ms."""

    def monotonic(self) -> float:
        """Seconds of a clock that never goes back; only differences mean anything."""

    def since_boot(self) -> float:
        """Seconds of a clock that cannot be set, and that goes on while the machine sleeps."""

    def sleep(self, seconds: float) -> None:
        """Hold this thread up."""

    async def pause(self, seconds: float) -> None:
        """Hold this task up, and no other."""


class SystemClock:
    """The clocks of the kernel."""

    def now_ns(self) -> int:
        """The wall clock in ns since 1970; may step back."""
        return time.time_ns()

    def now_ms(self) -> int:
        """The same in ms."""
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        """Seconds since some time in the past."""
        return time.monotonic()

    def since_boot(self) -> float:
        """Seconds since the machine started; where that is unknown, of the steady clock."""
        return time.clock_gettime(_SINCE_BOOT)

    def sleep(self, seconds: float) -> None:
        """Hold this thread up."""
        time.sleep(seconds)

    async def pause(self, seconds: float) -> None:
        """Hold this task up, and no other."""
        await asyncio.sleep(seconds)


SYSTEM_CLOCK = SystemClock()
