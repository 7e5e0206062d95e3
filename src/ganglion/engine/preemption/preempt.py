"""Which gangs to stop, and where to start in their place, decided together.

For each candidate domain the cheapest set of victims is sought whose removal lets the whole
gang be placed: node by node by price (`node_offers`), or in the fixed order of the rules. A victim
not needed is then dropped again. Where a limit or a quota blocks the gang, victims under that
bound are taken first (`quota_victims`). Domains compare by (highest class hurt, price, number
disturbed). No gang is stopped before the whole asking gang was proven placeable.

Source: the shape of Volcano's gang preemption with a price in place of an order; thinning as
Kueue's fill-back.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.placement.renumber import renumbered
from ganglion.engine.preemption.checkpoint_wait import better_later
from ganglion.engine.preemption.domain_offers import UNBOUNDED, Shop, Shops
from ganglion.engine.preemption.node_offers import NodeOffers, Offer
from ganglion.engine.preemption.quota_victims import GROWN, Flavors, Relief, closed
from ganglion.engine.preemption.stock import Cost
from ganglion.engine.preemption.trade import (
    LARGE,
    PreemptionPlan,
    cheaper,
    cost_of,
    gentler_of,
    is_clear,
    is_judged,
    is_out_of_proportion,
    needed_before,
    unclaimed,
)
from ganglion.engine.preemption_rules.growth import Growth, Use
from ganglion.engine.search.find import find
from ganglion.engine.search.quota import asked, spent
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.engine.state.effort import LOOK
from ganglion.engine.store.undo import Tentative
from ganglion.engine.store.victims import VictimRules, VictimUnit
from ganglion.engine.timeline.nominations import Pledges, as_if_there
from ganglion.model.causes import CauseKind
from ganglion.model.placement import Placement
from ganglion.model.plan import Start
from ganglion.model.policy import Entitlement, VictimOrder
from ganglion.model.queue import ANY_FLAVOR
from ganglion.model.reasons import Reason, Token

TRIED = Reason(Token.CAPACITY, "no place was found")
"""Placeholder for a reason that is not reported."""

Take = Callable[[Tentative], list[VictimUnit] | None]
"""Takes victims until the gang fits and says which; None when it cannot."""


class Trader:
    """Works out trades within one cycle.

    Args:
        state: left as it is by every call.
        rules: who may take from whom.
        now: the time in ms.

    Attributes:
        refusal: why no gang could be stopped for the last one, by arithmetic; None = unknown.
        wait_until: when the last gang's trade will be cheaper, in ms; None = no such time.
    """

    def __init__(self, state: ClusterState, rules: VictimRules, now: int) -> None:
        self._state, self._rules, self._now = state, rules, now
        self._growth = Growth(state)
        self.refusal: Reason | None = None
        self.wait_until: int | None = None
        self._shops = Shops(state, rules, now)
        evict = state.config.policy.evict
        self._in_order = evict.victims in (VictimOrder.NEWEST, VictimOrder.YOUNGEST)
        self._classless = evict.victims is VictimOrder.PRICE_FIRST
        self._fresh = Fresh()
        self._outgrown = False
        self._by_share = state.config.policy.entitlement is Entitlement.SHARE
        self._most = UNBOUNDED
        self._pledges = Pledges(state)
        self._promised: list[VictimUnit] = []
        self._first: list[VictimUnit] = []

    def trade(self, asker: GangRecord) -> PreemptionPlan | None:
        """The best trade for a gang that found no place; None when there is none."""
        self.refusal, self.wait_until, self._shops.newest = None, None, None
        if not self._state.config.policy.evict.enabled or asker.gang.spare:
            return None
        self._promised = []
        if self._by_share:
            top = partial(self._rules.top, self._state, asker, now=self._now)
            self._promised = self._pledges.to(asker, top)
        if found := self._from_promises(asker):
            return found
        self.refusal = self._rules.hopeless(self._state, asker, self._now)
        if self.refusal:
            return None
        yielding = self._yielding(asker)
        if not yielding:
            return self._now_or_later(asker)
        with self._state.timeline.future.apart_from(*yielding):
            return self._now_or_later(asker)

    def just_offered(self, asker: GangRecord) -> list[VictimUnit] | None:
        """What may be taken for the last gang, if that was worked out for it just now."""
        newest = self._shops.newest
        return newest[1] if newest and newest[0] is asker else None

    def _from_promises(self, asker: GangRecord) -> PreemptionPlan | None:
        """A place that is only promised so far: no running gang stops where one is to be had."""
        free = self._state.fleet.totals.free_for(asker.shapes)
        most = free + sum(unit.gpu_milli for unit in self._promised)
        if not self._promised or most < asked(asker).gpu_milli:
            return None
        allowed = self._allowed(asker)
        units = partial(filter, allowed, self._promised)
        return self._attempt(asker, self._one_by_one(asker, units))

    def _now_or_later(self, asker: GangRecord) -> PreemptionPlan | None:
        """The best trade, unless it had better wait for the checkpoints of its victims."""
        found, evict = self._work_out(asker), self._state.config.policy.evict
        if found and evict.checkpoint_wait_ms and not is_clear(found):
            left = asker.gang.submitted + evict.checkpoint_wait_ms - self._now
            self.wait_until = better_later(asker, found.units, self._now, left, evict.restart_ms)
        return None if self.wait_until else found

    def _yielding(self, asker: GangRecord) -> list[str]:
        """Holders of reservations that this gang could preempt: they cannot block it with those."""
        held = self._state.timeline.future.reservations()
        state, allows, now = self._state, self._rules.allows, self._now
        return [e.record.gang.id for e in held if allows(state, asker, as_if_there(e), now)]

    def _work_out(self, asker: GangRecord) -> PreemptionPlan | None:
        if not self._in_order:
            return self._by_price(asker)
        state, now, useful = self._state, self._now, self._shops.useful(asker)
        units = partial(self._rules.victims, state, asker, now, useful)
        return self._attempt(asker, self._one_by_one(asker, units))

    def is_undecided(self, asker: GangRecord, starts: Sequence[Start]) -> bool:
        """Whether a gang that starts in this very cycle might be taken once it has started.

        Args:
            asker: a gang for which there was no trade.
            starts: all starts of the cycle so far.
        """
        if not self._state.config.policy.evict.enabled:
            return False
        now, allows = self._now, self._rules.allows
        units = self._fresh.units(self._state, starts)
        return any(allows(self._state, asker, unit, now) for unit in units)

    def _one_by_one(self, asker: GangRecord, units: Callable[[], Iterator[VictimUnit]]) -> Take:
        """Take units in the order given until the gang fits."""

        def take(tentative: Tentative) -> list[VictimUnit] | None:
            taken: list[VictimUnit] = []
            for unit in units():
                if unit.whole and not self._state.gangs.floors.spares(unit.record):
                    continue
                tentative.take(unit)
                taken.append(unit)
                if self._fits(asker):
                    return taken
            return None

        return take

    def _by_price(self, asker: GangRecord) -> PreemptionPlan | None:
        units = self._shops.pool(asker)
        if not self._promised and not self._may_begin(asker, units):
            return None
        best = self._best_of_all(asker)
        if best and self._by_share and is_out_of_proportion(best, asker):
            self._most = LARGE * asked(asker).gpu_milli
            other, self._most = self._best(asker), UNBOUNDED
            best = gentler_of(best, other) if other else best
        return self._gentler(asker, best) if best else None

    def _may_begin(self, asker: GangRecord, units: Sequence[VictimUnit]) -> bool:
        """Whether any unit is allowed as things stand, as the first that is taken has to be."""
        if not self._rules.may_any(self._state, asker, self._now):
            return False
        return any(map(self._allowed(asker), units))

    def _best_of_all(self, asker: GangRecord) -> PreemptionPlan | None:
        """The cheapest trade; what is only promised so far yields before any running gang."""
        self._first = list(filter(self._allowed(asker), self._promised))
        best = self._best(asker) if self._first else None
        self._first = []
        return best or self._best(asker)

    def _best(self, asker: GangRecord) -> PreemptionPlan | None:
        """The cheapest trade, of gangs no larger than is allowed at the moment."""
        best: PreemptionPlan | None = None
        ways, self._outgrown = closed(self._state, asker), False
        for way in ways:
            best = cheaper(best, self._in_a_way(asker, way))
        if best is None and self._outgrown and GROWN not in ways:
            best = self._in_a_way(asker, GROWN)
        return best

    def _in_a_way(self, asker: GangRecord, way: Flavors) -> PreemptionPlan | None:
        """The best trade that keeps to the bounds of some flavors."""
        found = self._attempt(asker, partial(self._buy, asker, way, None)) if way else None
        if found:  # more victims for room would be in vain
            return found
        best: tuple[Cost, int, PreemptionPlan] | None = None
        for bound, turn, shop in self._shops.for_gang(asker, self._most, self._first):
            if best and (bound > best[0][:2] or self._state.agenda.effort.is_spent):
                break
            found = self._attempt(asker, partial(self._buy, asker, way, shop))
            if found and (best is None or (found.cost, turn) < best[:2]):
                best = found.cost, turn, found
        return best[2] if best else None

    def _gentler(self, asker: GangRecord, best: PreemptionPlan) -> PreemptionPlan:
        """Of trades on one node at one price, one whose victims can go on elsewhere."""
        market = self._shops.of_nodes(asker)
        killed = best.cost[2]
        if (
            not market
            or not killed
            or not self._state.config.policy.evict.move
            or not self._is_roomy(best)
        ):
            return best
        for offer in market.rivals(best.cost, self._state.config.policy.evict.tries):
            found = self._attempt(asker, self._from_offer(asker, market, offer))
            if found and found.cost < best.cost:
                best = found
        return best

    def _is_roomy(self, trade: PreemptionPlan) -> bool:
        """Whether any victim could find room elsewhere at all."""
        free = self._state.fleet.totals.free_gpu(ANY_FLAVOR)
        return any(unit.whole and unit.gpu_milli <= free for unit in trade.units)

    def _from_offer(self, asker: GangRecord, market: NodeOffers, offer: Offer) -> Take:
        def take(tentative: Tentative) -> list[VictimUnit] | None:
            market.open()
            done = market.accept(offer, tentative, self._allowed(asker))
            return done if done and self._fits(asker) else None

        return take

    def _buy(
        self, asker: GangRecord, way: Flavors, shop: Shop | None, tentative: Tentative
    ) -> list[VictimUnit] | None:
        """Take what bounds ask for, then the cheapest offers until the gang fits."""
        allowed = self._allowed(asker)
        market = shop() if shop else None
        taken = [unit for unit in self._first if allowed(unit)]
        for unit in taken:
            tentative.take(unit)
        if way and not (taken and self._fits(asker)):
            relief = Relief(self._state, asker, self._shops.pool(asker), allowed)
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

    def _allowed(self, asker: GangRecord) -> Callable[[VictimUnit], bool]:
        allows, state, now, most = self._rules.allows, self._state, self._now, self._most
        return lambda unit: unit.gpu_milli <= most and allows(state, asker, unit, now)

    def _attempt(self, asker: GangRecord, take: Take) -> PreemptionPlan | None:
        tentative, before = Tentative(self._state), self._growth.use_of(asker)
        try:
            taken = take(tentative)
            found = self._settle(asker, taken, tentative, before) if taken else None
        finally:
            tentative.undo()
        strange = found and unclaimed(self._state, self._rules, asker, found, self._now)
        return None if strange else found

    def _settle(
        self, asker: GangRecord, taken: list[VictimUnit], tentative: Tentative, before: Use
    ) -> PreemptionPlan | None:
        """Drop victims not needed, seat the gang, and move the victims that fit elsewhere."""
        units = self._thin(asker, taken, tentative, before)
        placement = self._place(asker)
        if placement is None:
            return None
        tentative.seat(asker, placement)
        if is_judged(units) and self._growth.is_beyond_share(asker, before, units):
            self._outgrown = True
            return None
        moves: list[tuple[GangRecord, Placement]] = []
        if self._state.config.policy.evict.move:
            with self._state.timeline.future.apart_from(asker.gang.id):
                moves = self._moves(units, tentative)
        return PreemptionPlan(
            placement,
            tuple(units),
            tuple(moves),
            cost_of(units, len(moves), classless=self._classless),
        )

    def _thin(
        self, asker: GangRecord, taken: list[VictimUnit], tentative: Tentative, before: Use
    ) -> list[VictimUnit]:
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

    def _outgrows(
        self, asker: GangRecord, before: Use, units: list[VictimUnit], without: VictimUnit
    ) -> bool:
        """Whether the asker's queue would grow too far if all but one of some units left."""
        judged = is_judged(each for each in units if each is not without)
        return judged and bool(self._growth.beyond(asker, before, ANY_FLAVOR, asked(asker)))

    def _moves(
        self, units: Sequence[VictimUnit], tentative: Tentative
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
        state.agenda.effort.spend(LOOK)
        found = find(state, record, now, TRIED)
        return state.timeline.future.settle(
            record, now, found, lambda: find(state, record, now, TRIED)
        )[1]

    def _fits(self, asker: GangRecord) -> bool:
        if spent(self._state, asker)[0]:
            return False
        return self._place(asker) is not None


class Fresh:
    """Gangs that start in a cycle, as victims that can be taken from the next cycle on.

    In each queue the gang of the lowest priority represents the others.
    """

    def __init__(self) -> None:
        self._lowest: dict[str, GangRecord] = {}
        self._noted = 0

    def units(self, state: ClusterState, starts: Sequence[Start]) -> Iterator[VictimUnit]:
        """The started gangs as units.

        Args:
            state: the fleet and the queues.
            starts: all starts of the cycle so far.
        """
        for start in starts[self._noted :]:
            gang = start.gang
            known = self._lowest.get(gang.queue)
            if gang.preemptible and (known is None or gang.priority < known.gang.priority):
                self._lowest[gang.queue] = state.gangs.records[gang.id]
        self._noted = len(starts)
        for record in self._lowest.values():
            if record.placement:
                yield VictimUnit(record, record.placement.pods, True, 0, CauseKind.PREEMPTED)
