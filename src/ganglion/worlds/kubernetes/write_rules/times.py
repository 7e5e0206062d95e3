"""The clocks of this machine."""

import time
from collections.abc import Callable

Clock = Callable[[], int]
"""Milliseconds since 1970."""


def wall_ms() -> int:
    """Return the time by this machine's clock, in ms since 1970."""
    return time.time_ns() // 1_000_000


def steady_ms() -> int:
    """Return a time in ms that never goes back; it has no meaning by itself."""
    return time.monotonic_ns() // 1_000_000
