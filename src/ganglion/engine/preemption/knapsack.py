"""The cheapest victims that free a given number of devices of one node, exactly."""

from collections.abc import Sequence
from typing import NamedTuple


class Item(NamedTuple):
    """What may be taken.

    Attributes:
        priority: its class.
        price: what it costs.
        devices: how many devices it frees, at least 0.
    """

    priority: int
    price: int
    devices: int


def cheapest(items: Sequence[Item], need: int) -> tuple[int, ...] | None:
    """Indexes of the items that free at least `need` devices, ascending; None = all do not.

    The highest class among them is as low as can be, then their price, then their number.
    """
    for worst in sorted({item.priority for item in items}):
        allowed = [i for i, item in enumerate(items) if item.priority <= worst and item.devices]
        if sum(items[i].devices for i in allowed) >= need:
            return _least(items, allowed, need)
    return None


def _least(items: Sequence[Item], allowed: Sequence[int], need: int) -> tuple[int, ...]:
    """The knapsack's cover, by dynamic programming over the number of devices freed."""
    best: list[tuple[int, int, tuple[int, ...]] | None] = [(0, 0, ())] + [None] * need
    for i in allowed:
        item = items[i]
        for freed in range(need, 0, -1):
            before = best[max(freed - item.devices, 0)]
            if before is None:
                continue
            found = (before[0] + item.price, before[1] + 1, (*before[2], i))
            now = best[freed]
            if now is None or found < now:
                best[freed] = found
    last = best[need]
    assert last
    return last[2]
