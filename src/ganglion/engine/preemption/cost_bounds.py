"""The least that a trade in a domain can cost, so that dearer domains are not tried at all.

A gang of many pods may take victims in any of several domains. What it asks for beyond what is
free in one has to come from gangs that lie there: the fractional relaxation of that cover bounds
the cost from below (Dantzig, Operations Research 1957). Domains are tried in the order of their
bounds until the next bound is above the best trade (Land and Doig, Econometrica 1960).
"""

from collections.abc import Iterator, Mapping, Sequence
from heapq import merge
from typing import NamedTuple

from ganglion.engine.store.store import Store
from ganglion.engine.store.victims import Grade, VictimUnit
from ganglion.engine.topology.tree import Tree

Bound = tuple[Grade, int]
"""Highest class hurt and price, as a `Cost` begins: no trade costs less."""

NO_BOUND: Bound = ((), 0)
"""Above no cost."""


class _Part(NamedTuple):
    """What one unit gives in a domain: price per GPU, price, thousandths of GPUs."""

    rate: int
    order: int
    price: int
    milli: int
    unit: VictimUnit


class Supply:
    """Units that may be taken in one domain, by class and then by price per GPU.

    Args:
        state: the fleet.
        by_node: units with pods on a node, by its rank.
        ranks: nodes of the domain.
        classless: whether the price goes before the class.
    """

    def __init__(
        self,
        state: Store,
        by_node: Mapping[int, Sequence[VictimUnit]],
        ranks: Sequence[int],
        *,
        classless: bool,
    ) -> None:
        names = {state.fleet.tree.names[rank] for rank in ranks}
        units = {unit.key: unit for rank in ranks for unit in by_node.get(rank, ())}
        found: dict[Grade, list[_Part]] = {}
        for order, unit in enumerate(units.values()):
            milli = sum(len(p.devices) * p.milli for p in unit.pods if p.node in names)
            if milli:
                part = _Part((unit.price << 20) // milli, order, unit.price, milli, unit)
                found.setdefault(() if classless else unit.hurts, []).append(part)
        # The cheapest comes last.
        self._parts = {grade: sorted(found[grade], reverse=True) for grade in sorted(found)}
        self._sums = {grade: sum(e.milli for e in each) for grade, each in self._parts.items()}

    def bound(self, milli: int) -> Bound | None:
        """The least that it costs to free `milli`; None = that much cannot be freed.

        Args:
            milli: thousandths of GPUs, more than 0.
        """
        grades: list[Grade] = []
        left = milli
        for grade in self._parts:
            self._forget(grade)
            grades.append(grade)
            left -= self._sums[grade]
            if left <= 0:
                break
        else:
            return None
        # Rates are rounded down, so that of nearly equal ones the dearer may be taken first.
        price, left = -2 - (milli >> 20), milli
        for part in merge(*map(self._there, grades)):
            if part.milli >= left:
                price += part.price * left // part.milli
                break
            price, left = price + part.price, left - part.milli
        return grades[-1], max(price, 0)

    def _there(self, grade: Grade) -> Iterator[_Part]:
        return (part for part in reversed(self._parts[grade]) if part.unit.is_there)

    def _forget(self, grade: Grade) -> None:
        """Drop the cheapest units that have left since."""
        parts = self._parts[grade]
        while parts and not parts[-1].unit.is_there:
            self._sums[grade] -= parts.pop().milli


class Leftovers:
    """Thousandths of GPUs that are free in every domain; follows the tree's log of changes.

    Args:
        tree: the topology.
    """

    def __init__(self, tree: Tree) -> None:
        self._tree, self._epoch, self._cursor = tree, -1, 0
        self._free: list[int] = []
        self._sums: list[int] = []

    def of(self, domain: int) -> int:
        """What is free in a domain now."""
        tree = self._tree
        if self._epoch != tree.epoch:
            self._epoch, self._cursor = tree.epoch, len(tree.changes)
            self._free, self._sums = [0] * len(tree.nodes), [0] * len(tree.domains)
            changed = list(range(len(tree.nodes)))
        else:
            changed = list(dict.fromkeys(tree.changes[self._cursor :]))
            self._cursor = len(tree.changes)
        for rank in changed:
            self._update(rank)
        return self._sums[domain]

    def _update(self, rank: int) -> None:
        tree = self._tree
        condition = tree.table.known[tree.conditions[rank]]
        free = sum(condition.usable) if condition.open else 0
        more, self._free[rank] = free - self._free[rank], free
        for domain in tree.ancestors(rank) if more else ():
            self._sums[domain] += more
