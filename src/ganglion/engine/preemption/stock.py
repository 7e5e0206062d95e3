"""What may be taken, by node, and the least that room there can cost.

A stock outlives the markets of one cycle: gangs of different shapes that may take from the same
victims share it. `floor` is the bound by which a market decides which nodes to price exactly
(the fractional relaxation of the cover: Dantzig, Operations Research 1957).
"""

from collections.abc import Hashable, Sequence
from heapq import heapify, heappush
from operator import itemgetter
from typing import NamedTuple

from ganglion.engine.gangs.preemption_cost import gpu_milli
from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.preemption.cost_bounds import Supply
from ganglion.engine.store.store import Store
from ganglion.engine.store.victims import Grade, UnitKey, VictimUnit
from ganglion.engine.topology.node_state import ShapeView
from ganglion.model.queue import Victims
from ganglion.model.resources import WHOLE

Cost = tuple[Grade, int, int, int, int]
"""What a set of victims costs, smaller is better: highest class hurt, price, how many have no
other place to go on, how many in all, and the time they were submitted, the latest first.
"""

EARLIEST = -(1 << 62)
"""Below every sum of submission times."""


class _Piece(NamedTuple):
    """What one unit gives on one node.

    Attributes:
        grade: its class.
        rate: price per thousandth of a GPU; its rounding makes a floor too high by less than 1.
        price: its price there.
        milli: thousandths of GPUs.
    """

    grade: Grade
    rate: int
    price: int
    milli: int


_GRADE, _RATE = itemgetter(0), itemgetter(1)


class LocalUnit(NamedTuple):
    """What one unit gives on one node.

    Attributes:
        unit: the unit.
        key: its key.
        price: its price there; on a node among several, the part of it that counts there.
        grade: its class; empty where the price goes before the class.
        milli: thousandths of GPUs that it frees there.
        total: thousandths of GPUs that it frees on all nodes.
        devices: whole devices among those there.
        pods: its pods there: shape, devices, and the share of each.
    """

    unit: VictimUnit
    key: UnitKey
    price: int
    grade: Grade
    milli: int
    total: int
    devices: int
    pods: tuple[tuple[ShapeView, tuple[int, ...], int], ...]

    @property
    def cost(self) -> Cost:
        """What it costs without any other."""
        return (self.grade, self.price, 1, 1, -self.unit.record.gang.submitted)


class Stock:
    """Units that may be taken, by the nodes that they lie on.

    Args:
        state: the fleet.
        units: what may be taken, the first to be taken first.
        classless: whether the price goes before the class.

    Attributes:
        by_node: units with pods on a node, by its rank.
        surplus: units of elastic gangs that leave before the gang itself, by gang.
    """

    def __init__(
        self, state: Store, units: Sequence[VictimUnit], *, classless: bool = False
    ) -> None:
        self._state, self._classless = state, classless
        self.by_node: dict[int, list[VictimUnit]] = {}
        self.surplus: dict[str, list[VictimUnit]] = {}
        index = state.fleet.tree.index
        for unit in units:
            if not unit.whole:
                self.surplus.setdefault(unit.record.gang.id, []).append(unit)
            for node in {pod.node: None for pod in unit.pods}:
                self.by_node.setdefault(index[node], []).append(unit)
        self._here: dict[int, list[LocalUnit]] = {}
        self._by_rate: dict[tuple[int, int], list[tuple[LocalUnit, Cost]]] = {}
        self._pieces: dict[tuple[int, bool], list[_Piece]] = {}
        self._sums: dict[int, int] = {}
        self._floors: dict[tuple[int, bool, int], Cost | None] = {}
        self._supplies: dict[int, Supply] = {}
        self._tables: dict[tuple[tuple[int, ...], int, bool], StopFloors] = {}

    def by_rate(self, rank: int, slots: int) -> list[tuple[LocalUnit, Cost]]:
        """What each unit gives on a node, and what it costs alone, the first to be taken first.

        Class decides, then surplus before whole gangs, then the price per GPU freed there.

        Args:
            rank: the node.
            slots: pods that are wanted on all nodes: a price counts on each node by the part of
                the unit that lies there, and at least as one part in this number.
        """
        found = self._by_rate.get((rank, slots))
        if found is None:
            here = self._on(rank)
            if slots > 1:
                prices = [max(_part(each), each.price // slots) for each in here]
                here = [e._replace(price=price) for e, price in zip(here, prices, strict=True)]
            found = [(each, each.cost) for each in sorted(here, key=_order)]
            self._by_rate[rank, slots] = found
        return found

    def _on(self, rank: int) -> list[LocalUnit]:
        """What each unit gives on a node, at its whole price."""
        found = self._here.get(rank)
        if found is None:
            name = self._state.fleet.tree.names[rank]
            found = self._here[rank] = [self._local(unit, name) for unit in self.by_node[rank]]
        return found

    def _local(self, unit: VictimUnit, node: str) -> LocalUnit:
        sets, sight = unit.record.gang.pod_sets, self._state.fleet.table.sight
        pods = unit.pods
        if len(pods) > 1:
            pods = tuple([pod for pod in pods if pod.node == node])
        milli = gpu_milli(pods)
        if len(sets) == 1:
            view = sight(unit.record.shapes[0])
            seen = tuple([(view, pod.devices, pod.milli) for pod in pods])
        else:
            shapes = dict(zip([each.name for each in sets], unit.record.shapes, strict=True))
            seen = tuple([(sight(shapes[p.pod_set]), p.devices, p.milli) for p in pods])
        return LocalUnit(
            unit,
            unit.key,
            unit.price,
            () if self._classless else unit.hurts,
            milli,
            milli if len(pods) == len(unit.pods) else unit.gpu_milli,
            sum([len(pod.devices) for pod in pods if pod.milli == WHOLE]),
            seen,
        )

    def supply(self, domain: int, ranks: Sequence[int]) -> Supply:
        """What may be taken in a domain, whose nodes these are."""
        found = self._supplies.get(domain)
        if found is None:
            found = Supply(self._state, self.by_node, ranks, classless=self._classless)
            self._supplies[domain] = found
        return found

    def floors(self, ranks: Sequence[int], milli: int, *, shared: bool) -> "StopFloors":
        """The current floors of some nodes for pods of this size in thousandths of a GPU."""
        key = (tuple(ranks), milli, shared)
        found = self._tables.get(key)
        if found is None:
            found = self._tables[key] = StopFloors(self._state, self, ranks, milli, shared=shared)
        found.sync()
        return found

    def floor(self, rank: int, milli: int, *, shared: bool) -> Cost | None:
        """A cost that no offer on a node is below; None = too little can be taken there.

        Units that have left meanwhile still count: without them an offer costs no less.

        Args:
            rank: the node.
            milli: thousandths of GPUs that have to be freed there at least.
            shared: whether the price of a unit is shared among the nodes that it lies on.
        """
        key = (rank, shared, milli)
        if key not in self._floors:
            self._floors[key] = self._work_out(rank, milli, shared)
        return self._floors[key]

    def _work_out(self, rank: int, milli: int, shared: bool) -> Cost | None:
        pieces = self._pieces.get((rank, shared))
        if pieces is None:
            pieces = self._pieces[rank, shared] = self._cut(rank, shared)
            self._sums[rank] = sum(each.milli for each in pieces)
        if milli <= 0:
            return (pieces[0].grade, 0, 0, 0, EARLIEST)
        if milli > self._sums[rank]:
            return None
        worst, left = pieces[-1].grade, milli
        for piece in pieces:
            left -= piece.milli
            if left <= 0:
                worst = piece.grade
                break
        price, left = -1, milli
        allowed = [each for each in pieces if each.milli and each.grade <= worst]
        for piece in sorted(allowed, key=_RATE):
            if piece.milli >= left:
                price += piece.price * left // piece.milli
                break
            price, left = price + piece.price, left - piece.milli
        # No cover costs less than its cheapest unit, of which no part can be taken.
        return (worst, max(price, min([each.price for each in allowed])), 0, 0, EARLIEST)

    def _cut(self, rank: int, shared: bool) -> list[_Piece]:
        found = []
        for each in self._on(rank):
            price = _part(each) if shared else each.price
            rate = (price << 20) // max(each.milli, 1)
            found.append(_Piece(each.grade, rate, price, each.milli))
        return sorted(found, key=_GRADE)


class StopFloors:
    """The least that room for a pod costs on each of some nodes where there is none now.

    Askers of one cycle share it; it follows the tree's log of changes.

    Args:
        state: the fleet.
        stock: what may be taken.
        ranks: the nodes.
        milli: thousandths of GPUs that one pod asks for.
        shared: whether the price of a unit is shared among the nodes that it lies on.

    Attributes:
        by_node: units with pods on a node, by its rank.
        costs: the floors, by node; nodes where too little can be taken have none.
        heap: the same as a heap of (floor, node), with some that do not hold any more.
    """

    def __init__(
        self, state: Store, stock: Stock, ranks: Sequence[int], milli: int, *, shared: bool
    ) -> None:
        self._tree, self._stock, self._milli, self._shared = state.fleet.tree, stock, milli, shared
        self.by_node = {r: stock.by_node[r] for r in ranks if r in stock.by_node}
        self.costs: dict[int, Cost] = {}
        self.heap: list[tuple[Cost, int]] = []
        self._epoch, self._cursor = -1, 0

    def sync(self) -> None:
        """Take in what changed since the last call."""
        tree = self._tree
        if self._epoch != tree.epoch:
            self._epoch, changed = tree.epoch, list(self.by_node)
        else:
            changed = list(dict.fromkeys(tree.changes[self._cursor :]))
        self._cursor = len(tree.changes)
        for rank in changed:
            if rank in self.by_node:
                self._renew(rank)
        if len(self.heap) > 2 * len(self.costs) + len(changed):
            self.heap = [(cost, rank) for rank, cost in self.costs.items()]
            heapify(self.heap)

    def _renew(self, rank: int) -> None:
        usable = self._tree.table.known[self._tree.conditions[rank]].usable
        floor = self._stock.floor(rank, self._milli - sum(usable), shared=self._shared)
        if floor is None:
            self.costs.pop(rank, None)
        elif self.costs.get(rank) != floor:
            self.costs[rank] = floor
            heappush(self.heap, (floor, rank))


def _part(each: LocalUnit) -> int:
    """The part of a price that falls to the pods on a node."""
    return each.price * each.milli // max(each.total, 1)


def _order(each: LocalUnit) -> tuple[Grade, bool, int, str]:
    rate = each.price * 1000 // max(each.milli, 1)
    return (each.grade, each.unit.whole, rate, each.unit.record.gang.id)


def alike(state: Store, asker: GangRecord, now: int) -> Hashable:
    """Gangs of which this is equal are offered the same victims, whatever their shape."""
    gang = asker.gang
    if state.config.plugins.preempts:
        return asker.lane
    pool = state.gangs.sharers.of(gang)
    service = pool.level(asker, now) if pool else None
    flavors = state.fleet.totals.flavors_for(asker.shapes)
    rights = state.queues.by_name[gang.queue].preemption or state.config.policy.preemption
    by_age = Victims.LOWER_OR_NEWER in (rights.preempt, rights.reclaim, rights.borrowing)
    return gang.queue, gang.priority, flavors, service, gang.submitted if by_age else 0
