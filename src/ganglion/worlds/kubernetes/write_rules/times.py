"""Times in ms."""

from collections.abc import Callable

from ganglion.seams import clock as seam

Clock = Callable[[], int]
"""A time in ms."""


def steady(clock: seam.Clock) -> Clock:
    """Return what tells a time in ms that never goes back; it has no meaning by itself."""
    return lambda: int(clock.monotonic() * 1_000)
