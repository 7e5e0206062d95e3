"""Events that also concern the time ahead: reservations, bookings, what is learnt.

Each says whether it changed anything.
"""

from ganglion.engine.gangs.gates import sleeps
from ganglion.engine.gangs.record import HOLDING, GangRecord
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
    rank = state.tree.index.get(node.name)
    before = None if rank is None else state.tree.nodes[rank]
    changed = fleet_events.node_added(state, event)
    here = state.on_node(node.name)
    for record in here:
        pods = state.occupants.on(node.name)[record.gang.id]
        if any(fleet_events.lacks(node, record, pod) for pod in pods):
            state.stranded[record.gang.id] = None
        record.relocated |= before is not None and before.domains != node.domains
    if here and before and (before.kind, before.cpu_kind) != (node.kind, node.cpu_kind):
        state.tree.settle()
        for record in here:
            _recharge(state, record)
    return changed


def _recharge(state: Components, record: GangRecord) -> None:
    """A gang is charged in the flavors that its nodes have now."""
    assert record.placement
    state.charge(record.gang, record.charged, -1)
    record.charged = tuple(state.usage_of(record, record.placement).items())
    state.charge(record.gang, record.charged, 1)


def submitted(state: Components, event: ev.GangSubmitted) -> bool:
    """A gang entered its queue."""
    turn = state.backlog.turn_ms(event.gang, event.at)
    if not gang_events.submitted(state, event):
        return False
    record = state.record(event.gang.id)
    record.turn_ms = turn
    if record.reason is None:
        state.backlog.waits(record)
    return True


def taken_over(state: Components, event: ev.GangSubmitted, place: ev.GangPlaced) -> bool:
    """A gang entered its queue with a place of its own: it waits in no lane in between."""
    turn = state.backlog.turn_ms(event.gang, event.at)
    record = gang_events.entered(state, event)
    if record is None:
        return False
    record.turn_ms = turn
    return placed(state, place)


def placed(state: Components, event: ev.GangPlaced) -> bool:
    """A gang takes its place; what was reserved for it is not needed any more."""
    record = state.record(event.gang)
    state.freed += state.future.drop(event.gang)
    state.kept.drop(event.gang)
    changed = gang_events.placed(state, event)
    if changed:
        state.bands.started(record, event.at)
        state.backlog.placed(record, event.at)
    return changed


def reserved(state: Components, event: ev.GangReserved) -> bool:
    """A gang got a promise, which is better than a reservation, or lost it."""
    state.record(event.gang)
    state.freed += state.future.drop(event.gang)
    if event.placement:
        state.kept.drop(event.gang)
    return gang_events.reserved(state, event)


def kept(state: Components, event: ev.PlaceKept) -> bool:
    """A gang that sleeps got a place, or has none any more."""
    record = state.record(event.gang)
    if event.placement is None:
        return state.kept.drop(event.gang)
    known = state.kept.get(event.gang)
    if not sleeps(record) or (known and known.placement == event.placement):
        return False
    state.kept.put(record, event.placement)
    return True


def updated(state: Components, event: ev.GangUpdated) -> bool:
    """Properties of a gang changed; a place is kept for the gang that it was, or woken for it."""
    before = state.record(event.gang).gang
    changed = gang_events.updated(state, event)
    after = state.record(event.gang).gang
    if changed and _form(before) != _form(after):
        state.kept.drop(event.gang)
    return changed


def _form(gang: Gang) -> tuple[object, ...]:
    """What a gang's kept place depends on, but for whether it is awake."""
    return gang.queue, gang.pod_sets, gang.held


def ended(state: Components, event: ev.GangEnded) -> bool:
    """An attempt is over: its run time is learnt from."""
    record = state.record(event.gang)
    live = record.phase in HOLDING and event.attempt == record.attempt
    natural = live and event.outcome in LEARNT_FROM
    if natural:
        state.estimates.learn(record, event.at)
    state.freed += state.future.drop(event.gang)
    changed = gang_events.ended(state, event)
    if record.phase is Phase.ENDED:
        state.kept.drop(event.gang)
        state.sharers.ended(record, learn=changed and natural)
    if changed:
        state.bands.ended(event.gang)
        state.backlog.ended(record, event.at, learn=natural)
        if record.phase is Phase.PENDING:
            state.backlog.waits(record)
    return changed


def set_apart(state: Components, event: ev.GangSetApart) -> bool:
    """A gang is left out of decisions, and nothing is kept for it."""
    state.record(event.gang)
    state.freed += state.future.drop(event.gang)
    state.kept.drop(event.gang)
    return gang_events.set_apart(state, event)


def start_planned(state: Components, event: ev.StartPlanned) -> bool:
    """A reservation was made, moved or taken back."""
    changed = state.future.apply(event)
    state.freed += changed and event.placement is None
    return changed


def start_expected(state: Components, event: ev.StartExpected) -> bool:
    """The expected start of a gang was announced to its user."""
    return state.bands.apply(event)


def booking_set(state: Components, event: ev.BookingSet) -> bool:
    """Nodes were spoken for."""
    changed = state.bookings.put(event.booking)
    state.freed += changed
    return changed


def booking_removed(state: Components, event: ev.BookingRemoved) -> bool:
    """A booking was taken back."""
    state.bookings.remove(event.name)
    state.freed += 1
    return True


def policy_set(state: Components, event: ev.PolicySet) -> bool:
    """Another policy is in force."""
    changed = fleet_events.policy_set(state, event)
    if changed:
        state.replan()
    return changed
