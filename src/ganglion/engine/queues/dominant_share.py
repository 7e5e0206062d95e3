"""Dominant share: how much of what could be borrowed a queue has borrowed, over its weight.

Source: A. Ghodsi et al., Dominant Resource Fairness, NSDI 2011, in the form that Kueue's fair
sharing gives it: only use beyond quota counts, against what the queue above could give.
"""

from ganglion.engine.queues.cohort import Borrowing, Cell
from ganglion.engine.queues.usage import Shares

Share = tuple[int, int]
"""(1 when nothing may be borrowed at weight 0, the share); none is (0, 0)."""

NONE: Share = (0, 0)

_ONE = 1 << 128
"""A whole share; so fine that shares of different sizes are never rounded to one number."""


class Dominant:
    """Shares of queues as things stand.

    Args:
        shares: queues and use.
        borrowing: reads them.
    """

    def __init__(self, shares: Shares, borrowing: Borrowing) -> None:
        self._shares, self._borrowing = shares, borrowing
        flavors = {flavor for queue in shares.queues.values() for flavor in queue.quota}
        self._cells = [
            (flavor, kind)
            for flavor in sorted(flavors)
            for kind in ("gpu_milli", "cpu_milli", "memory_mib")
        ]
        self._lendable: dict[tuple[str, str], int] = {}

    def share(self, queue: str) -> Share:
        """The dominant share of a queue among its siblings."""
        borrowed: dict[str, int] = {}
        for flavor, kind in self._cells:
            cell = flavor, kind
            more = self._borrowing.used(queue, cell) - self._borrowing.owned(queue, cell)
            if more > 0:
                borrowed[kind] = borrowed.get(kind, 0) + more
        parent = self._borrowing.parent(queue)
        if not borrowed or not parent:
            return NONE
        largest = max(
            (more * _ONE // total if (total := self._could(parent, kind)) else 0)
            for kind, more in borrowed.items()
        )
        weight = self._shares.queues[queue].over_quota_weight
        return (0, largest // weight) if weight else (1, largest)

    def borrows(self, queue: str, cells: frozenset[Cell]) -> bool:
        """Whether the queue uses more than it owns of any of the cells."""
        return any(self._borrowing.borrows(queue, cell) for cell in cells)

    def _could(self, queue: str, kind: str) -> int:
        found = self._lendable.get((queue, kind))
        if found is None:
            found = sum(
                self._borrowing.potential(queue, cell) for cell in self._cells if cell[1] == kind
            )
            self._lendable[queue, kind] = found
        return found
