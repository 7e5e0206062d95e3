"""Events that also concern the time ahead: reservations, bookings, what is learnt.

Each says whether it changed anything.
"""

from ganglion.engine.gangs.gates import sleeps
from ganglion.engine.gangs.record import HOLDING
from ganglion.engine.state.components import Components
from ganglion.engine.store import fleet_events, gang_events
from ganglion.model import events as ev
from ganglion.model.plan import Phase
from ganglion.model.workload import Gang

LEARNT_FROM = (ev.Outcome.SUCCEEDED, ev.Outcome.FAILED, ev.Outcome.TIMED_OUT)
"""Ends that say how long a gang runs when it is not disturbed."""


def node_added(state: Components, event: ev.NodeAdded) -> bool:
    """A node joined or changed; what gangs hold on it may be gone, or of another flavor."""
    node = event.node
    rank = state.fleet.tree.index.get(node.name)
    before = None if rank is None else state.fleet.tree.nodes[rank]
    changed = fleet_events.node_added(state, event)
    here = state.holdings.on_node(node.name)
    for record in here:
        pods = state.holdings.occupants.on(node.name)[record.gang.id]
        if any(fleet_events.lacks(node, record, pod) for pod in pods):
            state.holdings.stranded[record.gang.id] = None
        record.relocated |= before is not None and before.domains != node.domains
    if before and (before.kind, before.cpu_kind) != (node.kind, node.cpu_kind):
        state.fleet.tree.settle()
        for record in here:
            state.holdings.recharge(record)
    if before and (before.kind, before.parts) != (node.kind, node.parts):
        for gang in (*(each.gang.id for each in here), *state.holdings.leaving.get(node.name, ())):
            state.holdings.costs.count(state.gangs.records[gang])
    return changed


def submitted(state: Components, event: ev.GangSubmitted) -> bool:
    """A gang entered its queue."""
    turn = state.forecast.backlog.turn_ms(event.gang, event.at)
    if not gang_events.submitted(state, event):
        return False
    record = state.gangs.record(event.gang.id)
    record.turn_ms = turn
    if record.reason is None:
        state.forecast.backlog.waits(record)
    return True


def taken_over(state: Components, event: ev.GangSubmitted, place: ev.GangPlaced) -> bool:
    """A gang entered its queue with a place of its own: it waits in no lane in between."""
    turn = state.forecast.backlog.turn_ms(event.gang, event.at)
    record = gang_events.entered(state, event)
    if record is None:
        return False
    record.turn_ms, record.relocated = turn, True
    return placed(state, place)


def placed(state: Components, event: ev.GangPlaced) -> bool:
    """A gang takes its place; what was reserved for it is not needed any more."""
    record = state.gangs.record(event.gang)
    state.progress.changed(state.timeline.future.drop(event.gang))
    state.timeline.kept.drop(event.gang)
    changed = gang_events.placed(state, event)
    if changed:
        state.forecast.bands.started(record, event.at)
        state.forecast.backlog.placed(record, event.at)
    return changed


def reserved(state: Components, event: ev.GangReserved) -> bool:
    """A gang got a promise, which is better than a reservation, or lost it."""
    state.gangs.record(event.gang)
    state.progress.changed(state.timeline.future.drop(event.gang))
    if event.placement:
        state.timeline.kept.drop(event.gang)
    return gang_events.reserved(state, event)


def kept(state: Components, event: ev.PlaceKept) -> bool:
    """A gang that sleeps got a place, or has none any more."""
    record = state.gangs.record(event.gang)
    if event.placement is None:
        return state.timeline.kept.drop(event.gang)
    known = state.timeline.kept.get(event.gang)
    if not sleeps(record) or (known and known.placement == event.placement):
        return False
    state.timeline.kept.put(record, event.placement)
    return True


def updated(state: Components, event: ev.GangUpdated) -> bool:
    """Properties of a gang changed; a place is kept for the gang that it was, or woken for it."""
    before = state.gangs.record(event.gang).gang
    changed = gang_events.updated(state, event)
    after = state.gangs.record(event.gang).gang
    if changed and _form(before) != _form(after):
        state.timeline.kept.drop(event.gang)
    return changed


def _form(gang: Gang) -> tuple[object, ...]:
    """What a gang's kept place depends on, but for whether it is awake."""
    return gang.queue, gang.pod_sets, gang.held


def ended(state: Components, event: ev.GangEnded) -> bool:
    """An attempt is over: its run time is learnt from."""
    record = state.gangs.record(event.gang)
    live = record.phase in HOLDING and event.attempt == record.attempt
    natural = live and event.outcome in LEARNT_FROM
    if natural:
        state.gangs.estimates.learn(record, event.at)
    state.progress.changed(state.timeline.future.drop(event.gang))
    changed = gang_events.ended(state, event)
    if record.phase is Phase.ENDED:
        state.timeline.kept.drop(event.gang)
        state.gangs.sharers.ended(record, learn=changed and natural)
    if changed:
        state.forecast.bands.ended(event.gang)
        state.forecast.backlog.ended(record, event.at, learn=natural)
        if record.phase is Phase.PENDING:
            state.forecast.backlog.waits(record)
    return changed


def set_apart(state: Components, event: ev.GangSetApart) -> bool:
    """A gang is left out of decisions, and nothing is kept for it."""
    state.gangs.record(event.gang)
    state.progress.changed(state.timeline.future.drop(event.gang))
    state.timeline.kept.drop(event.gang)
    return gang_events.set_apart(state, event)


def start_planned(state: Components, event: ev.StartPlanned) -> bool:
    """A reservation was made, moved or taken back."""
    changed = state.timeline.future.apply(event)
    state.progress.changed(changed and event.placement is None)
    return changed


def start_expected(state: Components, event: ev.StartExpected) -> bool:
    """The expected start of a gang was announced to its user."""
    return state.forecast.bands.apply(event)


def booking_set(state: Components, event: ev.BookingSet) -> bool:
    """Nodes were spoken for."""
    changed = state.timeline.bookings.put(event.booking)
    state.progress.changed(changed)
    return changed


def booking_removed(state: Components, event: ev.BookingRemoved) -> bool:
    """A booking was taken back."""
    state.timeline.bookings.remove(event.name)
    state.progress.changed()
    return True


def policy_set(state: Components, event: ev.PolicySet) -> bool:
    """Another policy is in force."""
    changed = fleet_events.policy_set(state, event)
    if changed:
        state.timeline.replan()
    return changed
