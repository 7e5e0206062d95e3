"""When to look at gangs again because the time alone makes a difference."""

from collections.abc import Iterator
from heapq import heappop, heappush


class Alarms:
    """Times at which gangs are due, each of them once."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, str]] = []
        self._known: set[tuple[int, str]] = set()

    def add(self, at: int, gang: str) -> None:
        """A gang is due at a time in ms."""
        if (at, gang) not in self._known:
            self._known.add((at, gang))
            heappush(self._heap, (at, gang))

    def due(self, now: int) -> Iterator[str]:
        """Take out the gangs that are due, the earliest first; more may be added meanwhile."""
        while self._heap and self._heap[0][0] <= now:
            found = heappop(self._heap)
            self._known.discard(found)
            yield found[1]

    def all(self) -> list[tuple[int, str]]:
        """All of them, the earliest first."""
        return sorted(self._heap)

    def next(self) -> int | None:
        """The earliest time, in ms; None = there is none."""
        return self._heap[0][0] if self._heap else None
