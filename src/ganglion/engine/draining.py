"""Which gang starves, and until when a place is drained for it."""

from ganglion.engine.profile import Ground
from ganglion.engine.record import GangRecord
from ganglion.engine.reservation import Reservation
from ganglion.engine.reservations import Reservations
from ganglion.engine.room import by_node
from ganglion.model.policy import Future

PATIENCE = 30
"""A gang that has waited for this many times `assumed` starves."""

STARVING_MS = 1_800_000
"""No place is drained for a gang that has waited for less."""


def starves(record: GangRecord, held: Reservations, policy: Future, now: int) -> bool:
    """Whether a place is drained for a gang: for one gang at a time, as GPUs idle for it."""
    if any(each.drains for each in held):
        return False
    waited, part = now - record.gang.submitted, policy.starving_permille
    overdue = part > 0 and 1000 * waited >= part * record.turn_ms
    return (overdue and waited >= STARVING_MS) or waited >= PATIENCE * policy.assumed_ms


def later(ground: Ground, held: Reservation, now: int) -> int:
    """The next guess of when a drained place is free, in ms."""
    stay = ground.occupants
    there = {gang: None for node in by_node(held.placement) for gang in stay.on(node)}
    return max([now + STARVING_MS, *(ground.clock.end(stay.records[gang], now) for gang in there)])
