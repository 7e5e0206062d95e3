"""Evictions that do not go through."""

from collections.abc import Container

from ganglion.model.errors import InvariantBroken


class Evictions:
    """Gangs that were asked to leave and cannot, or are not asked for a while.

    Invariant: a gang that cannot leave has an attempt.

    Attributes:
        blocked: gangs of which a disruption budget keeps pods from leaving -> since when, in ms.
        spared: gangs that could not be evicted and run on -> until when they are spared, in ms.
    """

    def __init__(self) -> None:
        self.blocked: dict[str, int] = {}
        self.spared: dict[str, int] = {}

    def expire(self, now: int) -> bool:
        """Spare no gang whose time is over; returns whether there was one."""
        over = [gang for gang, until in self.spared.items() if until <= now]
        for gang in over:
            del self.spared[gang]
        return bool(over)

    def check(self, placed: Container[str]) -> None:
        """Check the invariant. Raises InvariantBroken.

        Args:
            placed: gangs with an attempt.
        """
        for gang in self.blocked:
            if gang not in placed:
                raise InvariantBroken(f"gang {gang} cannot leave and has no attempt")
