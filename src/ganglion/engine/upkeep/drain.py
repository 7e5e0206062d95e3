"""Nodes that have to be empty by a time: gangs leave them, each after a checkpoint.

A gang leaves as soon as it has just saved its work and there is another place for it, which it
is promised. One that finds none stays until the last checkpoint before the booking begins, so
that nothing waits for longer than it must. Replicas of a service leave one at a time. What is
still there when the booking begins is stopped.

Floors hold as for any stop for the sake of others: a gang whose workload has no more than its
floor stays until enough siblings run elsewhere, even after the booking has begun.
"""

from collections.abc import Iterator

from ganglion.engine.decisions import decide
from ganglion.engine.gangs import preemption_cost
from ganglion.engine.gangs.record import SETTLED, GangRecord
from ganglion.engine.ordering.attempt import seek
from ganglion.engine.placement.renumber import renumbered
from ganglion.engine.preemption.consolidate import as_it_is
from ganglion.engine.preemption.preempt import TRIED
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.engine.store.undo import Tentative
from ganglion.engine.store.victims import VictimUnit
from ganglion.engine.store.what_if import Sketch
from ganglion.model.causes import Cause, CauseKind
from ganglion.model.events import GangReserved, GangStopping
from ganglion.model.fleet.booking import Booking
from ganglion.model.placement import Placement
from ganglion.model.plan import Phase, Plan, Stop
from ganglion.model.workload import Kind

MARGIN_MS = 10_000
"""A gang that saves when it is asked to stop gets its grace and this much more, in ms, before the
booking begins."""


def clear(state: ClusterState, plan: Plan) -> None:
    """Have gangs leave the nodes of bookings that clear theirs."""
    for booking in state.timeline.bookings.clearing(plan.at):
        for record in leavers(state, booking):
            if record.fault:
                continue
            state.journal.attend(record.gang.id)
            _leave(state, record, booking, plan)


def leavers(state: ClusterState, booking: Booking) -> Iterator[GangRecord]:
    """Gangs that start or run on the nodes of a booking that is not for them."""
    found: dict[str, GangRecord] = {}
    for node in booking.nodes:
        for record in state.holdings.on_node(node):
            if record.phase in SETTLED and not state.timeline.bookings.is_for(booking, record.gang):
                found[record.gang.id] = record
    yield from found.values()


def leaves_at(record: GangRecord, booking: Booking, now: int) -> int:
    """When a gang may leave next without losing much, at the latest when the booking begins; ms."""
    contract = record.gang.checkpoint
    if record.gang.kind is Kind.SERVICE or (contract and not contract.interval_ms):
        return now
    if contract is None or not record.started:
        return booking.begin
    late = preemption_cost.LATE_MS + (contract.interval_ms >> 4)
    if (
        preemption_cost.saved_at(record, now) > record.started
        and preemption_cost.unsaved_ms(record, now) <= late
    ):
        return now
    return min(preemption_cost.next_save(record, now) or booking.begin, booking.begin)


def _leave(state: ClusterState, record: GangRecord, booking: Booking, plan: Plan) -> None:
    now = plan.at
    if not state.gangs.floors.spares(record):
        if now < booking.begin:
            state.gangs.alarm(booking.begin, record.gang.id)
        return
    if now >= booking.begin:
        _stop(state, record, booking, None, plan)
        return
    at = leaves_at(record, booking, now)
    if at > now or not _is_its_turn(state, record):
        state.gangs.alarm(max(at, now + 1) if at > now else booking.begin, record.gang.id)
        return
    place = _elsewhere(state, record, booking, now)
    if place or _is_last_chance(record, booking, now):
        _stop(state, record, booking, place, plan)
    else:
        state.gangs.alarm(_next_chance(record, booking, now), record.gang.id)


def _is_its_turn(state: ClusterState, record: GangRecord) -> bool:
    """Whether no other replica of a service is on its way."""
    if record.gang.kind is not Kind.SERVICE:
        return True
    others = (
        state.gangs.records[gang] for gang in state.gangs.gates.siblings(record.gang.workload)
    )
    return all(each.phase in (Phase.RUNNING, Phase.ENDED) for each in others if each is not record)


def _next_chance(record: GangRecord, booking: Booking, now: int) -> int:
    """When to look again whether a gang can leave, in ms."""
    contract = record.gang.checkpoint
    if contract and not contract.interval_ms:
        last = booking.begin - contract.grace_ms - MARGIN_MS
        return last if last > now else booking.begin
    return min(preemption_cost.next_save(record, now) or booking.begin, booking.begin)


def _is_last_chance(record: GangRecord, booking: Booking, now: int) -> bool:
    """Whether a gang cannot save again before the booking begins."""
    return record.gang.kind is not Kind.SERVICE and (
        _next_chance(record, booking, now) >= booking.begin
    )


def _elsewhere(
    state: ClusterState, record: GangRecord, booking: Booking, now: int
) -> Placement | None:
    """Another place for a gang, off the booked nodes; None = there is none now."""
    assert record.placement
    ranks = {
        state.fleet.tree.index[node]: None
        for node in booking.nodes
        if node in state.fleet.tree.index
    }
    tentative = Tentative(state)
    try:
        tentative.take(VictimUnit(record, record.placement.pods, True, 0, CauseKind.MOVED))
        with Sketch(state) as sketch:
            sketch.shut(ranks)
            place = seek(state, as_it_is(record), now, TRIED)[1]
    finally:
        tentative.undo()
    return renumbered(record.placement, place) if place else None


def _stop(
    state: ClusterState, record: GangRecord, booking: Booking, place: Placement | None, plan: Plan
) -> None:
    cause = Cause(CauseKind.MOVED_FOR_BOOKING, name=booking.name, text=booking.reason)
    event = GangStopping(plan.at, record.gang.id, record.attempt, cause)
    decide(state, [event], plan)
    plan.stops.append(Stop(event.gang, event.attempt, event.cause))
    if place:
        decide(state, [GangReserved(plan.at, record.gang.id, place)], plan)
