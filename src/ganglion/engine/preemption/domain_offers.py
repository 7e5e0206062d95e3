"""Where the victims of one gang may be bought: one node, then domains, each with a bound."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.placement.place import Demand, levels_for
from ganglion.engine.preemption.candidate_domains import domains_of
from ganglion.engine.preemption.cost_bounds import NO_BOUND, Bound, Leftovers
from ganglion.engine.preemption.node_offers import NodeOffers, as_one_pod
from ganglion.engine.preemption.stock import Stock, alike
from ganglion.engine.search.quota import asked
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.engine.store.victims import VictimRules, VictimUnit, may_stop
from ganglion.engine.topology.capacity_index import PlaceRules
from ganglion.engine.topology.pod_shape import Shape
from ganglion.model.fleet.levels import Level
from ganglion.model.policy import VictimOrder

UNBOUNDED = 1 << 62
"""In place of a largest victim, in thousandths of GPUs."""

FREE = PlaceRules()
"""Nothing but room bounds the number of pods."""

Shop = Callable[[], NodeOffers]
"""Makes the market of some nodes."""


class Shops:
    """What may be taken within one cycle, shared by all gangs that may take the same.

    Args:
        state: left as it is by every call.
        rules: who may take from whom.
        now: the time in ms.

    Attributes:
        newest: the gang for which what may be taken was last worked out, and what that is.
    """

    def __init__(self, state: ClusterState, rules: VictimRules, now: int) -> None:
        self._state, self._rules, self._now = state, rules, now
        self.newest: tuple[GangRecord, list[VictimUnit]] | None = None
        self._classless = state.config.policy.evict.victims is VictimOrder.PRICE_FIRST
        self._pools: dict[object, list[VictimUnit]] = {}
        self._stocks: dict[object, Stock] = {}
        self._markets: dict[object, NodeOffers] = {}
        self._leftovers = Leftovers(state.fleet.tree)

    def useful(self, asker: GangRecord) -> Callable[[VictimUnit], bool]:
        """Whether a unit may be taken for a gang at all."""

        def is_useful(unit: VictimUnit) -> bool:
            record = unit.record
            if record.placed_at == self._now or not unit.pods:
                return False
            if unit.whole and not self._state.gangs.floors.spares(record):
                return False
            return may_stop(self._state, record, asker.gang, self._now)

        return is_useful

    def pool(self, asker: GangRecord) -> list[VictimUnit]:
        """Everything that may be taken as things stand."""
        key = alike(self._state, asker, self._now)
        pool = self._pools.get(key)
        if pool is None:
            useful = self.useful(asker)
            pool = list(self._rules.victims(self._state, asker, self._now, useful))
            self._pools[key], self.newest = pool, (asker, pool)
            self._stocks[key] = Stock(self._state, pool, classless=self._classless)
        return pool

    def for_gang(
        self, asker: GangRecord, most: int, promised: Iterable[VictimUnit]
    ) -> list[tuple[Bound, int, Shop]]:
        """Where to take victims, the place with the lowest bound of the cost first.

        Args:
            asker: a gang whose `pool` was asked for.
            most: thousandths of GPUs of the largest victim.
            promised: what leaves at no price before any victim does.

        Returns:
            The bound, a number by which narrow places go before wide ones, and the shop.
        """
        return sorted(self._for_gang(asker, most, promised), key=lambda each: each[:2])

    def of_nodes(self, asker: GangRecord) -> NodeOffers | None:
        """The market of single nodes for a gang, if there is one by now."""
        return self._markets.get((asker.lane, UNBOUNDED))

    def _for_gang(
        self, asker: GangRecord, most: int, promised: Iterable[VictimUnit]
    ) -> Iterator[tuple[Bound, int, Shop]]:
        state, demand = self._state, Demand(asker.gang, asker.shapes)
        levels = levels_for(state.fleet.indexes, asker.gang)
        whole = as_one_pod(demand)
        if demand.single or (
            Level.NODE in levels and state.fleet.empty().fits(whole, FREE).values[0]
        ):
            yield NO_BOUND, 0, self._on_one_node(asker, whole, most)
        if demand.single:
            return
        missing, freed = asked(asker).gpu_milli, self._by_domain(promised)
        stock = self._stocks[alike(state, asker, self._now)]
        grounds = domains_of(state, asker, demand, levels)
        for turn, (shape, domain, ranks, slots) in enumerate(grounds, 1):
            short = missing - self._leftovers.of(domain) - freed.get(domain, 0)
            bound = stock.supply(domain, ranks).bound(short) if short > 0 else NO_BOUND
            if bound:
                yield bound, turn, self._in_domain(asker, shape, ranks, slots)

    def _by_domain(self, units: Iterable[VictimUnit]) -> dict[int, int]:
        """Thousandths of GPUs that units free, by domain."""
        tree, found = self._state.fleet.tree, dict[int, int]()
        for unit in units:
            for pod in unit.pods:
                for domain in tree.ancestors(tree.index[pod.node]):
                    found[domain] = found.get(domain, 0) + len(pod.devices) * pod.milli
        return found

    def _on_one_node(self, asker: GangRecord, shape: Shape, most: int) -> Shop:
        key = (asker.lane, most)

        def shop() -> NodeOffers:
            market = self._markets.get(key)
            if market is None:
                ranks = range(len(self._state.fleet.tree.nodes))
                market = self._markets[key] = self._market(asker, shape, ranks, 1)
            return market

        return shop

    def _in_domain(self, asker: GangRecord, shape: Shape, ranks: Sequence[int], slots: int) -> Shop:
        return lambda: self._market(asker, shape, ranks, slots)

    def _market(
        self, asker: GangRecord, shape: Shape, ranks: Sequence[int], slots: int
    ) -> NodeOffers:
        state, sight = self._state, self._state.fleet.table.sight(shape)
        stock = self._stocks[alike(state, asker, self._now)]
        return NodeOffers(
            state, sight, stock, ranks, state.agenda.effort, slots, classless=self._classless
        )
