"""Who may take from whom where queues are compared by share, as we do it and as KAI does.

Preempt: within a queue, from gangs of lower priority. Reclaim: across queues, when the asking
queue stays within its share and the other one, at the level where the two part, is above its
own; or when the asker stays within its quota there and the other is above its quota.

Source: the semantics of KAI-Scheduler's reclaim and preempt actions, as documented there.
"""

from collections.abc import Collection, Hashable, Iterator
from functools import partial

from ganglion.engine.gangs import preemption_cost
from ganglion.engine.gangs.record import SETTLED, GangRecord
from ganglion.engine.preemption_rules.fair_reclaim import FairReclaim
from ganglion.engine.preemption_rules.sides import (
    QueueBranch,
    VictimView,
    branch_of,
    highest,
    outranks,
    view_of,
)
from ganglion.engine.preemption_rules.units import Running, units_of
from ganglion.engine.preemption_rules.victim_order import Key, by_price, in_turn, unit_key
from ganglion.engine.search.quota import asked
from ganglion.engine.store.entitlement import KINDS, Entitled
from ganglion.engine.store.queue_rules import protected_ms, rules_for
from ganglion.engine.store.store import Store
from ganglion.engine.store.victims import Grade, Useful, VictimUnit
from ganglion.model.causes import CauseKind
from ganglion.model.placement import PodPlacement
from ganglion.model.policy import Entitlement, VictimOrder
from ganglion.model.queue import Victims
from ganglion.model.reasons import Reason, Token
from ganglion.model.resources import Usage, decimal
from ganglion.model.workload import SPARE, Kind


class ShareRules:
    """Rules for the entitlements `share` and `kai`.

    What queues deserve is worked out once per cycle: stopping and starting changes what
    gangs hold, not what was asked for.
    """

    def __init__(self) -> None:
        self._made: tuple[int, int] = (-1, -1)
        self._known: tuple[Entitled, Running] | None = None
        self._search: _Search | None = None

    def hopeless(self, state: Store, asker: GangRecord, now: int) -> Reason | None:
        """Why no gang may be stopped for this one, by arithmetic alone; None = perhaps."""
        search = self._searching(state, asker, now)
        if search.waits:
            return Reason(Token.POLICY, "it may not preempt others yet")
        wanted = search.more.gpu_milli
        free = sum(state.fleet.totals.free_gpu(flavor) for flavor in search.flavors)
        takeable = search.takeable()
        by_gpus_alone = wanted and not any(each.request.extras for each in asker.shapes)
        if free + takeable >= wanted and (takeable or not by_gpus_alone):
            return None
        return Reason(
            Token.QUOTA,
            f"it needs {decimal(wanted)} GPUs; {decimal(free)} are free and gangs that may be"
            f" stopped for it hold {decimal(takeable)}",
            evidence={"asked_milli": wanted, "free_milli": free, "takeable_milli": takeable},
        )

    def allows(
        self,
        state: Store,
        asker: GangRecord,
        unit: VictimUnit,
        now: int,
        gets: Collection[str] = (),
    ) -> bool:
        """Whether a unit may still be taken as usage stands now, just before it is."""
        return self._searching(state, asker, now).may_take(unit, gets)

    def may_any(self, state: Store, asker: GangRecord, now: int) -> bool:
        """Whether `allows` may be true of any unit as usage stands; see `VictimRules`."""
        return self._searching(state, asker, now).may_any()

    def top(self, state: Store, asker: GangRecord, queue: str, now: int) -> int:
        """The highest priority of what might be taken of a queue as usage stands."""
        return self._searching(state, asker, now).top(queue)

    def victims(
        self, state: Store, asker: GangRecord, now: int, useful: Useful
    ) -> Iterator[VictimUnit]:
        """Units in the order in which they are to be taken; see `Rules`.

        Where the price decides, those that may not be taken yet come last: `allows` says
        whether they may by the time they are.
        """
        search = self._searching(state, asker, now)
        pools = {} if search.waits else search.pools(useful)
        if search.is_fluid:
            return in_turn(pools, search.may_take, search.key, only_ready=search.in_order)
        return by_price(pools, search.may_take, search.key, search.alike)

    def next_ripe(self, state: Store, asker: GangRecord, now: int) -> int | None:
        """When a gang has run long enough to be stopped for this one's share; None = unknown."""
        search = self._searching(state, asker, now)
        return None if search.waits else search.next_ripe()

    def _searching(self, state: Store, asker: GangRecord, now: int) -> "_Search":
        if self._known is None or self._made != (now, len(state.gangs.records)):
            self._made, self._search = (now, len(state.gangs.records)), None
            entitled = Entitled(state, state.config.policy.evict.dead_zone_permille)
            self._known = entitled, Running(state)
        if self._search is None or self._search.asker is not asker:
            self._search = _Search(state, asker, now, *self._known)
        return self._search


class _Search:
    """One asker's look at who runs."""

    def __init__(
        self, state: Store, asker: GangRecord, now: int, entitled: Entitled, running: Running
    ) -> None:
        policy, gang = state.config.policy, asker.gang
        self.state, self.asker, self.now = state, asker, now
        self.entitled, self.running = entitled, running
        self.rights = rules_for(state, gang.queue)
        self.flavors = state.fleet.totals.flavors_for(asker.shapes)
        self.more = asked(asker)
        delay = self.rights.delay_ms
        self.waits = delay > 0 and now - gang.submitted < delay
        self.in_order = policy.evict.victims in (VictimOrder.NEWEST, VictimOrder.YOUNGEST)
        self._kinds = [kind for kind in KINDS if getattr(self.more, kind)]
        self._by_queue = policy.entitlement is Entitlement.KAI
        self._fair = FairReclaim(state, entitled, gang.queue, self.more, now)
        self.is_fluid = self.in_order or self._by_queue
        self._unit_key = partial(unit_key, policy.evict.victims)
        self._outranks, self._highest = partial(outranks, gang), partial(highest, gang)
        self._protected: dict[tuple[str, Kind], int] = {}
        self._views: dict[str, tuple[tuple[PodPlacement, ...], VictimView]] = {}
        self._branches: dict[str, QueueBranch] = {}
        self._grades: dict[str, Grade] = {}
        # Verdicts on units while no use changed, by what the units have in common.
        self._judged: tuple[int, dict[Hashable, bool]] = (-1, {})

    def pools(self, useful: Useful) -> dict[str, list[VictimUnit]]:
        """Everything that might be taken, by queue; the first to be taken last."""
        pools: dict[str, list[VictimUnit]] = {}
        known: dict[Hashable, CauseKind] = {}
        for record in self._candidates():
            cause = self._cause(record, known)
            whole = not self._is_safe(record)
            whole = whole and not (cause is CauseKind.SHARED and self._fair.is_unripe(record))
            grade = (*self._grade_of(record), record.gang.priority)
            units = units_of(record, cause, self._price, useful, whole=whole, grade=grade)
            pools.setdefault(record.gang.queue, []).extend(units)
        for units_here in pools.values():
            units_here.sort(key=self._unit_key, reverse=True)
        return {queue: units_here for queue, units_here in pools.items() if units_here}

    def may_any(self) -> bool:
        """Whether a gang of any queue may be taken, by what the queues hold as things stand."""
        return self.is_fluid or any(map(self._may_from, self.running.by_queue))

    def _may_from(self, queue: str) -> bool:
        branch, fair = self._branch(queue), self._fair
        if not branch.mine:
            return self.running.reaches(queue, self._highest(self.rights.preempt))
        if self.running.reaches(queue, SPARE):
            return True
        return any(
            fair.is_guaranteed(*branch, flavor, self._kinds) or fair.is_owed(*branch, flavor)
            for flavor in self.flavors
        )

    def _cause(self, record: GangRecord, known: dict[Hashable, CauseKind]) -> CauseKind:
        """Why a gang might be taken as things stand; `known` holds the causes of others."""
        if record.gang.spare:
            return CauseKind.CLEARED
        branch = self._branch(record.gang.queue)
        if not branch.mine:
            return CauseKind.PREEMPTED
        if self._by_queue:
            return CauseKind.RECLAIMED
        view = self._view(record, record.placement.pods if record.placement else ())
        alike = (branch, view)
        cause = known.get(alike)
        if cause is None:
            by_quota = any(self._is_guaranteed(branch, view, each) for each in view.flavors)
            cause = known[alike] = CauseKind.RECLAIMED if by_quota else CauseKind.SHARED
        return cause

    def _grade_of(self, record: GangRecord) -> Grade:
        """How a gang's queue compares: others before the own, those above their share first.

        Spare ones go before all of them.
        """
        if record.gang.spare:
            return (-1,)
        branch, queue = self._branch(record.gang.queue), record.gang.queue
        if not branch.mine:
            return (1,)
        found = self._grades.get(queue)
        if found is None:
            names = dict.fromkeys((branch.theirs, queue))
            found = (0, *(part for name in names for part in self._standing(name)))
            self._grades[queue] = found
        return found

    def takeable(self) -> int:
        """Thousandths of GPUs that could be taken in the best case."""
        own = self.running.milli(self.asker.gang.queue, self._highest(self.rights.preempt))
        # Lower classes of the own queue may leave first, and so make room in its share.
        least = max(self.more.gpu_milli - own, 0)
        # A queue may pass its share by as much as it lacks of it: half of what is asked counts.
        more = Usage(least if self._by_queue else -(-least // 2))
        within, queue = self.entitled.within_share, self.asker.gang.queue
        claim = any(within(queue, flavor, more) for flavor in self.flavors)
        found = 0
        for queue in self.running.by_queue:
            top = SPARE
            if claim or queue == self.asker.gang.queue:
                top = max(map(self._highest, self._rules(queue)))
            found += self.running.milli(queue, top)
        return found

    def may_take(self, unit: VictimUnit, gets: Collection[str] = ()) -> bool:
        """Whether a unit may be taken as things stand.

        A gang that lies in several flavors is taken only for a claim to a flavor that the asker
        gets: for another one's sake its queue could take it back in turn.
        """
        branch = self._branch(unit.record.gang.queue)
        if unit.record.gang.spare:
            return not self.asker.gang.spare
        if not branch.mine:
            return self._outranks(unit.record, self.rights.preempt)
        version = self.state.queues.shares.version
        if self._judged[0] != version:
            self._judged = version, {}
        unripe = unit.whole and self._fair.is_unripe(unit.record)
        view, known = self._view(unit.record, unit.pods), self._judged[1]
        flavors = view.flavors
        alike: Hashable = (self._alike(unit, view), unripe)
        if len(flavors) > 1:
            flavors = tuple([each for each in flavors if each in gets]) or flavors
            alike = (unit.key, *flavors)
        found = known.get(alike)
        if found is None:
            found = any(self._may_reclaim(branch, unit, view, each) for each in flavors)
            known[alike] = found
        return found

    def top(self, queue: str) -> int:
        """The highest priority of what might be taken of a queue: spare gangs always may."""
        branch, ours = self._branch(queue), self.entitled
        is_open = not branch.mine or any(
            ours.over_quota(branch.theirs, flavor, KINDS)
            or ours.over_share(branch.theirs, flavor, KINDS)
            for flavor in self.flavors
        )
        return max(map(self._highest, self._rules(queue))) if is_open else SPARE

    def next_ripe(self) -> int | None:
        """When a gang that is too young may be stopped for a share, in ms; None = none is."""
        if self._by_queue or not any(map(self._is_entitled, self.flavors)):
            return None
        others = tuple(queue for queue in self.running.by_queue if self._branch(queue).mine)
        return self.running.first_ripe(others, self._fair.next_ripe)

    def alike(self, unit: VictimUnit) -> Hashable:
        """Units of which this is equal may all be taken, or none, but for their ages."""
        return self._alike(unit, self._view(unit.record, unit.pods))

    def _alike(self, unit: VictimUnit, view: VictimView) -> Hashable:
        gang = unit.record.gang
        newer = gang.submitted > self.asker.gang.submitted
        return gang.queue, gang.priority, newer, view, unit.whole

    def key(self, unit: VictimUnit) -> Key:
        """Order of units of different queues: others' before the own queue's."""
        own = 0 if self._branch(unit.record.gang.queue).mine else 1
        own = -1 if unit.record.gang.spare else own
        queue = unit.record.gang.queue
        if self._by_queue:
            return (own, *self._last_in_order(queue), *self._unit_key(unit))
        return (own, *self._unit_key(unit), -self.state.queues.shares.tree.order[queue])

    def _candidates(self) -> Iterator[GangRecord]:
        for queue, records in self.running.by_queue.items():
            rules, outranks = self._rules(queue), self._outranks
            for record in records:
                if record.phase in SETTLED and any(outranks(record, each) for each in rules):
                    yield record

    def _rules(self, queue: str) -> tuple[Victims, ...]:
        """The rules by which gangs of a queue may be taken."""
        rights = self.rights
        own = queue == self.asker.gang.queue
        return (rights.preempt,) if own else (rights.reclaim, rights.borrowing)

    def _is_safe(self, record: GangRecord) -> bool:
        """Whether it runs for so short a time that it may be shrunk but not stopped."""
        since, gang = record.started or record.placed_at, record.gang
        if gang.spare:
            return False
        key = (gang.queue, gang.kind)
        least = self._protected.get(key)
        if least is None:
            least = self._protected[key] = protected_ms(self.state, gang)
        return self.now - since < least

    def _branch(self, queue: str) -> QueueBranch:
        found = self._branches.get(queue)
        if found is None:
            found = branch_of(self.state, self.asker.gang.queue, queue)
            self._branches[queue] = found
        return found

    def _may_reclaim(
        self, branch: QueueBranch, unit: VictimUnit, view: VictimView, flavor: str
    ) -> bool:
        if self._by_queue:
            return self._may_reclaim_as_kai(branch, unit, view, flavor)
        fair, record = self._fair, unit.record
        if self._is_guaranteed(branch, view, flavor):
            return self._outranks(record, self.rights.reclaim)
        if unit.whole and fair.is_unripe(record):
            return False
        owed = self._has_right(record, flavor) and fair.is_owed(*branch, flavor)
        return owed and fair.improves(unit, flavor)

    def _is_guaranteed(self, branch: QueueBranch, view: VictimView, flavor: str) -> bool:
        return self._fair.is_guaranteed(*branch, flavor, view.kinds)

    def _may_reclaim_as_kai(
        self, branch: QueueBranch, unit: VictimUnit, view: VictimView, flavor: str
    ) -> bool:
        ours, more = self.entitled, self.more
        if not self._is_entitled(flavor) or not self._has_right(unit.record, flavor):
            return False
        if ours.within_quota(branch.mine, flavor, more) and ours.over_quota(
            branch.theirs, flavor, view.kinds
        ):
            return True
        within = ours.within_share(branch.mine, flavor, more, relief=self.asker.gang.queue)
        return within and ours.over_share(branch.theirs, flavor, view.kinds)

    def _has_right(self, record: GangRecord, flavor: str) -> bool:
        """Whether the queue's settings let it take this gang back."""
        if self.entitled.within_quota(self.asker.gang.queue, flavor, self.more):
            return self._outranks(record, self.rights.reclaim)
        most = self.rights.threshold
        low = most is None or record.gang.priority <= most
        return low and self._outranks(record, self.rights.borrowing)

    def _is_entitled(self, flavor: str) -> bool:
        """Whether the asker's own queue deserves that much."""
        if not self._by_queue:
            return self._fair.may_have(self.asker.gang.queue, flavor)
        return self.entitled.within_share(self.asker.gang.queue, flavor, self.more)

    def _view(self, record: GangRecord, pods: tuple[PodPlacement, ...]) -> VictimView:
        """What pods of a gang are for the asker."""
        known = self._views.get(record.gang.id)
        if not known or known[0] is not pods:
            known = pods, view_of(self.state, record, pods, self.flavors, self._kinds)
            self._views[record.gang.id] = known
        return known[1]

    def _last_in_order(self, queue: str) -> Key:
        """KAI's order of queues, turned round, level by level from the top."""
        path = self.state.queues.shares.path(queue)[::-1]
        return tuple(part for name in path for part in self._queue_key(name))

    def _queue_key(self, name: str) -> Key:
        used, share = self.entitled.of_share(name, self.flavors)
        part = used * 1_000_000 // max(share, 1)
        return (*self._standing(name), -part, -self.state.queues.shares.tree.order[name])

    def _standing(self, name: str) -> Key:
        """Above its share first; as KAI does, then above quota, by priority, without share."""
        ours, flavors = self.entitled, self.flavors
        over_share = any(ours.over_share(name, flavor, KINDS) for flavor in flavors)
        if not self._by_queue:
            return (-over_share,)
        over_quota = any(ours.over_quota(name, flavor, KINDS) for flavor in flavors)
        used, share = ours.of_share(name, flavors)
        priority = self.state.queues.by_name[name].priority
        return (-over_share, -over_quota, priority, -(used > 0 and share == 0))

    def _price(self, record: GangRecord, pods: tuple[PodPlacement, ...], whole: bool) -> int:
        restart = self.state.config.policy.evict.restart_ms
        if whole:
            return preemption_cost.of_victim(record, self.now, restart)
        return preemption_cost.of_surplus(pods, restart)
