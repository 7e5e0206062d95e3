"""How long a gang waits if everything ahead of it starts in order and runs as expected."""

from collections.abc import Iterable
from heapq import heapify, heappop, heappush
from typing import NamedTuple

STEPS = 256
"""Starts that are played through; what is further ahead counts by its work."""


class Batch(NamedTuple):
    """Equal gangs: how many, what each asks for, and how long each is expected to run."""

    gangs: int
    size: int
    length_ms: int


def wait_behind(
    free: int, running: Iterable[tuple[int, int]], ahead: Iterable[Batch], size: int, total: int
) -> int:
    """The wait of a gang in a pool without nodes, first come first served (list scheduling).

    Args:
        free: what is free now.
        running: (time left in ms, size) of everything that runs.
        ahead: what waits in front, in order.
        size: what the gang asks for.
        total: all of the pool.

    Returns:
        The wait in ms.
    """
    pool = _Pool(free, list(running))
    steps, rest = STEPS, 0
    for batch in ahead:
        played = min(batch.gangs, steps)
        for _ in range(played):
            pool.start(batch.size, batch.length_ms)
        steps -= played
        rest += (batch.gangs - played) * batch.size * batch.length_ms
    pool.start(size, 0)
    return pool.at + rest // max(total, 1)


class _Pool:
    """What is free, and when more comes back."""

    def __init__(self, free: int, running: list[tuple[int, int]]) -> None:
        self.at, self._free, self._ends = 0, free, running
        heapify(running)

    def start(self, size: int, length_ms: int) -> None:
        """Wait until so much is free, or nothing runs any more, and take it."""
        while self._free < size and self._ends:
            end, back = heappop(self._ends)
            self.at, self._free = max(self.at, end), self._free + back
        self._free -= size
        heappush(self._ends, (self.at + length_ms, size))
