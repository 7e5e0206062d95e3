"""Whom to stop, and where to start in their place, decided together.

For each candidate domain the cheapest set of victims is sought whose removal lets the whole
gang be placed: node by node by price (`market`), or in the fixed order of the rules. Who is
not needed is then dropped again. Where a limit or a quota blocks the gang, victims under that
bound are taken first (`means`). Domains compare by (highest class hurt, price, number
disturbed). Nobody is touched before the whole gang was proven placeable.

Source: the shape of Volcano's gang preemption with a price in place of an order; thinning as
Kueue's fill-back.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from ganglion.engine.effort import LOOK, Effort
from ganglion.engine.find import find
from ganglion.engine.fresh import Fresh
from ganglion.engine.grounds import domains_of
from ganglion.engine.growth import Growth, Use
from ganglion.engine.market import Market, Offer, as_one_pod
from ganglion.engine.means import GROWN, Flavors, Relief, closed
from ganglion.engine.numbers import renumbered
from ganglion.engine.patience import better_later
from ganglion.engine.place import Demand, levels_for
from ganglion.engine.promise import as_if_there, pledged
from ganglion.engine.quota import asked, spent
from ganglion.engine.record import GangRecord
from ganglion.engine.shapes import Shape
from ganglion.engine.state import ClusterState
from ganglion.engine.stock import Stock, alike
from ganglion.engine.tentative import Tentative
from ganglion.engine.trade import (
    LARGE,
    Trade,
    cheaper,
    cost_of,
    gentler_of,
    is_clear,
    is_judged,
    is_out_of_proportion,
    needed_before,
)
from ganglion.engine.victims import Rules, Unit, may_stop
from ganglion.model.levels import Level
from ganglion.model.placement import Placement
from ganglion.model.plan import Start
from ganglion.model.policy import Entitlement, VictimOrder
from ganglion.model.queue import ANY_FLAVOR
from ganglion.model.reasons import Reason, Token

TRIED = Reason(Token.CAPACITY, "no place was found")
"""Stands for a reason that nobody will read."""

UNBOUNDED = 1 << 62
"""In place of a largest victim, in thousandths of GPUs."""

Take = Callable[[Tentative], list[Unit] | None]
"""Takes victims until the gang fits and says which; None when it cannot."""

Shop = Callable[[], Market]
"""Makes the market of some nodes."""


class Trader:
    """Works out trades within one cycle.

    Args:
        state: left as it is by every call.
        rules: who may take from whom.
        now: the time in ms.
        effort: counts the work.

    Attributes:
        refusal: why nobody could be stopped for the last gang, by arithmetic; None = unknown.
        wait_until: when the last gang's trade will be cheaper, in ms; None = no such time.
    """

    def __init__(self, state: ClusterState, rules: Rules, now: int, effort: Effort) -> None:
        self._state, self._rules, self._now, self._effort = state, rules, now, effort
        self._growth = Growth(state)
        self.refusal: Reason | None = None
        self.wait_until: int | None = None
        self._pools: dict[object, list[Unit]] = {}
        self._stocks: dict[object, Stock] = {}
        self._markets: dict[object, Market] = {}
        evict = state.policy.evict
        self._in_order = evict.victims in (VictimOrder.NEWEST, VictimOrder.YOUNGEST)
        self._classless = evict.victims is VictimOrder.PRICE_FIRST
        self._fresh = Fresh()
        self._outgrown = False
        self._by_share = state.policy.entitlement is Entitlement.SHARE
        self._most = UNBOUNDED
        self._first: list[Unit] = []

    def trade(self, asker: GangRecord) -> Trade | None:
        """The best trade for a gang that found no place; None when there is none."""
        self.refusal, self.wait_until = None, None
        if not self._state.policy.evict.enabled or asker.gang.spare:
            return None
        if self._by_share and self._state.promised:
            # No running gang stops where a place is to be had that is only promised so far.
            promises = partial(self._promises, asker)
            if found := self._attempt(asker, self._one_by_one(asker, promises)):
                return found
        self.refusal = self._rules.hopeless(self._state, asker, self._now)
        if self.refusal:
            return None
        yielding = self._yielding(asker)
        if not yielding:
            return self._now_or_later(asker)
        with self._state.future.apart_from(*yielding):
            return self._now_or_later(asker)

    def _now_or_later(self, asker: GangRecord) -> Trade | None:
        """The best trade, unless it had better wait for the checkpoints of its victims."""
        found, evict = self._work_out(asker), self._state.policy.evict
        if found and evict.checkpoint_wait_ms and not is_clear(found):
            left = asker.gang.submitted + evict.checkpoint_wait_ms - self._now
            self.wait_until = better_later(asker, found.units, self._now, left, evict.restart_ms)
        return None if self.wait_until else found

    def _yielding(self, asker: GangRecord) -> list[str]:
        """Whoever it might take running gangs from has to let it pass with a reservation, too."""
        held = self._state.future.reservations()
        state, allows, now = self._state, self._rules.allows, self._now
        return [e.record.gang.id for e in held if allows(state, asker, as_if_there(e), now)]

    def _work_out(self, asker: GangRecord) -> Trade | None:
        if not self._in_order:
            return self._by_price(asker)
        state, now, useful = self._state, self._now, self._useful(asker)
        units = partial(self._rules.victims, state, asker, now, useful)
        return self._attempt(asker, self._one_by_one(asker, units))

    def _promises(self, asker: GangRecord) -> Iterator[Unit]:
        return pledged(self._state, self._rules, asker, self._now)

    def is_undecided(self, asker: GangRecord, starts: Sequence[Start]) -> bool:
        """Whether a gang that starts in this very cycle might be taken once it has started.

        Args:
            asker: a gang for which there was no trade.
            starts: all starts of the cycle so far.
        """
        if not self._state.policy.evict.enabled:
            return False
        now, allows = self._now, self._rules.allows
        units = self._fresh.units(self._state, starts)
        return any(allows(self._state, asker, unit, now) for unit in units)

    def _useful(self, asker: GangRecord) -> Callable[[Unit], bool]:
        def useful(unit: Unit) -> bool:
            record = unit.record
            if record.placed_at == self._now or not unit.pods:
                return False
            if unit.whole and not self._state.floors.spares(record):
                return False
            return may_stop(self._state, record, asker.gang, self._now)

        return useful

    def _one_by_one(self, asker: GangRecord, units: Callable[[], Iterator[Unit]]) -> Take:
        """Take units in the order given until the gang fits."""

        def take(tentative: Tentative) -> list[Unit] | None:
            taken: list[Unit] = []
            for unit in units():
                if unit.whole and not self._state.floors.spares(unit.record):
                    continue
                tentative.take(unit)
                taken.append(unit)
                if self._fits(asker):
                    return taken
            return None

        return take

    def _by_price(self, asker: GangRecord) -> Trade | None:
        units = self._pool(asker)
        if not units:
            return None
        best = self._best_of_all(asker)
        if best and self._by_share and is_out_of_proportion(best, asker):
            self._most = LARGE * asked(asker).gpu_milli
            other, self._most = self._best(asker), UNBOUNDED
            best = gentler_of(best, other) if other else best
        return self._gentler(asker, best) if best else None

    def _best_of_all(self, asker: GangRecord) -> Trade | None:
        """The cheapest trade; what is only promised so far yields before any running gang."""
        promised = self._by_share and self._state.promised
        self._first = list(self._promises(asker)) if promised else []
        best = self._best(asker) if self._first else None
        self._first = []
        return best or self._best(asker)

    def _best(self, asker: GangRecord) -> Trade | None:
        """The cheapest trade, of gangs no larger than is allowed at the moment."""
        best: Trade | None = None
        ways, self._outgrown = closed(self._state, asker), False
        for way in ways:
            best = cheaper(best, self._in_a_way(asker, way))
        if best is None and self._outgrown and GROWN not in ways:
            best = self._in_a_way(asker, GROWN)
        return best

    def _in_a_way(self, asker: GangRecord, way: Flavors) -> Trade | None:
        """The best trade that keeps to the bounds of some flavors."""
        found = self._attempt(asker, partial(self._buy, asker, way, None)) if way else None
        # Where victims under a bound are enough, more of them for room would be in vain.
        for shop in () if found else self._shops(asker):
            found = cheaper(found, self._attempt(asker, partial(self._buy, asker, way, shop)))
            if found and self._effort.is_spent:
                break
        return found

    def _gentler(self, asker: GangRecord, best: Trade) -> Trade:
        """Of trades on one node at one price, one whose victims can go on elsewhere."""
        market = self._markets.get((asker.lane, UNBOUNDED))
        killed = best.cost[2]
        if (
            not market
            or not killed
            or not self._state.policy.evict.move
            or not self._is_roomy(best)
        ):
            return best
        for offer in market.rivals(best.cost, self._state.policy.evict.tries):
            found = self._attempt(asker, self._from_offer(asker, market, offer))
            if found and found.cost < best.cost:
                best = found
        return best

    def _is_roomy(self, trade: Trade) -> bool:
        """Whether any victim could find room elsewhere at all."""
        free = self._state.totals.free_gpu(ANY_FLAVOR)
        return any(unit.whole and unit.gpu_milli <= free for unit in trade.units)

    def _from_offer(self, asker: GangRecord, market: Market, offer: Offer) -> Take:
        def take(tentative: Tentative) -> list[Unit] | None:
            market.open()
            done = market.accept(offer, tentative, self._allowed(asker))
            return done if done and self._fits(asker) else None

        return take

    def _pool(self, asker: GangRecord) -> list[Unit]:
        """Everything that may be taken as things stand."""
        key = alike(self._state, asker, self._now)
        pool = self._pools.get(key)
        if pool is None:
            useful = self._useful(asker)
            pool = list(self._rules.victims(self._state, asker, self._now, useful))
            self._pools[key] = pool
            self._stocks[key] = Stock(self._state, pool, classless=self._classless)
        return pool

    def _shops(self, asker: GangRecord) -> Iterator[Shop]:
        """Where to take victims: node by node, then domain by domain."""
        state, demand = self._state, Demand(asker.gang, asker.shapes)
        levels = levels_for(state.indexes, asker.gang)
        if Level.NODE in levels or demand.single:
            yield self._on_one_node(asker, demand)
        if demand.single:
            return
        for shape, ranks, slots in domains_of(state, asker, demand, levels):
            yield partial(self._market, asker, shape, ranks, slots)

    def _on_one_node(self, asker: GangRecord, demand: Demand) -> Shop:
        shape = as_one_pod(demand)

        def shop() -> Market:
            market = self._markets.get((asker.lane, self._most))
            if market is None:
                ranks = range(len(self._state.tree.nodes))
                market = self._market(asker, shape, ranks, 1)
                self._markets[asker.lane, self._most] = market
            return market

        return shop

    def _buy(
        self, asker: GangRecord, way: Flavors, shop: Shop | None, tentative: Tentative
    ) -> list[Unit] | None:
        """Take what bounds ask for, then the cheapest offers until the gang fits."""
        allowed = self._allowed(asker)
        market = shop() if shop else None
        taken = [unit for unit in self._first if allowed(unit)]
        for unit in taken:
            tentative.take(unit)
        if way and not (taken and self._fits(asker)):
            relief = Relief(self._state, asker, self._pool(asker), allowed)
            relieved = relief.take(way, tentative, self._growth)
            if relieved is None:
                return None
            taken += relieved
        if market is None:
            return taken if taken and self._fits(asker) else None
        market.open()
        for unit in taken:
            market.take(unit)
        while not (taken and self._fits(asker)):
            offer = market.best()
            if offer is None:
                return None
            done = market.accept(offer, tentative, allowed)
            if done is None:
                continue
            taken += done
            if not done:
                market.skip(offer)
        return taken

    def _allowed(self, asker: GangRecord) -> Callable[[Unit], bool]:
        allows, state, now, most = self._rules.allows, self._state, self._now, self._most
        return lambda unit: unit.gpu_milli <= most and allows(state, asker, unit, now)

    def _attempt(self, asker: GangRecord, take: Take) -> Trade | None:
        tentative, before = Tentative(self._state), self._growth.use_of(asker)
        try:
            taken = take(tentative)
            return self._settle(asker, taken, tentative, before) if taken else None
        finally:
            tentative.undo()

    def _settle(
        self, asker: GangRecord, taken: list[Unit], tentative: Tentative, before: Use
    ) -> Trade | None:
        """Drop whoever is not needed, seat the gang, and move whoever fits elsewhere."""
        units = self._thin(asker, taken, tentative, before)
        placement = self._place(asker)
        if placement is None:
            return None
        tentative.seat(asker, placement)
        if is_judged(units) and self._growth.is_beyond_share(asker, before, units):
            self._outgrown = True
            return None
        moves: list[tuple[GangRecord, Placement]] = []
        if self._state.policy.evict.move:
            with self._state.future.apart_from(asker.gang.id):
                moves = self._moves(units, tentative)
        return Trade(
            placement,
            tuple(units),
            tuple(moves),
            cost_of(units, len(moves), classless=self._classless),
        )

    def _thin(
        self, asker: GangRecord, taken: list[Unit], tentative: Tentative, before: Use
    ) -> list[Unit]:
        kept = list(taken)
        for unit in reversed(taken[:-1]):
            if needed_before(unit, kept):
                continue
            tentative.give_back(unit)
            if self._fits(asker) and not self._outgrows(asker, before, kept, unit):
                kept = [each for each in kept if each is not unit]
            else:
                tentative.take(unit)
        return kept

    def _outgrows(self, asker: GangRecord, before: Use, units: list[Unit], without: Unit) -> bool:
        """Whether the asker's queue would grow too far if all but one of some units left."""
        judged = is_judged(each for each in units if each is not without)
        return judged and bool(self._growth.beyond(asker, before, ANY_FLAVOR, asked(asker)))

    def _moves(
        self, units: Sequence[Unit], tentative: Tentative
    ) -> list[tuple[GangRecord, Placement]]:
        """New places for victims, the most important first."""
        moves = []
        stopped = [unit.record for unit in units if unit.whole]
        for record in sorted(stopped, key=lambda each: (-each.gang.priority, each.gang.submitted)):
            place = self._place(record)
            if place and record.placement:
                place = renumbered(record.placement, place)
                tentative.seat(record, place)
                moves.append((record, place))
        return moves

    def _place(self, record: GangRecord) -> Placement | None:
        """A place that neither quota nor reservations nor bookings forbid."""
        state, now = self._state, self._now
        self._effort.spend(LOOK)
        found = find(state, record, now, TRIED)
        return state.future.settle(record, now, found, lambda: find(state, record, now, TRIED))[1]

    def _fits(self, asker: GangRecord) -> bool:
        if spent(self._state, asker)[0]:
            return False
        return self._place(asker) is not None

    def _market(self, asker: GangRecord, shape: Shape, ranks: Iterable[int], slots: int) -> Market:
        state, effort, classless = self._state, self._effort, self._classless
        stock = self._stocks[alike(state, asker, self._now)]
        return Market(
            state, state.table.sight(shape), stock, ranks, effort, slots, classless=classless
        )
