"""Which gang starves, and until when a place is drained for it."""

from ganglion.engine.gangs.equivalence import asked_by
from ganglion.engine.gangs.preemption_cost import gpu_milli
from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.store.store import Store
from ganglion.engine.timeline.free_at import by_node
from ganglion.engine.timeline.profile import ProfileInput
from ganglion.engine.timeline.reservation import Reservation
from ganglion.engine.timeline.reservation_table import Reservations
from ganglion.model.policy import Future
from ganglion.model.queue import ANY_FLAVOR

PATIENCE = 30
"""A gang that has waited for this many times `assumed` starves."""

STARVING_MS = 1_800_000
"""No place is drained for a gang that has waited for less."""


def starves(state: Store, record: GangRecord, held: Reservations, policy: Future, now: int) -> bool:
    """Whether a place is drained for a gang: for one gang at a time, as GPUs idle for it."""
    if any(each.drains for each in held):
        return False
    waited, part = now - record.gang.submitted, policy.starving_permille
    if waited >= PATIENCE * policy.assumed_ms:
        return True
    if not part or waited < STARVING_MS or 1000 * waited < part * record.turn_ms:
        return False
    return not _takes_turns(state, record)


def _takes_turns(state: Store, record: GangRecord) -> bool:
    """Whether there is room without gangs that share time with it: they yield in their turn."""
    pool = state.gangs.sharers.of(record.gang)
    if pool is None:
        return False
    others = (
        each.placement for each in state.holdings.settled() if each.gang.id not in pool.running
    )
    held = sum(gpu_milli(each.pods) for each in others if each)
    return state.fleet.totals.capacity()[ANY_FLAVOR] - held >= asked_by(record.gang)[1]


def later(ground: ProfileInput, held: Reservation, now: int) -> int:
    """The next guess of when a drained place is free, in ms."""
    stay = ground.occupants
    there = {gang: None for node in by_node(held.placement) for gang in stay.on(node)}
    return max([now + STARVING_MS, *(ground.clock.end(stay.records[gang], now) for gang in there)])
