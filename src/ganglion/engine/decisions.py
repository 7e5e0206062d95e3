"""What a cycle decides: applied at once, and added to its plan."""

from collections.abc import Callable, Iterable

from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.placement.held import with_held
from ganglion.engine.preemption.trade import PreemptionPlan, carried_out
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.engine.timeline.nominations import is_clear
from ganglion.engine.timeline.reservation import passed_by
from ganglion.model.events import Event, GangPlaced, GangReserved, GangResized, GangStopping
from ganglion.model.placement import Placement
from ganglion.model.plan import Phase, Plan, Resize, Start, Stop


def decide(state: ClusterState, events: Iterable[Event], plan: Plan) -> None:
    """Apply decisions, each before the next is asked for, and record them."""
    for event in events:
        state.apply(event)
        plan.decisions.append(event)


def start(state: ClusterState, record: GangRecord, placement: Placement, plan: Plan) -> None:
    """Start a gang there, and keep what its nodes hold of what it loads."""
    rate = state.config.policy.fetch_per_second_mib
    placement = with_held(state.fleet.tree, record.gang, placement, rate)
    passed = passed_by(record.gang, state.timeline.future.reservations())
    event = GangPlaced(plan.at, record.gang.id, record.attempt + 1, placement, passed)
    decide(state, [event], plan)
    plan.starts.append(Start(record.gang, event.attempt, placement))


def give(
    state: ClusterState,
    record: GangRecord,
    placement: Placement,
    plan: Plan,
    look: Callable[[], Placement | None] = lambda: None,
) -> None:
    """Start a gang, or promise it the place while others still have to leave it.

    Args:
        state: it and the plan are changed.
        record: the gang.
        placement: the best place, with what others leave.
        plan: of the cycle.
        look: finds the best place as things stand; one that is free now is preferred.
    """
    place: Placement | None = placement
    if not is_clear(state, record, placement, counted=False):
        with state.holdings.counting_what_leaves():
            place = look()
        if place and not is_clear(state, record, place, counted=False):
            place = None
    if place:
        start(state, record, place, plan)
    else:
        decide(state, [GangReserved(plan.at, record.gang.id, placement)], plan)


def keep_promises(state: ClusterState, plan: Plan) -> None:
    """Start the gangs whose promised places no other gang still has to leave."""
    for gang in list(state.holdings.promised):
        record = state.gangs.records[gang]
        place = record.promise
        if record.phase is not Phase.RESERVED or place is None:
            continue
        state.journal.attend(gang)
        if is_clear(state, record, place, counted=True):
            start(state, record, place, plan)


def swap(state: ClusterState, asker: GangRecord, trade: PreemptionPlan, plan: Plan) -> None:
    """Apply a trade and add it to the plan."""
    for event in carried_out(asker, trade, plan.at):
        decide(state, [event], plan)
        if isinstance(event, GangStopping):
            plan.stops.append(Stop(event.gang, event.attempt, event.cause))
        elif isinstance(event, GangResized):
            gang = state.gangs.records[event.gang].gang
            plan.resizes.append(Resize(gang, event.attempt, event.placement, event.cause))
