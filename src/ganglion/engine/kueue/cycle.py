"""The first gangs of all queues side by side, as Kueue does it.

All heads are nominated as things stood at the beginning; then they are taken in order, and one
that does not fit any more after those before is left for the next cycle. With `heads_only` that is
all; else the next gang of a queue follows the one before. The order is: the gang that borrows
from the nearest queue above first, then priority, then age; or by dominant share, level by
level, as it would be with the gang running.

A cycle that is out of work leaves the rest to the next one. Half of the work goes to nominations,
by priority and age. A gang that has to wait is not looked at again before all others were; the
quota that is kept for it stays kept until then.

Source: the scheduling cycle of Kueue, as documented there.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from ganglion.engine.decisions import give, swap
from ganglion.engine.gangs.pending import Key, PendingClass
from ganglion.engine.gangs.record import SETTLED, GangRecord
from ganglion.engine.kueue.nominate import Nomination, Nominator
from ganglion.engine.preemption.trade import PreemptionPlan
from ganglion.engine.queues.cohort import Borrowing, Cells, usages_of
from ganglion.engine.queues.dominant_share import Dominant
from ganglion.engine.search.quota import unaffordable_at
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.engine.state.effort import postpone
from ganglion.engine.store.queue_rules import rules_for
from ganglion.engine.store.undo import Tentative
from ganglion.engine.store.victims import VictimUnit
from ganglion.model.placement import Placement
from ganglion.model.plan import Phase, Plan
from ganglion.model.policy import Entitlement
from ganglion.model.queue import Victims
from ganglion.model.reasons import Reason, Token
from ganglion.model.workload import Gang

SIDE_BY_SIDE = (Entitlement.QUOTA, Entitlement.DOMINANT)
"""Entitlements under which the queues are looked at in this way."""


RETURNING = -(1 << 62)
"""Rank among gangs of one priority of those whose workload is below its floor."""

_LATER = Reason(Token.ORDER, "it no longer fits after those before it")


class Head(NamedTuple):
    """What was found for the head of a queue: a place, a trade, or a reason to wait."""

    lane: PendingClass
    nomination: Nomination
    placement: Placement | None = None
    trade: PreemptionPlan | None = None
    reason: Reason | None = None


class _First(NamedTuple):
    rank: int
    key: Key
    lane: PendingClass


class _Entry(NamedTuple):
    key: Key
    lane: PendingClass
    nomination: Nomination

    @property
    def queue(self) -> str:
        return self.lane.queue

    @property
    def wants(self) -> Cells:
        return self.nomination.assignment.wants

    @property
    def age(self) -> tuple[int, Key]:
        return -self.lane.priority, self.key


def take_heads(
    state: ClusterState, plan: Plan, wait: Callable[[Head], None], until: str = ""
) -> bool:
    """Decide about the head of every queue.

    Args:
        state: changed by the decisions.
        plan: they are added to it.
        wait: called with every head that has a reason to wait.
        until: id of a gang; heads that come after it are not looked at. Empty = all are.

    Returns:
        Whether another cycle may find something to do as things stand.
    """
    effort, round_ = state.agenda.effort, _Round(state, plan.at)
    effort.changed = effort.changed or effort.freed not in (None, state.progress.freed)
    try:
        for head in round_.heads():
            record, was_shut = head.nomination.record, head.lane.shut_at == state.progress.freed
            if head.trade:
                swap(state, record, head.trade, plan)
            elif head.placement:
                give(state, record, head.placement, plan)
            else:
                wait(head)
            is_shut = head.reason is not None and head.lane.shut_at == state.progress.freed
            effort.changed = effort.changed or head.reason is None or is_shut > was_shut
            if record.gang.id == until:
                break
    finally:
        effort.kept = round_.kept
        round_.give_back()  # before anything is undone
    for lane in round_.left:
        postpone(lane, plan)
    effort.cut, effort.freed = bool(round_.left), state.progress.freed
    return effort.cut or (effort.changed and bool(state.gangs.lanes.open(state.progress.freed)))


def look(state: ClusterState, record: GangRecord, now: int, *, trades: bool = True) -> Head:
    """What would come of a gang if it were the only head now; the state is left as it is.

    Args:
        state: the fleet and the queues.
        record: the gang; it need not be one of the state's own.
        now: the time in ms.
        trades: whether others may be stopped for it.
    """
    round_ = _Round(state, now, trades=trades)
    try:
        return round_.look(record)
    finally:
        round_.give_back()


class _Round:
    def __init__(self, state: ClusterState, now: int, *, trades: bool = True) -> None:
        self._state, self._now, self._effort = state, now, state.agenda.effort
        self._borrowing = Borrowing(state.queues.shares)
        self._nominator = Nominator(state, self._borrowing, now, trades=trades)
        self.kept: dict[str, tuple[Gang, Cells]] = {}
        self.left: list[PendingClass] = []
        self._lanes: dict[str, list[PendingClass]] = {}
        for lane in state.gangs.lanes:
            self._lanes.setdefault(lane.queue, []).append(lane)

    def heads(self) -> Iterator[Head]:
        """The heads of all queues in order, each looked at when those before were carried out."""
        self._state.gangs.lanes.open(self._state.progress.freed)
        entries, first = self._nominated(), True
        self._keep_on()
        while entries:
            if self._effort.is_spent and not first:
                self.left += [entry.lane for entry in entries]
                return
            first = False
            entry = self._next(entries)
            entries.remove(entry)
            self._state.journal.attend(entry.nomination.record.gang.id)
            reason = self._state.gangs.gates.crowded(entry.nomination.record.gang)
            head = self._affordable(entry) if reason is None else self._waits(entry, reason)
            if head is None or head.reason:
                entry.lane.sweep = self._effort.sweep
            if head:
                yield head
            following = None if self._state.config.policy.heads_only else self._first(entry.queue)
            if following and self._effort.is_spent:
                self.left.append(following.lane)
            elif following:
                entries.append(self._entry(following))

    def look(self, record: GangRecord) -> Head:
        """What comes of one gang."""
        lane, gang = PendingClass(record.gang.queue, record.gang.priority), record.gang
        entry = _Entry(
            (0, gang.submitted, gang.index, gang.id), lane, self._nominator.nominate(record)
        )
        reason = self._state.gangs.gates.crowded(gang)
        head = self._affordable(entry) if reason is None else None
        return head or self._waits(entry, reason or _LATER)

    def _affordable(self, entry: _Entry) -> Head | None:
        """As `_look`; what a budget forbids waits."""
        head = self._look(entry)
        place = head and (head.trade.placement if head.trade else head.placement)
        reason = place and unaffordable_at(self._state, entry.nomination.record, place)
        return self._waits(entry, reason) if reason else head

    def give_back(self) -> None:
        """Quota kept for heads that could not start is kept no longer."""
        for gang, kept in self.kept.values():
            self._state.queues.charge(gang, usages_of(kept), -1)

    def _keep_on(self) -> None:
        """Keep what earlier cycles of the sweep have kept for heads that still wait."""
        for name, (gang, kept) in self._effort.kept.items():
            if (
                name in self._state.gangs.records
                and self._state.gangs.records[name].phase is Phase.PENDING
            ):
                self._keep(gang, kept)

    def _keep(self, gang: Gang, kept: Cells) -> None:
        self._state.queues.charge(gang, usages_of(kept), 1)
        self.kept[gang.id] = gang, kept

    def _nominated(self) -> list[_Entry]:
        """The first gangs of all queues, nominated: those that go first where work is short."""
        firsts = [first for queue in sorted(self._lanes) if (first := self._first(queue))]
        entries: list[_Entry] = []
        for first in sorted(firsts, key=lambda each: each[:2]):
            if entries and self._effort.is_half_spent:
                self.left.append(first.lane)
            else:
                entries.append(self._entry(first))
        return sorted(entries, key=lambda each: each.queue)

    def _entry(self, first: "_First") -> _Entry:
        gang = first.key[-1]
        self._state.journal.attend(gang)
        nomination = self._nominator.nominate(self._state.gangs.records[gang])
        return _Entry(first.key, first.lane, nomination)

    def _first(self, queue: str) -> "_First | None":
        """The first gang of a queue; None where there is none, or it was looked at already."""
        found = [_First(-lane.priority, key, lane) for lane, key in self._waiting(queue)]
        first = min(found, key=lambda each: each[:2], default=None)
        return first if first and first.lane.sweep != self._effort.sweep else None

    def _waiting(self, queue: str) -> Iterator[tuple[PendingClass, Key]]:
        """Lanes of a queue with a head; unless the queue is strict, those worth a look."""
        strict = self._state.queues.by_name[queue].strict
        strict = self._state.config.policy.strict if strict is None else strict
        for lane in self._lanes[queue]:
            key = lane.head()
            if key and (strict or self._is_open(lane)):
                yield lane, self._returning(key)

    def _returning(self, key: Key) -> Key:
        """Gangs of workloads below their floor go before all others of their priority."""
        if self._state.gangs.floors.is_short(self._state.gangs.records[key[-1]]):
            return (RETURNING, *key[1:])
        return key

    def _is_open(self, lane: PendingClass) -> bool:
        return lane.shut_at != self._state.progress.freed and lane.sweep != self._effort.sweep

    def _next(self, entries: list[_Entry]) -> _Entry:
        if self._state.config.policy.entitlement is Entitlement.DOMINANT:
            root = self._borrowing.root(entries[0].queue)
            by_queue = {entry.queue: entry for entry in entries}
            return (
                self._winner(root, by_queue, Dominant(self._state.queues.shares, self._borrowing))
                or entries[0]
            )
        return min(entries, key=lambda each: (each.nomination.assignment.quality.level, each.age))

    def _winner(self, queue: str, entries: dict[str, _Entry], dominant: Dominant) -> _Entry | None:
        """Of what each queue below would start, the one that leaves it with the smallest share."""
        below = self._borrowing.children(queue)
        if not below:
            return entries.get(queue)
        found = [
            (child, entry) for child in below if (entry := self._winner(child, entries, dominant))
        ]
        ranked = (
            (self._standing(child, entry, dominant), entry.age, entry) for child, entry in found
        )
        return min(ranked, key=lambda each: each[:2], default=(None, None, None))[2]

    def _standing(self, queue: str, entry: _Entry, dominant: Dominant) -> tuple[object, ...]:
        gang, charged = entry.nomination.record.gang, usages_of(entry.wants)
        self._state.queues.charge(gang, charged, 1)
        found = dominant.borrows(queue, frozenset(entry.wants)), dominant.share(queue)
        self._state.queues.charge(gang, charged, -1)
        return found

    def _look(self, entry: _Entry) -> Head | None:
        """Carry a nomination out if it still holds; None = look again in the next cycle."""
        nomination = self._current(entry.nomination)
        if nomination.reason:
            if nomination.waits_for_room:
                self._keep_for(nomination)
            return self._waits(entry, nomination.reason)
        if not self._nominator.fits_quota(nomination):
            return None
        if nomination.victims:
            trade = self._trade(nomination)
            return trade and Head(entry.lane, nomination, trade=trade)
        placement = self._nominator.place(nomination)
        if placement is None:
            return None
        refused = self._refused(nomination, placement)
        if refused:
            return self._waits(entry, refused)
        return Head(entry.lane, nomination, placement=placement)

    def _waits(self, entry: _Entry, reason: Reason) -> Head:
        return Head(entry.lane, entry.nomination, reason=reason)

    def _current(self, nomination: Nomination) -> Nomination:
        """The nomination, worked out anew where its place or a victim is gone."""
        victims = [record for record, _ in nomination.victims]
        gone = any(record.phase not in SETTLED for record in victims)
        stale = (
            gone
            or not self._state.gangs.floors.spare_all(victims)
            or (
                nomination.able
                and not nomination.victims
                and self._nominator.fits_quota(nomination)
                and self._nominator.place(nomination) is None
            )
        )
        if not stale:
            return nomination
        return self._nominator.nominate(nomination.record, nomination.assignment)

    def _trade(self, nomination: Nomination) -> PreemptionPlan | None:
        tentative = Tentative(self._state)
        units = []
        try:
            for record, cause in nomination.victims:
                assert record.placement
                unit = VictimUnit(record, record.placement.pods, True, 0, cause)
                tentative.take(unit)
                units.append(unit)
            placement = self._nominator.place_tentatively(nomination)
        finally:
            tentative.undo()
        if placement is None:
            return None
        worst = max(record.gang.priority for record, _ in nomination.victims)
        return PreemptionPlan(placement, tuple(units), (), ((worst,), 0, len(units), len(units), 0))

    def _keep_for(self, nomination: Nomination) -> None:
        """Keep quota for the rest of the cycle, unless the queue can take it back any time."""
        queue = nomination.record.gang.queue
        if rules_for(self._state, queue).reclaim is Victims.ANY:
            return
        kept = {}
        for cell, amount in nomination.assignment.wants.items():
            flavor, kind = cell
            used, most = self._borrowing.used(queue, cell), self._borrowing.owned(queue, cell)
            if nomination.assignment.quality.level:
                limit = self._state.queues.by_name[queue].limit.get(flavor)
                bound = getattr(limit, kind) if limit else None
                most = used + amount if bound is None else bound
            kept[cell] = max(0, min(amount, most - used))
        self._keep(nomination.record.gang, kept)

    def _refused(self, nomination: Nomination, placement: Placement) -> Reason | None:
        for plugin in self._state.config.plugins.permits:
            reason = plugin.permit(nomination.record.gang, placement, self._now)
            if reason:
                return reason
        return None
