"""Growth: what is idle at the end of a cycle goes to elastic gangs, one slice at a time.

The fair order decides who is next, anew after every slice. A gang grows within quota, limits
and topology, never into a reserved place, and not beyond what its queue deserves while a gang
waits that could take that back. Where no idle place is large enough, gangs that fit elsewhere
are moved for one that runs, if that pays; else surplus pods of others may be taken for it by
the same rules as for one that waits. The gang grows once they have left. A gang that was just
resized is left alone until it is back at work, and one that runs grows only if that pays within
the policy's horizon. Pods that join a gang in place disturb no other: it may grow in every cycle.
"""

from collections.abc import Iterable, Iterator
from heapq import heapify, heappop, heappush

from msgspec.structs import replace

from ganglion.engine.decisions import decide
from ganglion.engine.gangs.preemption_cost import gpu_milli
from ganglion.engine.gangs.record import SETTLED, GangRecord
from ganglion.engine.ordering.attempt import seek
from ganglion.engine.ordering.ranking import KaiStanding, Rank, ShareStanding
from ganglion.engine.placement.pack import common
from ganglion.engine.preemption.consolidate import ExtraSlice, Mover
from ganglion.engine.preemption.trade import PreemptionPlan
from ganglion.engine.preemption_rules.rules import rules
from ganglion.engine.search.quota import asked
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.engine.state.effort import LOOK
from ganglion.engine.store.undo import Tentative
from ganglion.engine.store.victims import Useful, VictimUnit, may_stop
from ganglion.engine.timeline.nominations import is_clear
from ganglion.engine.upkeep.grow_slice import Grower, askers, nodes_for, place_beside
from ganglion.model.causes import Cause, CauseKind
from ganglion.model.events import GangReserved, GangResized, GangStopping
from ganglion.model.placement import Placement, PodPlacement
from ganglion.model.plan import Phase, Plan, Resize, Start, Stop
from ganglion.model.policy import Entitlement

Turn = tuple[Rank, int, int, str]
"""Standing of its queue and its priority, pods above its least, age, id."""


def grow(state: ClusterState, plan: Plan) -> None:
    """Let elastic gangs grow, and add that to the plan of the cycle that ends.

    Args:
        state: changed by the decisions.
        plan: they are added to it.
    """
    if not state.config.policy.elastic:
        return
    growers = {each.gang.id: Grower(each) for each in _elastic(state, plan.at)}
    if growers:
        _Season(state, plan, growers).run()


def _elastic(state: ClusterState, now: int) -> Iterator[GangRecord]:
    """Gangs that are not as large as they might be, and may be resized now."""
    rest = state.config.policy.evict.restart_ms
    for gang in state.holdings.short:
        record = state.gangs.records[gang]
        if record.phase not in SETTLED or record.leaving or record.fault:
            continue
        fresh = record.placed_at == now
        rested = not record.resized_at or now - record.resized_at >= rest
        if rested and (fresh or record.phase is Phase.RUNNING):
            yield record


class _Season:
    """One round of growth."""

    def __init__(self, state: ClusterState, plan: Plan, growers: dict[str, Grower]) -> None:
        self._state, self._plan, self._now = state, plan, plan.at
        self._mover = Mover(state, plan.at, seek)
        self._moved: dict[str, tuple[GangRecord, Placement, GangRecord]] = {}
        self._growers = growers
        self._rules = rules()
        self._standing = _standing(state, plan.at)
        self._tentative = Tentative(state)
        self._seats: list[Placement] = []
        self._taken: list[tuple[VictimUnit, GangRecord]] = []
        self._gone: set[tuple[str, PodPlacement]] = set()
        self._claimants = list(_claimants(state))
        self._wishes = [
            wish for each in growers.values() for wish in askers(state, each.record, each.pods)[:1]
        ]
        self._surplus = any(map(_has_surplus, state.holdings.settled()))

    def run(self) -> None:
        """Grow in order until no gang can grow any more."""
        state, growers = self._state, self._growers
        known = {name: freed for name, freed in state.agenda.unhelped.items() if name in growers}
        state.agenda.unhelped = known
        left = [
            name for name in growers if not (state.agenda.growth_cut and self._is_unhelped(name))
        ]
        try:
            state.agenda.growth_cut = not self._deal([growers[name] for name in left])
        finally:
            self._tentative.undo()
            for each in growers.values():
                state.holdings.costs.count_growth(each.record, ())
        if state.agenda.growth_cut:
            state.agenda.again_at = self._now + 1
        self._emit()

    def _is_unhelped(self, name: str) -> bool:
        """Whether nothing helped the gang as things still stand."""
        return self._state.agenda.unhelped.get(name) == self._state.progress.freed

    def _deal(self, growers: Iterable[Grower]) -> bool:
        """Grow in order; whether the work allowed in this cycle sufficed for every gang."""
        turns = [turn for each in growers for turn in self._turn(each)]
        heapify(turns)
        first = True
        while turns:
            if not self._state.agenda.effort.may_step(first=first):
                return False
            first = False
            name = heappop(turns)[-1]
            grower = self._growers[name]
            for turn in self._turn(grower):
                # Shares have grown since it was ranked: another gang may go first by now.
                if turns and turn > turns[0]:
                    heappush(turns, turn)
                elif self._step(grower):
                    turns += self._turn(grower)
                    heapify(turns)
                elif not grower.added and not self._plan.starts:
                    # What starts now can be moved in the next cycle.
                    self._state.agenda.unhelped[name] = self._state.progress.freed
        return True

    def _turn(self, grower: Grower) -> list[Turn]:
        """Its place in the order of growth; none when it cannot grow any more."""
        record = grower.record
        if record.gang.id in self._moved:
            return []
        if any(unit.record is record for unit, _ in self._taken):
            return []
        if not askers(self._state, record, grower.pods):
            return []
        # Slices differ in size: within a queue that must not come before the priority.
        rank = self._standing.rank(GangRecord(replace(record.gang, pod_sets=()), (), None))
        surplus = len(grower.pods) - sum(each.least for each in record.gang.pod_sets)
        return [(rank, surplus, record.gang.submitted, record.gang.id)]

    def _step(self, grower: Grower) -> bool:
        """One slice more; whether the gang may have another."""
        self._state.journal.blame(grower.record.gang.id)
        wanted = askers(self._state, grower.record, grower.pods)
        for asker in wanted:
            place = self._place(grower, asker)
            if place and self._keeps(grower, asker, place):
                return self._seat(grower, asker, place)
        if wanted and not grower.added and not self._is_unhelped(grower.record.gang.id):
            if self._move(grower, wanted[0]):
                return True
            self._trade(grower, wanted[0])
        return False

    def _place(self, grower: Grower, asker: GangRecord) -> Placement | None:
        if self._state.fleet.totals.free_for(asker.shapes) < asked(asker).gpu_milli:
            return None
        self._state.agenda.effort.spend(LOOK)
        place = place_beside(self._state, grower.record, asker, grower.pods, self._now)
        return place and grower.numbered(place)

    def _seat(self, grower: Grower, asker: GangRecord, place: Placement) -> bool:
        """Take the place; one that others still have to leave is kept free, for a later cycle."""
        shrinking = {pod.node for _, pod in self._gone}
        clear = is_clear(self._state, asker, place, counted=False)
        clear = clear and not any(pod.node in shrinking for pod in place.pods)
        self._tentative.seat(asker, place)
        self._seats.append(place)
        grower.take(place, now=clear)
        self._count(grower)
        return clear

    def _count(self, grower: Grower) -> None:
        """Budgets know what it gets in this round."""
        assert grower.record.placement
        more = grower.pods[len(grower.record.placement.pods) :]
        self._state.holdings.costs.count_growth(grower.record, tuple(more))

    def _keeps(self, grower: Grower, asker: GangRecord, place: Placement) -> bool:
        """Whether no other gang gains a right to what the gang would get.

        A gang that waits may have had such a right before, and found no use for it. A gang that
        grows, too, finds one in these very pods, unless they are more than it asks for.
        """
        record = grower.record
        if not record.gang.preemptible:
            return True
        unit = VictimUnit(record, place.pods, False, 0, CauseKind.RECLAIMED)
        state, allows, now = self._state, self._rules.allows, self._now
        others = [each for each in self._claimants if each.gang.queue != record.gang.queue]
        rivals = [each for each in others if not allows(state, each, unit, now)]
        rivals += [
            each
            for each in self._wishes
            if each.gang.queue != record.gang.queue and asked(each).gpu_milli >= unit.gpu_milli
        ]
        self._tentative.seat(asker, place)
        kept = not any(allows(state, each, unit, now) for each in rivals)
        self._tentative.unseat(asker, place)
        return kept

    def _move(self, grower: Grower, asker: GangRecord) -> bool:
        """Have others go on elsewhere so that the gang can grow by a slice once they have left."""
        state, record = self._state, grower.record
        if not state.config.policy.repack.consolidate or record.gang.spare:
            return False
        gain = asked(asker).gpu_milli * state.config.policy.repack.horizon_ms - self._price(record)
        # The gang must be at work when they have left.
        if record.placed_at == self._now or gain <= 0:
            return False
        if state.fleet.totals.free_for(asker.shapes) < asked(asker).gpu_milli:
            return False
        nodes = nodes_for(state, record, asker, grower.pods)
        fixed = {record.gang.id, *self._moved, *(unit.record.gang.id for unit, _ in self._taken)}
        # A gang that grows now, or has a place kept for it, relies on the nodes that it is on.
        fixed |= {
            name
            for name, each in self._growers.items()
            if each.record.placement and len(each.pods) > len(each.record.placement.pods)
        }
        more = ExtraSlice(asker, gain, nodes, fixed, lambda: self._place(grower, asker))
        found = self._mover.room_beside(more)
        return found is not None and self._carry_out(grower, asker, found)

    def _carry_out(self, grower: Grower, asker: GangRecord, trade: PreemptionPlan) -> bool:
        """Move gangs, unless what becomes free would be taken back from the one that grows."""
        for unit in trade.units:
            self._tentative.take(unit)
        for record, place in trade.moves:
            self._tentative.seat(record, place)
        if not self._keeps(grower, asker, trade.placement):
            for record, place in trade.moves:
                self._tentative.unseat(record, place)
            for unit in reversed(trade.units):
                self._tentative.give_back(unit)
            return False
        self._gone |= {(unit.record.gang.id, pod) for unit in trade.units for pod in unit.pods}
        for record, place in trade.moves:
            self._moved[record.gang.id] = record, place, grower.record
        self._tentative.seat(asker, trade.placement)
        grower.take(trade.placement, now=False)
        self._count(grower)
        return True

    def _trade(self, grower: Grower, asker: GangRecord) -> None:
        """Have others shrink so that the gang can grow by a slice once they have left.

        They give no more than the slice: growth must not leave GPUs idle.
        """
        state, now, most = self._state, self._now, asked(asker).gpu_milli
        if not (self._surplus and state.config.policy.evict.enabled):
            return
        if self._rules.hopeless(state, asker, now):
            return
        taken: list[VictimUnit] = []
        for unit in self._rules.victims(state, asker, now, self._useful(grower)):
            state.agenda.effort.spend(1)
            if unit.gpu_milli > most or not self._rules.allows(state, asker, unit, now):
                continue
            self._tentative.take(unit)
            taken.append(unit)
            most -= unit.gpu_milli
            if self._place(grower, asker):
                self._settle(grower, asker, taken)
                return
        for unit in reversed(taken):
            self._tentative.give_back(unit)

    def _settle(self, grower: Grower, asker: GangRecord, taken: list[VictimUnit]) -> None:
        """Drop victims that are not needed, and keep the place free."""
        kept = list(taken)
        for unit in reversed(taken[:-1]):
            self._tentative.give_back(unit)
            if self._place(grower, asker):
                kept = [each for each in kept if each is not unit]
            else:
                self._tentative.take(unit)
        self._taken += [(unit, grower.record) for unit in kept]
        self._gone |= {(unit.record.gang.id, pod) for unit in kept for pod in unit.pods}
        place = self._place(grower, asker)
        assert place
        self._tentative.seat(asker, place)
        self._seats.append(place)

    def _useful(self, grower: Grower) -> Useful:
        asker = grower.record.gang

        def useful(unit: VictimUnit) -> bool:
            record = unit.record
            name = record.gang.id
            if unit.whole or record is grower.record or record.placed_at == self._now:
                return False
            if record.leaving or record.resized_at == self._now or name in self._moved:
                return False
            if name in self._growers and self._growers[name].added:
                return False
            if any((name, pod) in self._gone for pod in unit.pods):
                return False
            return may_stop(self._state, record, asker, self._now)

        return useful

    def _emit(self) -> None:
        shrunk: dict[str, list[tuple[VictimUnit, GangRecord]]] = {}
        for unit, asker in self._taken:
            shrunk.setdefault(unit.record.gang.id, []).append((unit, asker))
        for taken in shrunk.values():
            first, asker = taken[0]
            gone = {pod for unit, _ in taken for pod in unit.pods}
            assert first.record.placement
            left = [pod for pod in first.record.placement.pods if pod not in gone]
            self._resize(first.record, left, Cause(first.cause, gang=asker.gang.id))
        self._emit_moves()
        for grower in self._growers.values():
            if grower.added and self._pays(grower):
                assert grower.record.placement
                pods = [*grower.record.placement.pods, *grower.added]
                self._resize(grower.record, pods, Cause(CauseKind.GROWN))

    def _emit_moves(self) -> None:
        state, plan = self._state, self._plan
        for record, _, asker in self._moved.values():
            cause, gang = Cause(CauseKind.MOVED, gang=asker.gang.id), record.gang.id
            decide(state, [GangStopping(plan.at, gang, record.attempt, cause)], plan)
            plan.stops.append(Stop(gang, record.attempt, cause))
        for record, place, _ in self._moved.values():
            decide(state, [GangReserved(plan.at, record.gang.id, place)], plan)

    def _pays(self, grower: Grower) -> bool:
        """Whether what a running gang gains is worth that all of it has to start over."""
        record, policy = grower.record, self._state.config.policy
        if record.placed_at == self._now or record.gang.in_place:
            return True
        return gpu_milli(tuple(grower.added)) * policy.repack.horizon_ms >= self._price(record)

    def _price(self, record: GangRecord) -> int:
        """GPU time that a running gang loses when it grows."""
        assert record.placement
        if record.gang.in_place:
            return 0
        return gpu_milli(record.placement.pods) * self._state.config.policy.evict.restart_ms

    def _resize(self, record: GangRecord, pods: list[PodPlacement], cause: Cause) -> None:
        state, plan = self._state, self._plan
        state.journal.blame(record.gang.id)
        order = {each.name: number for number, each in enumerate(record.gang.pod_sets)}
        pods.sort(key=lambda pod: (order[pod.pod_set], pod.index))
        level, domain = common(
            state.fleet.indexes, [state.fleet.tree.rank(pod.node) for pod in pods]
        )
        place = Placement(tuple(pods), level, domain)
        event = GangResized(plan.at, record.gang.id, record.attempt, place, cause)
        decide(state, [event], plan)
        for number, start in enumerate(plan.starts):
            if start.gang.id == record.gang.id:
                plan.starts[number] = Start(start.gang, start.attempt, place)
                return
        plan.resizes.append(Resize(record.gang, record.attempt, place, cause))


def _standing(state: ClusterState, now: int) -> ShareStanding | KaiStanding:
    if state.config.policy.entitlement is Entitlement.KAI:
        return KaiStanding(state, state.deserved)
    return ShareStanding(state, state.deserved, state.queues.past, now)


def _claimants(state: ClusterState) -> Iterator[GangRecord]:
    """Of those that wait in each queue, the one asking for least, and the most important one."""
    by_queue: dict[str, list[GangRecord]] = {}
    for lane in state.gangs.lanes:
        key = lane.head()
        if key and not (lane.reason and lane.reason.never):
            by_queue.setdefault(lane.queue, []).append(state.gangs.records[key[-1]])
    for records in by_queue.values():
        yield min(records, key=lambda each: asked(each).gpu_milli)
        yield max(records, key=lambda each: each.gang.priority)


def _has_surplus(record: GangRecord) -> bool:
    if record.placement is None or not record.gang.preemptible:
        return False
    return len(record.placement.pods) > sum(each.least for each in record.gang.pod_sets)
