"""The first job of a queue among those that are short enough."""

from collections.abc import Hashable, Sequence
from typing import Generic, Protocol, TypeVar

NEVER = 1 << 62
"""Longer than any estimate."""


class Waits(Protocol):
    """What stands in a line."""

    @property
    def number(self) -> int:
        """Unique."""

    @property
    def estimate(self) -> int:
        """How long it takes, in ms."""


T = TypeVar("T", bound=Waits)


class Line(Generic[T]):
    """Jobs in a fixed order, some of which wait; a tree of minima over their estimates.

    Args:
        ranked: (rank, job) of all jobs that will ever wait here, in order.
    """

    def __init__(self, ranked: Sequence[tuple[Hashable, T]]) -> None:
        self._jobs = [job for _, job in ranked]
        self._place = {job.number: place for place, job in enumerate(self._jobs)}
        self._half = 1
        while self._half < len(self._jobs):
            self._half *= 2
        self._least = [NEVER] * (2 * self._half)

    def add(self, job: T) -> None:
        """It begins to wait."""
        self._set(job, job.estimate)

    def drop(self, job: T) -> None:
        """It waits no longer."""
        self._set(job, NEVER)

    def first(self, limit: int) -> T | None:
        """The first that waits whose estimate is at most `limit`."""
        least, at = self._least, 1
        if least[1] > limit or least[1] == NEVER:
            return None
        while at < self._half:
            at = 2 * at if least[2 * at] <= limit and least[2 * at] < NEVER else 2 * at + 1
        return self._jobs[at - self._half]

    def _set(self, job: T, value: int) -> None:
        least, at = self._least, self._half + self._place[job.number]
        least[at] = value
        while at > 1:
            at //= 2
            least[at] = min(least[2 * at], least[2 * at + 1])
