"""Consolidation: running gangs are moved so that one fits that finds no place.

Only preemptible gangs are moved, each as a whole and at the size it has, and only when every
one of them has a new place before any is stopped. The gain is the waiting gang's GPUs over
the policy's horizon; the moves must cost less. The cheapest moves win, then the fewest.
An elastic gang that runs gets room for one more slice in the same way; the gain is the GPUs of
the slice.

Every move lets a waiting gang start or a running one grow, and a gang that was moved stays
where it is for the horizon: without news moving ends.
"""

from collections import Counter
from collections.abc import Callable, Container, Sequence
from functools import partial
from heapq import nlargest
from typing import NamedTuple

from msgspec.structs import replace

from ganglion.engine.gangs import preemption_cost
from ganglion.engine.gangs.record import SETTLED, GangRecord
from ganglion.engine.placement.renumber import renumbered
from ganglion.engine.preemption.candidate_domains import CandidateDomain, grounds_of
from ganglion.engine.preemption.node_offers import NodeOffers
from ganglion.engine.preemption.preempt import TRIED
from ganglion.engine.preemption.stock import Stock
from ganglion.engine.preemption.trade import PreemptionPlan, is_in_vain, unclaimed
from ganglion.engine.preemption_rules.growth import BY_RIGHT, Growth, Use
from ganglion.engine.search.find import Found
from ganglion.engine.search.quota import asked
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.engine.state.effort import LOOK
from ganglion.engine.store.queue_rules import protected_ms
from ganglion.engine.store.undo import Tentative
from ganglion.engine.store.victims import VictimRules, VictimUnit, may_stop
from ganglion.engine.topology.capacity_index import PlaceRules
from ganglion.model.causes import CauseKind
from ganglion.model.placement import Placement
from ganglion.model.reasons import Reason, Token

SEARCHES = 4
"""Gangs for which a search may fail in one sweep (of one cycle, unless there is too much work)."""

WEIGHED = 16
"""Gangs weighed for a move that together cost as much work as one node priced."""

RETRIES = 12
"""Gangs without another place that are passed over in one search."""

_ANY = PlaceRules()

ABOUT_ROOM = (Token.CAPACITY, Token.TOPOLOGY)

Seek = Callable[[ClusterState, GangRecord, int, Reason | None], Found]
"""Looks for a place that neither quota nor reservations forbid."""


class ExtraSlice(NamedTuple):
    """One more slice for an elastic gang that runs.

    Attributes:
        asker: the slice, as a gang of its own.
        gain: the moves must cost less than this, in thousandths of GPUs x ms.
        nodes: ranks of the nodes on which the slice may lie; None = all.
        fixed: gangs that must not be moved.
        place: finds a place for the slice as things stand.
    """

    asker: GangRecord
    gain: int
    nodes: Container[int] | None
    fixed: Container[str]
    place: Callable[[], Placement | None]


class Mover:
    """Works out moves within one cycle.

    Args:
        state: left as it is by every call.
        now: the time in ms.
        seek: how places are found.

    Attributes:
        undecided: whether the last gang might fit once those can be moved that start just now.
    """

    def __init__(self, state: ClusterState, now: int, seek: Seek) -> None:
        self._state, self._now, self._seek = state, now, seek
        self.undecided = False
        self._most = state.config.policy.repack.moves
        self._rules: VictimRules | None = None
        self._growth = Growth(state)
        self._before: Use = {}
        self._bound: set[str] = set()
        self._slice: ExtraSlice | None = None

    @property
    def _may_search(self) -> bool:
        return self._state.agenda.effort.missed_moves < SEARCHES

    def room(self, asker: GangRecord, reason: Reason) -> PreemptionPlan | None:
        """Moves that let a gang start which has just been refused a place; None = there are none.

        Args:
            asker: the gang.
            reason: why it found no place.
        """
        self.undecided = False
        milli = asked(asker).gpu_milli
        if not self._may_help(asker, reason, milli):
            return None
        # What the gang had reserved is free for others once it is seated.
        with self._state.timeline.future.apart_from(asker.gang.id):
            best = self._best(asker, milli)
        self._state.agenda.effort.missed_moves += best is None
        self.undecided = best is None and any(map(self._is_fresh, self._state.holdings.settled()))
        return best

    def room_with(
        self,
        asker: GangRecord,
        reason: Reason,
        rules: VictimRules,
        offered: Sequence[VictimUnit] | None = None,
    ) -> PreemptionPlan | None:
        """The same where some have to stop by the rules, and moves alone or stops alone won't do.

        Args:
            asker: the gang.
            reason: why it found no place.
            rules: who may take from whom.
            offered: what may be taken by these rules; None = it is worked out.
        """
        state, now, milli = self._state, self._now, asked(asker).gpu_milli
        if not (
            state.config.policy.repack.consolidate
            and state.config.policy.evict.enabled
            and self._may_search
        ):
            return None
        about_room = reason.token in ABOUT_ROOM and not reason.never
        if asker.gang.spare or not milli or not about_room or rules.hopeless(state, asker, now):
            return None
        if offered is None:
            offered = [*rules.victims(state, asker, now, partial(self._may, asker))]
        victims = [each for each in offered if each.pods]
        if not victims:
            return None
        if is_in_vain(state, asker, victims, rules, now):
            state.agenda.effort.missed_moves += 1
            return None
        self._rules, self._before = rules, self._growth.use_of(asker)
        with state.timeline.future.apart_from(asker.gang.id):
            best = self._best(asker, milli, victims)
        self._rules = None
        state.agenda.effort.missed_moves += best is None
        return best

    def room_beside(self, more: ExtraSlice) -> PreemptionPlan | None:
        """Moves that let a running gang grow by a slice; None = there are none."""
        self._slice = more
        try:
            return self._best(more.asker, asked(more.asker).gpu_milli)
        finally:
            self._slice = None

    def _best(
        self, asker: GangRecord, milli: int, victims: Sequence[VictimUnit] = ()
    ) -> PreemptionPlan | None:
        best: PreemptionPlan | None = None
        gain = milli * self._state.config.policy.repack.horizon_ms
        nodes: Container[int] | None = None
        fixed: Container[str] = ()
        if self._slice:
            gain, nodes, fixed = self._slice.gain, self._slice.nodes, self._slice.fixed
        named = {each.record.gang.id for each in victims}
        for ground in grounds_of(self._state, asker, nodes):
            units = [
                each
                for each in self._movable(ground.ranks)
                if each.price < gain and each.record.gang.id not in fixed and self._may(asker, each)
            ]
            if not victims and not self._is_enough(units, max(milli - ground.free, 0), gain):
                continue
            units = [*victims, *(each for each in units if each.record.gang.id not in named)]
            if best and self._state.agenda.effort.is_spent:
                break
            self._state.agenda.effort.spend(len(units) // WEIGHED)
            found = self._search(asker, ground, units, gain)
            if found and (best is None or found.cost < best.cost):
                best = found
        return best

    def _is_enough(self, units: Sequence[VictimUnit], needed: int, gain: int) -> bool:
        """Whether so few moves could free that much, and so cheaply, in the best case."""
        if not units:
            return False
        rate = min(unit.price * 1000 // max(unit.gpu_milli, 1) for unit in units)
        most = sum(nlargest(self._most, (unit.gpu_milli for unit in units)))
        return needed <= most and needed * rate // 1000 < gain

    def _is_fresh(self, record: GangRecord) -> bool:
        return record.placed_at == self._now and record.gang.preemptible

    def _may_help(self, asker: GangRecord, reason: Reason, milli: int) -> bool:
        """Whether moves could help, by arithmetic alone: enough is free, but not together."""
        if not self._state.config.policy.repack.consolidate or not self._may_search or not milli:
            return False
        if asker.gang.spare:  # no other gang is disturbed for it
            return False
        if reason.never or reason.token not in ABOUT_ROOM:
            return False
        return self._state.fleet.totals.free_for(asker.shapes) >= milli

    def _movable(self, ranks: Sequence[int]) -> list[VictimUnit]:
        """Gangs on some nodes that may be moved, and of which a pod would find room elsewhere."""
        names, found = self._state.fleet.tree.names, dict[str, VictimUnit]()
        for rank in ranks:
            for record in self._state.holdings.on_node(names[rank]):
                unit = None if record.gang.id in found else self._unit(record)
                if unit:
                    found[record.gang.id] = unit
        return list(found.values())

    def _unit(self, record: GangRecord) -> VictimUnit | None:
        if record.placement is None or not may_move(self._state, record, self._now):
            return None
        cost = preemption_cost.of_victim(
            record, self._now, self._state.config.policy.evict.restart_ms
        )
        return VictimUnit(record, record.placement.pods, True, cost, CauseKind.MOVED, grade=(-1,))

    def _may(self, asker: GangRecord, unit: VictimUnit) -> bool:
        if unit.record.placed_at == self._now:
            return False
        if unit.whole and not self._state.gangs.floors.spares(unit.record):
            return False
        return may_stop(self._state, unit.record, asker.gang, self._now)

    def _search(
        self, asker: GangRecord, ground: CandidateDomain, units: Sequence[VictimUnit], gain: int
    ) -> PreemptionPlan | None:
        """The cheapest moves on some nodes; gangs that find no other place are passed over."""
        pure = self._rules is None
        stock = Stock(self._state, units, classless=pure)
        market = NodeOffers(
            self._state,
            ground.sight,
            stock,
            ground.ranks,
            self._state.agenda.effort,
            ground.slots,
            classless=pure,
        )
        for _ in range(RETRIES):
            tentative = Tentative(self._state)
            try:
                taken = self._take(asker, market, tentative, gain)
                if taken is None:
                    return None
                found = self._settle(asker, taken, tentative)
            finally:
                tentative.undo()
            if isinstance(found, PreemptionPlan):
                other = self._unclaimed(asker, found)
                if other is None:
                    return found
                found = other
            market.drop(found)
        return None

    def _unclaimed(self, asker: GangRecord, trade: PreemptionPlan) -> VictimUnit | None:
        """A victim that may not be stopped for the flavors that the asker gets."""
        if self._rules is None:
            return None
        return unclaimed(self._state, self._rules, asker, trade, self._now)

    def _take(
        self, asker: GangRecord, market: NodeOffers, tentative: Tentative, gain: int
    ) -> list[VictimUnit] | None:
        """Take gangs out, the cheapest first, until the asker fits; None when it never does."""
        taken: list[VictimUnit] = []
        self._bound = set()
        market.open()
        while offer := market.best():
            moved = (each for each in (*taken, *offer.units) if each.cause is CauseKind.MOVED)
            if sum(each.price for each in moved) >= gain:
                return None
            done = market.accept(offer, tentative, partial(self._may_take, asker))
            if done is None:
                continue
            taken += done
            if len(taken) > self._most:
                return None
            if self._seat(asker):
                return taken
            if not done:
                market.skip(offer)
        return None

    def _may_take(self, asker: GangRecord, unit: VictimUnit) -> bool:
        """Whether a unit may be stopped as things stand, or else be moved as a whole."""
        if unit.whole and not self._state.gangs.floors.spares(unit.record):
            return False
        if self._rules is None or unit.cause is CauseKind.MOVED:
            return True
        if self._rules.allows(self._state, asker, unit, self._now):
            return True
        placement = unit.record.placement
        complete = unit.whole and placement is not None and unit.pods == placement.pods
        if not complete or not may_move(self._state, unit.record, self._now):
            return False
        self._bound.add(unit.record.gang.id)
        return True

    def _settle(
        self, asker: GangRecord, taken: list[VictimUnit], tentative: Tentative
    ) -> PreemptionPlan | VictimUnit:
        """Seat the asker, then all others anew; else return the one that has no other place."""
        units = self._thin(asker, taken, tentative)
        place = self._seat(asker)
        assert place
        tentative.seat(asker, place)
        moves: list[tuple[GangRecord, Placement]] = []
        for unit in sorted(filter(_is_whole, units), key=self._turn):
            again = self._place(as_it_is(unit.record))
            if again is None or unit.record.placement is None:
                if self._must_move(unit):
                    return unit
                continue
            again = renumbered(unit.record.placement, again)
            tentative.seat(unit.record, again)
            moves.append((unit.record, again))
        moved = {record.gang.id for record, _ in moves}
        stopped = [each for each in units if each.record.gang.id not in moved]
        judged = next((each for each in stopped if each.cause in BY_RIGHT), None)
        if judged and self._growth.is_beyond_share(asker, self._before, stopped):
            return judged
        worst = max((each.hurts for each in stopped), default=())
        age = -sum(unit.record.gang.submitted for unit in units)
        cost = (worst, sum(unit.price for unit in units), len(stopped), len(units), age)
        return PreemptionPlan(place, tuple(units), tuple(moves), cost)

    def _must_move(self, unit: VictimUnit) -> bool:
        return unit.cause is CauseKind.MOVED or unit.record.gang.id in self._bound

    def _turn(self, unit: VictimUnit) -> tuple[bool, int, str]:
        """Which gang is placed anew first: those that must be, then the largest."""
        return (not self._must_move(unit), -unit.gpu_milli, unit.record.gang.id)

    def _thin(
        self, asker: GangRecord, taken: list[VictimUnit], tentative: Tentative
    ) -> list[VictimUnit]:
        kept = list(taken)
        for unit in reversed(taken[:-1]):
            if not unit.whole and any(e.whole and e.record is unit.record for e in kept):
                continue
            tentative.give_back(unit)
            if self._seat(asker):
                kept = [each for each in kept if each is not unit]
            else:
                tentative.take(unit)
        return kept

    def _seat(self, asker: GangRecord) -> Placement | None:
        """A place for the gang that asks, as things stand."""
        return self._slice.place() if self._slice else self._place(asker)

    def _place(self, record: GangRecord) -> Placement | None:
        """A place that neither quota nor reservations forbid."""
        self._state.agenda.effort.spend(LOOK)
        return self._seek(self._state, record, self._now, TRIED)[1]


def _is_whole(unit: VictimUnit) -> bool:
    return unit.whole


def may_move(state: ClusterState, record: GangRecord, now: int) -> bool:
    """Whether a gang may be moved at all, and a pod of it would find room elsewhere."""
    if record.phase not in SETTLED or not record.gang.preemptible or record.placed_at == now:
        return False
    if not state.gangs.floors.spares(record):
        return False
    if record.moved_at and now - record.moved_at < state.config.policy.repack.horizon_ms:
        return False
    if now - (record.started or record.placed_at) < protected_ms(state, record.gang):
        return False
    return any(state.fleet.indexes.fits(shape, _ANY).values[0] for shape in record.shapes)


def as_it_is(record: GangRecord) -> GangRecord:
    """A gang to look for a place for that is just as large as this one is now."""
    assert record.placement
    counts = Counter(pod.pod_set for pod in record.placement.pods)
    sets = (replace(each, count=counts[each.name], min_count=0) for each in record.gang.pod_sets)
    gang = replace(record.gang, pod_sets=tuple(sets), parallel=0)
    return GangRecord(gang, record.shapes, None)
