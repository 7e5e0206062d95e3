"""Free GPUs, or CPUs, of every node, as a roll-out of the queue needs them: one number per node.

It leaves out devices, memory, islands within a node and isolation, so that a place costs
microseconds.
"""

from bisect import bisect_left, insort
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ganglion.model.fleet.levels import Level

Taken = list[tuple[int, int]]
"""(node, thousandths) of the pods of one gang."""


class Need(NamedTuple):
    """What a gang asks of a pool.

    Attributes:
        flavors: flavors of the nodes that it may use.
        pods: (thousandths of one pod, number of such pods), the largest first.
        total: thousandths of all pods.
        level: level of the one domain that must hold all pods; None = any nodes.
    """

    flavors: tuple[str, ...]
    pods: tuple[tuple[int, int], ...]
    total: int
    level: Level | None = None


Groups = Mapping[Level, Sequence[Sequence[int]]]
"""Nodes of every domain, by level."""


class FreePool:
    """Nodes with what is free on them; a pod goes to the fullest node that has room (best fit).

    Attributes:
        left: thousandths free on all nodes.

    Args:
        nodes: (flavor, thousandths free) of every node, by rank.
        groups: domains of the levels that gangs need.
    """

    def __init__(self, nodes: Iterable[tuple[str, int]], groups: Groups | None = None) -> None:
        self._groups: Groups = groups or {}
        listed = list(nodes)
        self._flavor = [flavor for flavor, _ in listed]
        self._free = [free for _, free in listed]
        self._order: dict[str, list[tuple[int, int]]] = {}
        self._left: dict[str, int] = {}
        self.left = sum(self._free)
        for node, (flavor, free) in enumerate(listed):
            self._order.setdefault(flavor, []).append((free, node))
            self._left[flavor] = self._left.get(flavor, 0) + free
        for order in self._order.values():
            order.sort()

    def copy(self) -> "FreePool":
        """Return a pool that changes apart from this one."""
        other = FreePool((), self._groups)
        other._flavor, other._free = self._flavor, self._free.copy()
        other._order = {flavor: order.copy() for flavor, order in self._order.items()}
        other._left, other.left = self._left.copy(), self.left
        return other

    def take(self, need: Need) -> Taken | None:
        """Place all pods of a gang; None = there is no room for all of them."""
        if need.total > sum([self._left.get(flavor, 0) for flavor in need.flavors]):
            return None
        if need.level is not None:
            return self._take_within(need, need.level)
        taken: Taken = []
        for each, count in need.pods:
            missing = count
            for flavor in need.flavors:
                missing = missing and self._fill(flavor, each, missing, taken)
            if missing:
                self.give(taken)
                return None
        return taken

    def give(self, taken: Taken) -> None:
        """Pods leave their nodes."""
        for node, milli in taken:
            self._change(node, milli)

    def _take_within(self, need: Need, level: Level) -> Taken | None:
        """Place all pods in the first domain of the level that has room."""
        free = self._free
        for nodes in self._groups[level]:
            if sum([free[node] for node in nodes]) < need.total:
                continue
            taken: Taken = []
            for each, pods in need.pods:
                count = pods
                for node in nodes:
                    fitting = min(count, free[node] // each)
                    if fitting and self._flavor[node] in need.flavors:
                        self._change(node, -fitting * each)
                        taken.append((node, fitting * each))
                        count -= fitting
                if count:
                    break
            else:
                return taken
            self.give(taken)
        return None

    def _fill(self, flavor: str, each: int, count: int, taken: Taken) -> int:
        """Place pods on nodes of a flavor; return how many found no room."""
        order = self._order.get(flavor, [])
        while count:
            at = bisect_left(order, (each, -1))
            if at == len(order):
                return count
            free, node = order[at]
            fitting = min(count, free // each)
            self._change(node, -fitting * each)
            taken.append((node, fitting * each))
            count -= fitting
        return 0

    def _change(self, node: int, milli: int) -> None:
        flavor, free = self._flavor[node], self._free[node]
        order = self._order[flavor]
        del order[bisect_left(order, (free, node))]
        insort(order, (free + milli, node))
        self._free[node] = free + milli
        self._left[flavor] += milli
        self.left += milli
