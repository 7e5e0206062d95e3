"""Virtual time: things that will happen, in order of time and then of being planned."""

from heapq import heappop, heappush
from typing import Any

Action = tuple[int, Any]
"""What happens: a kind and its payload; the heap looks at neither."""


class Heap:
    """A priority queue with a clock that moves only on request.

    Entries at one time come out in the order in which they went in, so runs are deterministic.

    Attributes:
        now: virtual time in ms.
        live: how many entries keep the run going; background ones (a node that may fail some
            day) do not.
    """

    def __init__(self) -> None:
        self.now = 0
        self.live = 0
        self._entries: list[tuple[int, int, bool, int, Any]] = []
        self._count = 0
        self._cancelled: set[int] = set()

    def push(self, at: int, kind: int, payload: Any, *, background: bool = False) -> int:  # noqa: ANN401 - each kind has its own payload
        """Plan something; a time that has passed means now. Returns a number to cancel it by."""
        self._count += 1
        self.live += not background
        heappush(self._entries, (max(at, self.now), self._count, background, kind, payload))
        return self._count

    def cancel(self, number: int, *, background: bool = False) -> None:
        """Something that was planned, and has not come out yet, will not happen.

        Args:
            number: as `push` returned it.
            background: as it was pushed.
        """
        self._cancelled.add(number)
        self.live -= not background

    def next_time(self) -> int | None:
        """When the next thing happens; None when nothing live is left."""
        self._drop_cancelled()
        return self._entries[0][0] if self.live else None

    def pop(self) -> Action | None:
        """The next thing that happens at `now`; None when there is none."""
        self._drop_cancelled()
        if not self._entries or self._entries[0][0] > self.now:
            return None
        _, _, background, kind, payload = heappop(self._entries)
        self.live -= not background
        return kind, payload

    def _drop_cancelled(self) -> None:
        while self._cancelled and self._entries and self._entries[0][1] in self._cancelled:
            self._cancelled.discard(heappop(self._entries)[1])
