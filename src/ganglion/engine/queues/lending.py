"""What queues keep back: unused quota that they do not lend to others.

A queue keeps `quota - lend limit - use` for itself, and at least what the queues under it
keep together, since their quota is part of its own.
"""

from collections.abc import Mapping
from typing import NamedTuple

from ganglion.engine.queues.tree import QueueTree
from ganglion.model.queue import Queue
from ganglion.model.resources import Amount, Usage

NOTHING = Usage()
KINDS = ("gpu_milli", "cpu_milli", "memory_mib")


class Beside(NamedTuple):
    """What the other queues of one level keep back.

    Attributes:
        above: the queue that they lie in; empty = they are roots.
        name: the queue of the path that they lie beside.
        kept: what they keep back together, at least nothing.
    """

    above: str
    name: str
    kept: Usage


class Lending:
    """Amounts kept back by every queue, kept up to date as use changes."""

    def __init__(self, tree: QueueTree, usage: Mapping[str, Mapping[str, Usage]]) -> None:
        self._tree, self._usage = tree, usage
        self._kept: dict[tuple[str, str], Usage] = {}
        self._below: dict[tuple[str, str], Usage] = {}
        self._stale = True

    def rebuild(self) -> None:
        """The tree has changed: count anew when next needed."""
        self._stale = True

    def _refresh(self) -> None:
        self._stale = False
        self._kept, self._below = {}, {}
        queues = self._tree.queues
        flavors = sorted({flavor for each in queues.values() for flavor in each.lend_limit})
        for root in self._tree.children.get("", ()):
            for flavor in flavors:
                self._fill(root, flavor)

    def changed(self, path: tuple[str, ...], flavor: str) -> None:
        """The use of a flavor has changed in a leaf and all above it."""
        if self._stale:
            return
        for name in path:
            old = self._kept.get((name, flavor))
            if old is None:
                return
            new = self._of(name, flavor)
            if new != old:
                self._kept[name, flavor] = new
                above = self._tree.queues[name].parent, flavor
                self._below[above] = self._below[above].plus(new).plus(old, -1)

    def beside(self, path: tuple[str, ...], flavor: str) -> list[Beside]:
        """What queues off the path keep back, at each of its levels, the leaf's first."""
        if self._stale:
            self._refresh()
        return [
            Beside(above, name, self._below.get((above, flavor), NOTHING).plus(own, -1))
            for name, above in zip(path, (*path[1:], ""), strict=True)
            for own in (self._kept.get((name, flavor), NOTHING),)
        ]

    def idle(self, path: tuple[str, ...], flavor: str) -> list[Beside]:
        """The same as if no queue used anything."""
        return [
            Beside(above, name, self._promised_beside(above, name, flavor))
            for name, above in zip(path, (*path[1:], ""), strict=True)
        ]

    def _promised_beside(self, above: str, name: str, flavor: str) -> Usage:
        total = NOTHING
        for child in self._tree.children.get(above, ()):
            if child != name:
                total = total.plus(self._promised(child, flavor))
        return total

    def _fill(self, name: str, flavor: str) -> Usage:
        for child in self._tree.children.get(name, ()):
            self._fill(child, flavor)
        kept = self._kept[name, flavor] = self._of(name, flavor)
        above = self._tree.queues[name].parent, flavor
        self._below[above] = self._below.get(above, NOTHING).plus(kept)
        return kept

    def _of(self, name: str, flavor: str) -> Usage:
        used = self._usage[name].get(flavor, NOTHING)
        own = unlent(self._tree.queues[name], flavor, used)
        return _larger(own, self._below.get((name, flavor), NOTHING))

    def _promised(self, name: str, flavor: str) -> Usage:
        below = NOTHING
        for child in self._tree.children.get(name, ()):
            below = below.plus(self._promised(child, flavor))
        return _larger(unlent(self._tree.queues[name], flavor, NOTHING), below)


def unlent(queue: Queue, flavor: str, used: Usage) -> Usage:
    """The part of a queue's unused quota that it does not lend."""
    quota, lend = queue.quota.get(flavor), queue.lend_limit.get(flavor)
    if not quota or not lend:
        return NOTHING
    return Usage(*(_unlent(quota, lend, used, kind) for kind in KINDS))


def _unlent(quota: Amount, lend: Amount, used: Usage, kind: str) -> int:
    owned, lent = getattr(quota, kind), getattr(lend, kind)
    if not owned or lent is None:
        return 0
    return int(max(0, owned - lent - getattr(used, kind)))


def _larger(one: Usage, other: Usage) -> Usage:
    return Usage(*(max(getattr(one, kind), getattr(other, kind)) for kind in KINDS))
