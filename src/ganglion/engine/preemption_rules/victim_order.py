"""In which order units of several queues are taken."""

from collections.abc import Callable, Hashable, Iterator
from heapq import heappop, heappush

from ganglion.engine.store.victims import VictimUnit
from ganglion.model.policy import VictimOrder

Key = tuple[int, ...]
"""Smaller is taken first."""


def unit_key(order: VictimOrder, unit: VictimUnit) -> Key:
    """Order of the units of one queue."""
    gang = unit.record.gang
    youth = (-gang.submitted, -unit.record.placed_at)
    if order is VictimOrder.PRICE_FIRST:
        return (unit.price, gang.priority, unit.whole, *youth)
    if order is VictimOrder.YOUNGEST:
        return (*youth, unit.whole)
    if order is VictimOrder.NEWEST:
        return (gang.priority, unit.whole, *youth)
    return (gang.priority, unit.whole, unit.price, *youth)


def in_turn(
    pools: dict[str, list[VictimUnit]],
    may_take: Callable[[VictimUnit], bool],
    key: Callable[[VictimUnit], Key],
    *,
    only_ready: bool,
) -> Iterator[VictimUnit]:
    """The first that may be taken of the queues' next ones, looked at anew for each.

    Args:
        pools: units by queue, the first to be taken last; used up.
        may_take: whether a unit may be taken as things stand.
        key: order of units of different queues.
        only_ready: whether to end where no next one may be taken.
    """
    while pools:
        heads = [units[-1] for units in pools.values()]
        ready = [unit for unit in heads if may_take(unit)]
        if not ready and only_ready:
            return
        unit = min(ready or heads, key=key)
        queue = unit.record.gang.queue
        pools[queue].pop()
        if not pools[queue]:
            del pools[queue]
        yield unit


def by_price(
    pools: dict[str, list[VictimUnit]],
    may_take: Callable[[VictimUnit], bool],
    key: Callable[[VictimUnit], Key],
    alike: Callable[[VictimUnit], Hashable],
) -> Iterator[VictimUnit]:
    """The same where only the price counts, so that one look at each is enough.

    Args:
        pools: units by queue, the first to be taken last; used up.
        may_take: whether a unit may be taken as things stand.
        key: order of units of different queues.
        alike: what units have in common that may all be taken, or none.
    """
    known: dict[Hashable, bool] = {}
    heads: list[tuple[bool, Key, VictimUnit]] = []

    def expose(units: list[VictimUnit]) -> None:
        if not units:
            return
        unit, common = units[-1], alike(units[-1])
        if common not in known:
            known[common] = may_take(unit)
        heappush(heads, (not known[common], key(unit), unit))

    for units in pools.values():
        expose(units)
    while heads:
        *_, unit = heappop(heads)
        yield unit
        units = pools[unit.record.gang.queue]
        units.pop()
        expose(units)
