"""The cycle: events and the time in, a plan with reasons out."""

from collections.abc import Iterable

from ganglion.engine.evict import Trader
from ganglion.engine.find import find
from ganglion.engine.lanes import Lane
from ganglion.engine.order import Turns
from ganglion.engine.promise import is_clear
from ganglion.engine.record import GangRecord
from ganglion.engine.rules import rules_for
from ganglion.engine.state import ClusterState
from ganglion.engine.swap import swap
from ganglion.model.errors import GanglionError
from ganglion.model.events import Event, GangPlaced, GangReserved, TypicalPods
from ganglion.model.placement import Placement
from ganglion.model.plan import Phase, Plan, Rejection, Start, Wait
from ganglion.model.reasons import Reason, Token

DIAGNOSES = 64
"""Reasons found out anew in one cycle; gangs further down keep the one they have."""


def cycle(state: ClusterState, events: Iterable[Event], now: int) -> Plan:
    """Take events in, then start every gang that may start, in order.

    Args:
        state: changed by the events and by the decisions.
        events: what happened since the last cycle, oldest first.
        now: the time in ms.

    Returns:
        The plan. An event that makes no sense is set apart in `plan.rejected` and stops
        nothing else.
    """
    plan = Plan(at=now)
    _take_in(state, events, plan)
    state.settle()
    state.wake(now)
    state.deserved.refresh(now)
    _learn(state, plan)
    _keep_promises(state, plan)
    turns = Turns(state, now)
    trader = Trader(state, rules_for(state.policy), now)
    diagnoses = 0
    while record := turns.next():
        lane = turns.lane()
        known = lane.reason if diagnoses >= DIAGNOSES else None
        reason, placement = find(state, record, now, known if _is_about_room(known) else None)
        if placement:
            _give(state, record, placement, plan)
            turns.started()
        elif trade := trader.trade(record):
            swap(state, record, trade, plan)
            turns.traded()
        else:
            diagnoses += reason is not known
            _keep_waiting(state, lane, record, reason, plan)
            turns.block(final=reason is not None and reason.never)
    return plan


def _keep_promises(state: ClusterState, plan: Plan) -> None:
    """Start the gangs whose promised places nobody has to leave any more."""
    for gang in list(state.promised):
        record = state.records[gang]
        place = record.promise
        if (
            record.phase is Phase.RESERVED
            and place
            and is_clear(state, record, place, counted=True)
        ):
            _start(state, record, place, plan)


def _give(state: ClusterState, record: GangRecord, placement: Placement, plan: Plan) -> None:
    """Start a gang, or promise it the place while others still have to leave it."""
    if is_clear(state, record, placement, counted=False):
        _start(state, record, placement, plan)
    else:
        event = GangReserved(plan.at, record.gang.id, placement)
        state.apply(event)
        plan.decisions.append(event)


def _learn(state: ClusterState, plan: Plan) -> None:
    pods = state.census.due()
    if pods is not None:
        event = TypicalPods(plan.at, pods, learnt=True)
        state.apply(event)
        plan.decisions.append(event)


def _is_about_room(reason: Reason | None) -> bool:
    return reason is not None and reason.token in (Token.CAPACITY, Token.TOPOLOGY)


def _take_in(state: ClusterState, events: Iterable[Event], plan: Plan) -> None:
    for event in events:
        try:
            state.apply(event)
        except GanglionError as error:
            plan.rejected.append(Rejection(event, error.code, error.message))


def _keep_waiting(
    state: ClusterState, lane: Lane, record: GangRecord, reason: Reason | None, plan: Plan
) -> None:
    """None of the lane can start before something changes; say so once."""
    if reason and reason != lane.reason:
        plan.waits.append(Wait(lane.queue, record.gang.id, len(lane), reason))
    # A Permit plugin may change its mind with the time alone, so it is asked in every cycle.
    if state.plugins.permits:
        lane.reason = reason
    elif reason:
        state.lanes.shut(record.gang.id, reason)


def _start(state: ClusterState, record: GangRecord, placement: Placement, plan: Plan) -> None:
    event = GangPlaced(plan.at, record.gang.id, record.attempt + 1, placement)
    state.apply(event)
    plan.starts.append(Start(record.gang, event.attempt, placement))
    plan.decisions.append(event)
