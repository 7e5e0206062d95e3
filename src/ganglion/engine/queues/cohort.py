"""Quota that queues own, lend and borrow, as Kueue counts it.

A queue owns its quota, a queue above others what they lend it and what is left of its own.
What it does not lend is guaranteed to it; use beyond that counts in the queue above. A root
can give out what its whole tree owns and no more, whatever the fleet has.

Source: the semantics of Kueue's hierarchical cohorts, as documented there.
"""

from collections.abc import Iterator

from ganglion.engine.queues.usage import Shares
from ganglion.model.queue import ANY_FLAVOR
from ganglion.model.resources import Usage

KINDS = ("gpu_milli", "cpu_milli", "memory_mib")

Cell = tuple[str, str]
"""Flavor and kind of resource: what quota is counted in."""

NOTHING = Usage()

Cells = dict[Cell, int]
"""An amount of each."""


def cells_of(charged: tuple[tuple[str, Usage], ...]) -> Cells:
    """What a gang is charged, by cell; nothing of zeros."""
    return {
        (flavor, kind): number
        for flavor, usage in charged
        for kind in KINDS
        if (number := getattr(usage, kind))
    }


UNBOUNDED = 1 << 60
"""What may be used of a cell that no queue of the tree has quota of."""


def usages_of(cells: Cells) -> tuple[tuple[str, Usage], ...]:
    """The same amounts by flavor, to be charged.

    Whatever is charged counts for all flavors together as well: cells of all flavors are left
    out beside others, and without others have no flavor of their own.
    """
    named = any(flavor != ANY_FLAVOR for flavor, _ in cells)
    found: dict[str, dict[str, int]] = {}
    for (flavor, kind), number in cells.items():
        if flavor != ANY_FLAVOR or not named:
            found.setdefault("" if flavor == ANY_FLAVOR else flavor, {})[kind] = number
    return tuple((flavor, Usage(**numbers)) for flavor, numbers in found.items())


class Borrowing:
    """Reads the present use; what depends on the queues alone is remembered.

    Args:
        shares: queues and use; the queues must not change while this object is in use.
    """

    def __init__(self, shares: Shares) -> None:
        self._shares = shares
        self._children: dict[str, list[str]] = {}
        for name in sorted(shares.queues):
            self._children.setdefault(shares.queues[name].parent, []).append(name)
        self._owned: dict[tuple[str, Cell], int] = {}
        self._potential: dict[tuple[str, Cell], int] = {}
        self._heights: dict[str, int] = {}
        self._governed: dict[tuple[str, Cell], bool] = {}
        self._lent = any(each.lend_limit for each in shares.queues.values())

    def children(self, queue: str) -> list[str]:
        """Queues directly under one, by name."""
        return self._children.get(queue, [])

    def parent(self, queue: str) -> str:
        """The queue above; empty = it is a root."""
        return self._shares.queues[queue].parent

    def above(self, queue: str) -> tuple[str, ...]:
        """All queues above one, the root last."""
        return self._shares.path(queue)[1:]

    def root(self, queue: str) -> str:
        """The root of a queue's tree."""
        return self._shares.path(queue)[-1]

    def leaves(self, queue: str) -> Iterator[str]:
        """Queues at the bottom of a subtree, by name within each parent."""
        below = self.children(queue)
        if not below:
            yield queue
        for child in below:
            yield from self.leaves(child)

    def lists(self, queue: str, cell: Cell) -> bool:
        """Whether the queue has quota of a cell at all, be it zero."""
        return self._bound(queue, "quota", cell) is not None

    def governs(self, queue: str, cell: Cell) -> bool:
        """Whether any queue of the tree has quota of a cell."""
        root = self.root(queue)
        found = self._governed.get((root, cell))
        if found is None:
            found = self._governed[root, cell] = any(
                self.lists(name, cell) for name in self._below(root)
            )
        return found

    def _below(self, queue: str) -> Iterator[str]:
        yield queue
        for child in self.children(queue):
            yield from self._below(child)

    def owned(self, queue: str, cell: Cell) -> int:
        """Quota of the queue's subtree that is not kept back below it."""
        found = self._owned.get((queue, cell))
        if found is None:
            own = self._bound(queue, "quota", cell) or 0
            for child in self.children(queue):
                own -= self._bound(child, "quota", cell) or 0
            lent = sum(
                self.owned(child, cell) - self.guaranteed(child, cell)
                for child in self.children(queue)
            )
            found = self._owned[queue, cell] = max(own, 0) + lent
        return found

    def guaranteed(self, queue: str, cell: Cell) -> int:
        """Quota that the queue does not lend."""
        lends = self._bound(queue, "lend_limit", cell)
        return 0 if lends is None else max(0, self.owned(queue, cell) - lends)

    def used(self, queue: str, cell: Cell) -> int:
        """Use of the queue, for a queue above others only what is not guaranteed to those."""
        if not self._lent or not self.children(queue):
            flavor, kind = cell
            used: int = getattr(self._shares.usage[queue].get(flavor, NOTHING), kind)
            return used
        return sum(
            max(0, self.used(child, cell) - self.guaranteed(child, cell))
            for child in self.children(queue)
        )

    def borrows(self, queue: str, cell: Cell, more: int = 0) -> bool:
        """Whether the queue uses more than it owns, with `more` on top."""
        over = self.used(queue, cell) + more > self.owned(queue, cell)
        return over and self.governs(queue, cell)

    def local(self, queue: str, cell: Cell) -> int:
        """What is left of the guaranteed part."""
        return max(0, self.guaranteed(queue, cell) - self.used(queue, cell))

    def available(self, queue: str, cell: Cell) -> int:
        """How much more the queue may use; below zero when it is over."""
        if not self.governs(queue, cell):
            return UNBOUNDED
        parent = self.parent(queue)
        if not parent:
            return self.owned(queue, cell) - self.used(queue, cell)
        above = self.available(parent, cell)
        most = self._most_borrowed(queue, cell)
        if most is not None:
            guaranteed = self.guaranteed(queue, cell)
            lent = self.owned(queue, cell) - guaranteed
            taken = max(0, self.used(queue, cell) - guaranteed)
            above = min(above, lent - taken + most)
        return self.local(queue, cell) + above

    def potential(self, queue: str, cell: Cell) -> int:
        """How much the queue could use if no queue used anything."""
        found = self._potential.get((queue, cell))
        if found is None:
            found = self._potential[queue, cell] = self._could(queue, cell)
        return found

    def height(self, queue: str) -> int:
        """Steps down to the farthest leaf."""
        found = self._heights.get(queue)
        if found is None:
            below = self.children(queue)
            found = 1 + max(map(self.height, below)) if below else 0
            self._heights[queue] = found
        return found

    def reach(self, queue: str, cell: Cell, amount: int) -> tuple[int, bool]:
        """How far up the tree a queue must borrow.

        Returns:
            (height of the lowest subtree that owns enough, whether it is a proper subtree).
        """
        if not self.borrows(queue, cell, amount) or not self.parent(queue):
            return 0, bool(self.parent(queue))
        rest = amount - self.local(queue, cell)
        at = queue
        for at in self.above(queue):
            if not self.borrows(at, cell, rest):
                break
            rest -= self.local(at, cell)
        return self.height(at), bool(self.parent(at))

    def _could(self, queue: str, cell: Cell) -> int:
        parent, owned = self.parent(queue), self.owned(queue, cell)
        if not self.governs(queue, cell):
            return UNBOUNDED
        if not parent:
            return owned
        could = self.guaranteed(queue, cell) + self.potential(parent, cell)
        most = self._most_borrowed(queue, cell)
        return could if most is None else min(could, owned + most)

    def _most_borrowed(self, queue: str, cell: Cell) -> int | None:
        limit = self._bound(queue, "limit", cell)
        return None if limit is None else limit - (self._bound(queue, "quota", cell) or 0)

    def _bound(self, queue: str, which: str, cell: Cell) -> int | None:
        flavor, kind = cell
        amount = getattr(self._shares.queues[queue], which).get(flavor)
        bound: int | None = getattr(amount, kind) if amount else None
        return bound
