"""Taking the events of a ledger in again; one that cannot be taken in is set apart and named.

A gang that such an event is about keeps what it held before the event, and no decision is made
about it until a person changes it: its attempt may run, so that its number must not be given
again. What really runs and is not expected is ended by the world before anything is started
(`ServedWorld.reconcile`), so that no device is given twice.
"""

from collections.abc import Callable, Iterator
from typing import get_args

import structlog

from ganglion.engine.state.invariants import shared_wrongly
from ganglion.engine.state.rollback import roll_back
from ganglion.ledger.records import Cycle, Flaw
from ganglion.metering.intervals import LostSpan, SupplyInterval, UsageInterval
from ganglion.metering.lending import LentInterval
from ganglion.model.errors import Conflict
from ganglion.model.events import (
    CheckpointCommitted,
    Event,
    GangEnded,
    GangPlaced,
    GangReserved,
    GangResized,
    GangSetApart,
    GangStarted,
    GangStopping,
    PodsLeft,
)
from ganglion.model.plan import Phase
from ganglion.model.workload import Gang
from ganglion.server.state.transaction import Mind

STAGE = "ledger"
"""Stage of `GangSetApart` for gangs whose events could not be taken in."""
NAMED = 20
"""Flaws that are written to the log; others are counted."""

OfAttempt = GangStarted | GangStopping | GangEnded | PodsLeft | CheckpointCommitted
OF_ATTEMPTS = get_args(OfAttempt)
"""Events of an attempt that has been placed; written only where they change something."""

Noted = Callable[[Event], None]
ClosedBy = tuple[list[UsageInterval], list[SupplyInterval], list[LentInterval], list[LostSpan]]

log = structlog.get_logger(__name__)


def ignored(_event: Event) -> None:
    """No keeper listens."""


def take(mind: Mind, cycle: Cycle, noted: Noted) -> ClosedBy:
    """Take one cycle in as it was taken in then.

    Args:
        mind: changed; `mind.book.flaws` gets what cannot be taken in.
        cycle: as it was read.
        noted: called with every event that was taken in.

    Returns:
        the intervals that the cycle closed; they are in the ledger.
    """
    flaws = iter(cycle.flaws)
    flaw, facts = next(flaws, None), len(cycle.incoming)
    for index, (seq, event) in enumerate(_numbered(cycle)):
        while flaw and flaw.seq < seq:
            set_apart(mind, flaw, cycle.at)
            flaw = next(flaws, None)
        if index == facts:
            mind.state.again(cycle.at)
        _happened(mind, seq, event, noted)
    if facts == len(cycle.seqs):
        mind.state.again(cycle.at)
    for rest in (flaw, *flaws) if flaw else ():
        set_apart(mind, rest, cycle.at)
    mind.book.close(mind.state)
    mind.state.gangs.fresh.clear()  # the cycle that followed has turned to them
    usage, supply, _, lent, lost = mind.book.metered()
    return usage, supply, lent, lost


def _numbered(cycle: Cycle) -> Iterator[tuple[int, Event]]:
    yield from zip(cycle.seqs, (*cycle.incoming, *cycle.decisions), strict=True)


def _happened(mind: Mind, seq: int, event: Event, noted: Noted) -> None:
    try:
        _apply(mind, event)
        mind.note(event)
    # Whatever an event does to the engine, the home opens.
    except Exception as error:
        named = getattr(event, "gang", "")
        gang = named.id if isinstance(named, Gang) else named
        kind, attempt = str(event.__struct_config__.tag), getattr(event, "attempt", 0)
        problem = f"cannot be taken in: {type(error).__name__}: {error}"
        set_apart(mind, Flaw(seq, kind, problem, gang, attempt), event.at)
    else:
        noted(event)


def _apply(mind: Mind, event: Event) -> None:
    """Take an event into the state. Raises Conflict where it contradicts those before it."""
    state = mind.state
    if not isinstance(event, GangPlaced | GangResized | GangReserved):
        if not state.apply(event) and isinstance(event, OF_ATTEMPTS):
            _check_attempt(mind, event)
        return
    state.journal.open()
    try:
        state.apply(event)
        twice = shared_wrongly(state, state.gangs.records[event.gang])
        if twice:
            roll_back(state, state.journal.close())
            raise Conflict(twice)
    finally:
        state.journal.close()


def _check_attempt(mind: Mind, event: OfAttempt) -> None:
    """What changes nothing and names another attempt than the present one is a contradiction.

    Such an event is only ever written where it changes something: an earlier one is missing.
    """
    record = mind.state.gangs.record(event.gang)
    behind = event.attempt > record.attempt
    if record.phase is not Phase.ENDED and (behind or isinstance(event, GangEnded)):
        known = f"the gang is {record.phase} in attempt {record.attempt}"
        raise Conflict(f"it is about attempt {event.attempt}, but {known}")


def set_apart(mind: Mind, flaw: Flaw, at: int) -> None:
    """Name an event, and make no decision about the gang that it is about."""
    name_flaw(mind, flaw)
    record = mind.state.gangs.records.get(flaw.gang)
    if record is None or record.phase is Phase.ENDED:
        return
    record.attempt = max(record.attempt, flaw.attempt)
    why = f"event {flaw.seq} of the ledger, {flaw.kind}, {flaw.problem}"
    mind.state.apply(GangSetApart(at, flaw.gang, STAGE, why))


def name_flaw(mind: Mind, flaw: Flaw) -> None:
    """Note what cannot be taken in, and write it to the log."""
    mind.book.flaws[flaw.seq] = flaw
    if len(mind.book.flaws) <= NAMED:
        log.warning("event of the ledger set apart", **_named(flaw))


def _named(flaw: Flaw) -> dict[str, object]:
    return {"seq": flaw.seq, "kind": flaw.kind, "problem": flaw.problem, "gang": flaw.gang}
