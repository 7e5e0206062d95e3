"""The cycle: events and the time in, a plan with reasons out."""

from collections.abc import Hashable, Iterable
from typing import NamedTuple

from ganglion.engine.decisions import decide, give, keep_promises, swap
from ganglion.engine.gangs.pending import PendingClass
from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.kueue.cycle import SIDE_BY_SIDE, Head, take_heads
from ganglion.engine.ordering.attempt import PlacementAttempt, seek
from ganglion.engine.ordering.claims import new_claims, overtaken
from ganglion.engine.ordering.order import BEHIND, GangOrder
from ganglion.engine.search.find import Found, is_short
from ganglion.engine.search.quota import asked
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.engine.state.effort import postpone
from ganglion.engine.state.isolation import Isolation
from ganglion.engine.store.queue_rules import rules_for
from ganglion.engine.upkeep.defragment import empty_nodes
from ganglion.engine.upkeep.drain import clear
from ganglion.engine.upkeep.grow import grow
from ganglion.engine.upkeep.replace_pods import mend
from ganglion.engine.upkeep.shrink import trim
from ganglion.engine.upkeep.standby_recall import keep, wake
from ganglion.model.events import Event, TypicalPods
from ganglion.model.plan import Plan, Wait
from ganglion.model.queue import Victims
from ganglion.model.reasons import Reason, Token

DIAGNOSES = 64
"""Reasons found out anew in one cycle; gangs further down keep the one they have."""


def cycle(
    state: ClusterState,
    events: Iterable[Event],
    now: int,
    *,
    isolate: bool = False,
    until: str = "",
) -> Plan:
    """Take events in, then start every gang that may start, in order.

    Args:
        state: changed by the events and by the decisions.
        events: what happened since the last cycle, oldest first.
        now: the time in ms.
        isolate: undo whatever raises, set the gang or event apart that it was about, and go
            on; else it is raised.
        until: id of a gang; those that come after it are not looked at. Empty = all are.

    Returns:
        The plan. An event that makes no sense is set apart in `plan.rejected` and stops
        nothing else.
    """
    plan = Plan(at=now)
    isolation = Isolation(state, plan, active=isolate)
    stage = isolation.stage
    isolation.take_in(events)
    state.gangs.floors.open()
    state.agenda.effort.begin()
    state.agenda.again_at = None
    stage("settling", state.fleet.settle)
    stage("budgets", lambda: state.progress.changed(state.queues.budgets.renew(now)))
    stage("waking", lambda: decide(state, state.gangs.wake(now), plan))
    stage("time-sharing", lambda: state.gangs.sharers.refresh(now))
    stage("shares", lambda: state.deserved.refresh(now))
    stage("learning", lambda: _learn(state, plan))
    stage("promises", lambda: keep_promises(state, plan))
    stage("recalls", lambda: wake(state, plan))
    stage("reservations", lambda: decide(state, state.timeline.future.renew(now), plan))
    stage("trimming", lambda: trim(state, plan))
    stage("repair", lambda: mend(state, plan))
    stage("clearing", lambda: clear(state, plan))
    stage("standby", lambda: keep(state, plan, before_others=True))
    stage("turns", lambda: _take_turns(state, plan, until))
    stage("standby", lambda: keep(state, plan, before_others=False))
    stage("growth", lambda: grow(state, plan))
    stage("forecasts", lambda: _foretell(state, plan))
    stage("emptying", lambda: empty_nodes(state, plan))
    stage("time-sharing", lambda: state.gangs.sharers.arm(now))
    if isolation.unfinished:
        state.agenda.again_at = now + 1
    return plan


def _take_turns(state: ClusterState, plan: Plan, until: str) -> None:
    """Look at everything that waits and may start."""
    new_claims(state, plan.at)
    if state.config.policy.entitlement not in SIDE_BY_SIDE:
        _Round(state, plan).run(until)
    elif take_heads(state, plan, lambda head: _shut(state, head, plan), until):
        state.agenda.again_at = plan.at + 1


class _Round:
    """One look at everything that waits and may start."""

    def __init__(self, state: ClusterState, plan: Plan) -> None:
        self._state, self._plan, self._effort = state, plan, state.agenda.effort
        self._dealer = PlacementAttempt(state, plan.at)
        self._turns = GangOrder(state, plan.at)
        self._diagnoses = 0
        self._failed: dict[Hashable, _Failure] = {}

    def run(self, until: str) -> None:
        """Decide about one gang after the other, in order."""
        again = False
        while not self._effort.is_spent and (record := self._turns.next()):
            lane = self._turns.lane()
            self._state.journal.attend(record.gang.id)
            if lane.sweep == self._effort.sweep:
                self._repeat(record)
                again = True
            else:
                self._decide(record)
            self._state.journal.attend("")
            if record.gang.id == until or (
                until in lane and lane.shut_at == self._state.progress.freed
            ):
                return
        for lane in self._turns.rest():
            postpone(lane, self._plan)
            self._effort.cut = True
        for lane in self._turns.behind:
            if lane.reason is BEHIND and (key := lane.head()):
                self._plan.waits.append(Wait(lane.queue, key[-1], len(lane), BEHIND))
        if self._effort.cut or again:
            self._state.agenda.again_at = self._plan.at + 1
        overtaken(self._state, self._plan.starts)

    def _repeat(self, record: GangRecord) -> None:
        """Give a gang that failed in this sweep what is free by now; others come before trades."""
        state, before = self._state, self._effort.used
        free = state.fleet.totals.free_for(record.shapes) >= asked(record).gpu_milli
        placement = self._search(record)[1] if free and self._effort.may_repeat else None
        if placement:
            give(state, record, placement, self._plan, lambda: self._search(record)[1])
            self._turns.started()
        else:
            postpone(self._turns.lane(), self._plan)
            self._turns.block(final=False)
        self._effort.repeated(self._effort.used - before)

    def _decide(self, record: GangRecord) -> None:
        state, plan, turns = self._state, self._plan, self._turns
        vetoes = state.agenda.vetoes
        known = self._known_failure(record)
        reason, placement = (known, None) if known else self._search(record)
        if placement:
            give(state, record, placement, plan, lambda: self._search(record)[1])
            turns.started()
        elif trade := None if known else self._dealer.deal(record, reason):
            swap(state, record, trade, plan)
            turns.traded()
        else:
            assert reason
            reason = known or self._dealer.proven(reason)
            if known is None:
                self._look_again(record)
            patient = record.gang.submitted + rules_for(state, record.gang.queue).delay_ms
            if plan.at < patient:
                state.gangs.alarm(patient, record.gang.id)
            due = self._reserve(record, reason)
            undecided = known is None and self._dealer.is_undecided(record, plan.starts)
            ask_again = undecided or state.agenda.vetoes != vetoes
            if not ask_again and plan.at >= patient and self._lasts(record, reason):
                self._failed[_all_but_level(record)] = self._failure(reason)
            turns.lane().sweep = self._effort.sweep
            _keep_waiting(state, turns.lane(), record, reason, plan, ask_again=ask_again)
            turns.block(final=reason.never)
            for gang in due:
                turns.again(gang)

    def _reserve(self, record: GangRecord, reason: Reason) -> list[str]:
        """Reserve for a gang that is blocked.

        Returns:
            Gangs whose reservations begin now. One that was refused for the sake of a
            reservation can start now where its holder has started elsewhere since.
        """
        state, plan, due = self._state, self._plan, []
        for event in state.timeline.future.plan(record, reason, plan.at):
            decide(state, [event], plan)
            if event.placement and event.start_ms <= plan.at:
                due.append(event.gang)
        return due

    def _look_again(self, record: GangRecord) -> None:
        """Set alarms for when more is possible for a gang that fails now."""
        for at in (self._dealer.wait_until, self._dealer.next_ripe(record)):
            if at:
                self._state.gangs.alarm(at, record.gang.id)

    def _known_failure(self, record: GangRecord) -> Reason | None:
        """Why a gang fails that may do less than an equal that just failed; None = unknown.

        Gangs at higher levels of service may stop fewer others.
        """
        known = self._failed.get(_all_but_level(record))
        if known is None or self._state.timeline.future.reservation(record.gang.id):
            return None
        now = self._failure(known.reason)
        return known.reason if now.level >= known.level and now.changes == known.changes else None

    def _lasts(self, record: GangRecord, reason: Reason) -> bool:
        """Whether equals at higher levels fail for the same reason, whatever their age and name."""
        state, rights = self._state, rules_for(self._state, record.gang.queue)
        by_age = Victims.LOWER_OR_NEWER in (rights.preempt, rights.reclaim, rights.borrowing)
        by_name = bool(state.config.plugins.preempts) or self._dealer.wait_until is not None
        return _is_about_room(reason) and not by_age and not by_name

    def _failure(self, reason: Reason) -> "_Failure":
        changes = (self._state.progress.freed, len(self._plan.starts))
        return _Failure(self._turns.lane().level, changes, reason)

    def _search(self, record: GangRecord) -> Found:
        """A place that neither quota nor reservations forbid, or the reason against any."""
        state, now, lane = self._state, self._plan.at, self._turns.lane()
        known = lane.reason if self._diagnoses >= DIAGNOSES else None
        if not _is_about_room(known):
            known = None
        found = seek(state, record, now, known)
        if found[1] is None:
            self._effort.spend_in_vain(
                0 if is_short(state, record) else len(state.fleet.tree.nodes)
            )
        self._diagnoses += found[0] is not known
        return found


class _Failure(NamedTuple):
    """A gang found no place, at a level of service, and what had changed until then."""

    level: int
    changes: tuple[int, int]
    reason: Reason


def _all_but_level(record: GangRecord) -> Hashable:
    """What gangs that share time have in common with those at other levels."""
    assert isinstance(record.lane, tuple)
    return (*record.lane[:-2], record.lane[-1])


def _shut(state: ClusterState, head: Head, plan: Plan) -> None:
    record, reason = head.nomination.record, head.reason
    assert reason
    decide(state, state.timeline.future.plan(record, reason, plan.at), plan)
    ask_again = bool(state.config.plugins.permits)
    _keep_waiting(state, head.lane, record, reason, plan, ask_again=ask_again)


def _learn(state: ClusterState, plan: Plan) -> None:
    pods = state.gangs.census.due()
    if pods is not None:
        decide(state, [TypicalPods(plan.at, pods, learnt=True)], plan)


def _is_about_room(reason: Reason | None) -> bool:
    return reason is not None and reason.token in (Token.CAPACITY, Token.TOPOLOGY)


def _foretell(state: ClusterState, plan: Plan) -> None:
    """Predict the starts of the gangs that have just begun to wait."""
    decide(
        state,
        state.forecast.bands.tell(state.gangs.fresh, plan.at, state.timeline.future.reservation),
        plan,
    )
    state.gangs.fresh.clear()


def _keep_waiting(
    state: ClusterState,
    lane: PendingClass,
    record: GangRecord,
    reason: Reason,
    plan: Plan,
    *,
    ask_again: bool,
) -> None:
    """None of the lane can start before something changes; say so once."""
    if reason != lane.reason:
        plan.waits.append(Wait(lane.queue, record.gang.id, len(lane), reason))
    # A Permit plugin may change its mind with the time alone, so one that refused is asked in
    # every cycle.
    if ask_again:
        lane.reason = reason
    else:
        state.gangs.lanes.shut(record.gang.id, reason)
