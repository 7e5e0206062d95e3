"""What a cycle decides, applied at once and added to its plan."""

from collections.abc import Iterable

from ganglion.engine.promise import is_clear
from ganglion.engine.record import GangRecord
from ganglion.engine.state import ClusterState
from ganglion.model.events import Event, GangPlaced, GangReserved
from ganglion.model.placement import Placement
from ganglion.model.plan import Phase, Plan, Start


def decide(state: ClusterState, events: Iterable[Event], plan: Plan) -> None:
    """Apply decisions, each before the next is asked for, and record them."""
    for event in events:
        state.apply(event)
        plan.decisions.append(event)


def start(state: ClusterState, record: GangRecord, placement: Placement, plan: Plan) -> None:
    """Start a gang there."""
    event = GangPlaced(plan.at, record.gang.id, record.attempt + 1, placement)
    decide(state, [event], plan)
    plan.starts.append(Start(record.gang, event.attempt, placement))


def give(state: ClusterState, record: GangRecord, placement: Placement, plan: Plan) -> None:
    """Start a gang, or promise it the place while others still have to leave it."""
    if is_clear(state, record, placement, counted=False):
        start(state, record, placement, plan)
    else:
        decide(state, [GangReserved(plan.at, record.gang.id, placement)], plan)


def keep_promises(state: ClusterState, plan: Plan) -> None:
    """Start the gangs whose promised places no other gang still has to leave."""
    for gang in list(state.promised):
        record = state.records[gang]
        place = record.promise
        if record.phase is not Phase.RESERVED or place is None:
            continue
        state.attend(gang)
        if is_clear(state, record, place, counted=True):
            start(state, record, place, plan)
