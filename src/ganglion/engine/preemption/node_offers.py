"""What it would cost to make room on each node, the cheapest first.

An offer is the cheapest set of victims found on one node that makes room for one more pod of
a shape there. Offers follow the tree's log of changes, so that a thousand equal gangs that
each need a victim look at every node once. A node is priced exactly only when the least that
room there can cost is the smallest of all.
"""

from collections.abc import Callable, Sequence
from heapq import heappop, heappush, nsmallest
from typing import NamedTuple

from ganglion.engine.placement.place import Demand
from ganglion.engine.preemption.knapsack import Item, cheapest
from ganglion.engine.preemption.stock import Cost, LocalUnit, Stock
from ganglion.engine.state.effort import Effort
from ganglion.engine.store.store import Store
from ganglion.engine.store.undo import Tentative
from ganglion.engine.store.victims import UnitKey, VictimUnit
from ganglion.engine.topology.node_state import ShapeView
from ganglion.engine.topology.pod_shape import Shape, times
from ganglion.model.resources import WHOLE


class Offer(NamedTuple):
    """Room for one more pod on a node.

    Attributes:
        cost: what its victims cost.
        rank: the node.
        units: the victims, the first to be taken first.
    """

    cost: Cost
    rank: int
    units: tuple[VictimUnit, ...]


class NodeOffers:
    """Offers for pods of one shape.

    Args:
        state: the fleet.
        sight: the shape.
        stock: what may be taken.
        ranks: the nodes looked at.
        effort: counts the nodes priced.
        slots: how many pods are wanted; a victim on many nodes is worth it for many.
        classless: whether the price goes before the class.
    """

    def __init__(
        self,
        state: Store,
        sight: ShapeView,
        stock: Stock,
        ranks: Sequence[int],
        effort: Effort,
        slots: int = 1,
        *,
        classless: bool = False,
    ) -> None:
        self._state, self._sight, self._slots = state, sight, slots
        self._classless, self._effort = classless, effort
        self._gone: set[UnitKey] = set()
        self._taken: set[UnitKey] = set()
        self._stock = stock
        self._offers: dict[int, Offer] = {}
        self._needs: dict[int, tuple[int, int]] = {}
        self._epoch, self._cursor = state.fleet.tree.epoch, len(state.fleet.tree.changes)
        gpu = sight.shape.request.gpu
        self._each = 0 if gpu.share_mib else gpu.count * gpu.milli
        floors = stock.floors(ranks, self._each, shared=slots > 1)
        self._by_node, self._floors = floors.by_node, dict(floors.costs)
        self._heap: list[tuple[Cost, int]] = list(floors.heap)
        for rank in self._roomy() if self._each else ():
            self._renew(rank)

    def accept(
        self, offer: Offer, tentative: Tentative, allowed: Callable[[VictimUnit], bool]
    ) -> list[VictimUnit] | None:
        """Take the units of an offer, with all that must be taken before them.

        Returns:
            The units taken; None when one of them is not allowed, which then is dropped with
            the unit that needs it.
        """
        taken: list[VictimUnit] = []
        for unit in offer.units:
            for each in self.with_surplus(unit):
                if not allowed(each):
                    for done in reversed(taken):
                        tentative.give_back(done)
                    self.reopen(taken)
                    self.drop(each)
                    if each is not unit:
                        self.drop(unit)
                    return None
                tentative.take(each)
                self.take(each)
                taken.append(each)
        return taken

    def open(self) -> None:
        """Begin with nothing taken."""
        self._taken.clear()

    def take(self, unit: VictimUnit) -> None:
        """A unit has left."""
        self._taken.add(unit.key)

    def reopen(self, units: Sequence[VictimUnit]) -> None:
        """Units are there again."""
        self._taken.difference_update(unit.key for unit in units)

    def drop(self, unit: VictimUnit) -> None:
        """A unit may not, or cannot, be taken any more."""
        self._gone.add(unit.key)
        for rank in sorted({self._state.fleet.tree.index[pod.node] for pod in unit.pods}):
            if rank in self._by_node:
                self._renew(rank)

    def best(self) -> Offer | None:
        """The cheapest offer as things stand; None when there is none."""
        self._sync()
        while self._heap:
            cost, rank = self._heap[0]
            if self._floors.get(rank) == cost:
                self._price(rank)
                continue
            offer = self._offers.get(rank)
            if offer and offer.cost == cost and self._is_live(offer):
                return offer
            heappop(self._heap)
            if offer and not self._is_live(offer):
                self._renew(rank)
        return None

    def skip(self, offer: Offer) -> None:
        """Look at the next best offer until the node changes."""
        self._offers.pop(offer.rank, None)

    def rivals(self, cost: Cost, most: int) -> list[Offer]:
        """Offers of the same class and price, the best first."""
        self._sync()
        for rank in [each for each, floor in self._floors.items() if floor[:2] <= cost[:2]]:
            self._price(rank)
        same = (offer for offer in self._offers.values() if offer.cost[:2] == cost[:2])
        return nsmallest(most, filter(self._is_live, same), key=lambda each: each[:2])

    def with_surplus(self, unit: VictimUnit) -> list[VictimUnit]:
        """A unit with all that must be taken before it: a gang stops with all of its pods."""
        if not unit.whole:
            return [unit]
        surplus = self._stock.surplus.get(unit.record.gang.id, [])
        there = (each for each in surplus if each.is_there and each.key not in self._taken)
        return [*there, unit]

    def _is_live(self, offer: Offer) -> bool:
        return all(self._is_there(unit, unit.key) for unit in offer.units)

    def _is_there(self, unit: VictimUnit, key: UnitKey) -> bool:
        if not unit.is_there:
            return False
        gone, taken = self._gone, self._taken
        return not (gone and key in gone) and not (taken and key in taken)

    def _sync(self) -> None:
        tree = self._state.fleet.tree
        if self._epoch != tree.epoch:
            self._epoch, self._cursor = tree.epoch, 0
            changed = list(self._by_node)
        else:
            changed = list(dict.fromkeys(tree.changes[self._cursor :]))
        self._cursor = len(tree.changes)
        for rank in changed:
            if rank in self._by_node:
                self._renew(rank)

    def _roomy(self) -> list[int]:
        """Nodes with room for a pod already: one more needs more than the shared floors say."""
        tree = self._state.fleet.tree
        rooms = self._state.fleet.table.rooms(self._sight, tree.counts)
        found = [each for each, room in rooms.items() if room]
        return [r for each in found for r in tree.members(each) if r in self._by_node]

    def _renew(self, rank: int) -> None:
        """A node has changed: it is priced anew when the least it can cost is the best."""
        self._offers.pop(rank, None)
        floor = self._stock.floor(rank, self._need(rank), shared=self._slots > 1)
        if floor is None:
            self._floors.pop(rank, None)
            return
        self._floors[rank] = floor
        heappush(self._heap, (floor, rank))

    def _price(self, rank: int) -> None:
        """Work out the offer of a node exactly."""
        self._effort.spend(1)
        del self._floors[rank]
        offer = self._cheapest(rank)
        if offer:
            self._offers[rank] = offer
            heappush(self._heap, (offer.cost, rank))

    def _need(self, rank: int) -> int:
        """Thousandths of GPUs that have to be freed on a node at least for one more pod."""
        return self._room_and_need(rank)[1]

    def _room_and_need(self, rank: int) -> tuple[int, int]:
        """Pods that a node has room for now, and what has to be freed for one more."""
        condition = self._state.fleet.tree.conditions[rank]
        found = self._needs.get(condition)
        if found is None:
            table, each = self._state.fleet.table, self._each
            room = table.room(self._sight, condition)
            need = each * (room + 1) - sum(table.known[condition].usable)
            found = self._needs[condition] = room, need
        return found

    def _cheapest(self, rank: int) -> Offer | None:
        found = self._stock.by_rate(rank, self._slots)
        there = [each for each in found if self._is_there(each[0].unit, each[0].key)]
        if not there:
            return None
        start, need = self._room_and_need(rank)
        here, costs = [each for each, _ in there], [cost for _, cost in there]
        alone = sorted([(costs[at], at) for at, each in enumerate(here) if each.milli >= need])
        for cost, at in alone:
            if self._room(rank, (here[at],)) > start:
                offers = [Offer(cost, rank, (here[at].unit,))]
                break
        else:
            offers = []
        # Several cost more than the cheapest of them alone.
        if not offers or offers[0].cost != min(costs):
            several = self._exact(rank, here, start) or self._greedy(rank, here, start)
            for units in several:
                offers.append(Offer(_cost(units), rank, tuple([each.unit for each in units])))
        return min(offers, key=lambda offer: offer.cost) if offers else None

    def _exact(self, rank: int, here: list[LocalUnit], start: int) -> list[tuple[LocalUnit, ...]]:
        """The cheapest set by number of whole devices, if those are what is short."""
        shape = self._sight.shape
        if not shape.request.gpu.count or shape.shares_a_device or len(here) < 2:
            return []
        tree = self._state.fleet.tree
        usable = self._state.fleet.table.known[tree.conditions[rank]].usable
        need = shape.request.gpu.count * (start + 1) - usable.count(WHOLE)
        if need <= 0:
            return []
        chosen = cheapest([self._item(each) for each in here], need)
        units = tuple([here[i] for i in chosen or ()])
        return [units] if units and self._room(rank, units) > start else []

    def _item(self, each: LocalUnit) -> Item:
        priority = 0 if self._classless else each.unit.record.gang.priority
        return Item(priority, each.price, each.devices)

    def _greedy(self, rank: int, here: list[LocalUnit], start: int) -> list[tuple[LocalUnit, ...]]:
        """Take in order of price until there is room, then drop victims that are not needed."""
        taken: list[LocalUnit] = []
        for unit in here:
            taken.append(unit)
            if self._room(rank, taken) > start:
                break
        else:
            return []
        for unit in taken[-2::-1]:
            fewer = [each for each in taken if each is not unit]
            if self._room(rank, fewer) > start:
                taken = fewer
        return [tuple(taken)]

    def _room(self, rank: int, units: Sequence[LocalUnit]) -> int:
        """Pods that the node has room for once the units have left."""
        tree, table = self._state.fleet.tree, self._state.fleet.table
        condition, left = tree.conditions[rank], tree.pods[rank]
        for unit in units:
            for sight, devices, milli in unit.pods:
                left -= 1
                condition = table.left(condition, sight, devices, milli, not left)
        return table.room(self._sight, condition)


def _cost(units: Sequence[LocalUnit]) -> Cost:
    """What several units cost together."""
    worst, price = max([each.grade for each in units]), sum([each.price for each in units])
    age = -sum([each.unit.record.gang.submitted for each in units])
    return (worst, price, len(units), len(units), age)


def as_one_pod(demand: Demand) -> Shape:
    """The whole gang as one pod of its most demanding set's shape."""
    widest = max(range(len(demand.sets)), key=lambda i: demand.sets[i].request.gpu.count)
    total = sum(each.least for each in demand.sets)
    return demand.shapes[widest] if total == 1 else times(demand.shapes[widest], total, None)
