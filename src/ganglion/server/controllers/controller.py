"""Keepers reconcile one kind of workload each, as part of every turn.

They are asked between facts and decisions, on the service's thread. What a keeper remembers
follows from events, so that a server that died goes on where it was.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import structlog
from msgspec import Struct

from ganglion.model.errors import GanglionError
from ganglion.model.events import AlarmSet, Event
from ganglion.server.state.transaction import Transaction

SUBJECT = "server"
"""Subject of alarms about keepers."""
FIRST_PAUSE_MS = 1_000
"""How long a keeper that failed is left alone; doubles every time."""
LONGEST_PAUSE_MS = 60_000

log = structlog.get_logger(__name__)


class Controller(Protocol):
    """Reconciles one kind of workload.

    Nothing it does may block: I/O belongs in threads of its own that leave readings behind.
    """

    @property
    def name(self) -> str:
        """One word, for alarms: `services`."""

    def note(self, event: Event) -> None:
        """Take notice of an event that the state has accepted, in a replay too.

        Called on the service's thread, of its own events as well. Must be quick: every event
        of the ledger passes through here when a server starts.
        """

    def forget(self) -> None:
        """Forget what was noted: the state is rebuilt, and every event comes again."""

    def memory(self) -> object:
        """All that follows from events; None = nothing. Of classes that `documents` knows."""

    def recall(self, memory: Any) -> None:  # noqa: ANN401 - what the same keeper gave
        """Take up what `memory` gave, in place of what was noted."""

    def tend(self, draft: Transaction) -> int | None:
        """Do what is due: apply and record events, add orders.

        Asked when its time has come and whenever anything has happened since. What it did is
        undone when it raises, or when the turn cannot be written.

        Returns:
            When it wants to be asked again, in ms; None = when something happens.
        """


class _Seat(Struct):
    """What is known of one keeper.

    Attributes:
        due: when it is to be asked, in ms; None = when something happens.
        news: whether anything has happened since it was asked.
        pause_ms: how long it is left alone at present; 0 = it works.
        broken: the message of its failure; empty = it works.
        deaf: whether it missed an event, so that it must not be asked before a replay.
    """

    keeper: Controller
    due: int | None = 0
    news: bool = True
    pause_ms: int = 0
    broken: str = ""
    deaf: bool = False


class Controllers:
    """All keepers of a server; one that fails is set apart for a while and stops no other.

    Args:
        keepers: asked in this order.
    """

    def __init__(self, keepers: Sequence[Controller] = ()) -> None:
        self._seats = [_Seat(keeper) for keeper in keepers]

    def note(self, event: Event) -> None:
        """Pass an event to every keeper."""
        for seat in self._seats:
            seat.news = True
            if not seat.deaf:
                _tell(seat, event)

    def forget(self) -> None:
        """The state is about to be rebuilt from the ledger."""
        for seat in self._seats:
            seat.deaf, seat.news = False, True
            seat.keeper.forget()

    def memories(self) -> dict[str, object] | None:
        """What each of them remembers, by name; None = one missed an event."""
        if any(seat.deaf for seat in self._seats):
            return None
        return {seat.keeper.name: seat.keeper.memory() for seat in self._seats}

    def recall(self, memories: Mapping[str, object]) -> None:
        """Begin anew with what they remembered; those that are not among them with nothing."""
        self.forget()
        for seat in self._seats:
            if memories.get(seat.keeper.name) is not None:
                seat.keeper.recall(memories[seat.keeper.name])

    def tend(self, draft: Transaction) -> bool:
        """Ask every keeper that has something to do.

        Returns:
            False = one failed after it had changed the draft, which must be made anew; it is
            not asked then.
        """
        return all(self._asked(seat, draft) for seat in self._seats)

    def _asked(self, seat: _Seat, draft: Transaction) -> bool:
        due = seat.due is not None and seat.due <= draft.now
        if not due and (seat.broken or not (seat.news or draft.batch or draft.stepped_ms)):
            _proclaim(seat, draft)
            return True
        before, orders = draft.size, len(draft.orders)
        try:
            if not seat.deaf:
                seat.due = seat.keeper.tend(draft)
                seat.broken, seat.pause_ms = "", 0
        except Exception as error:
            _set_apart(seat, error, draft.now)
            if draft.size > before or len(draft.orders) > orders:
                return False
        seat.news = False
        _proclaim(seat, draft)
        return True


def _tell(seat: _Seat, event: Event) -> None:
    try:
        seat.keeper.note(event)
    except Exception as error:
        seat.deaf = True
        _set_apart(seat, error, event.at)


def _set_apart(seat: _Seat, error: Exception, now: int) -> None:
    """Leave a keeper alone for a while: the service must outlive whatever is wrong with it."""
    log.exception("keeper failed", keeper=seat.keeper.name)
    seat.broken = error.message if isinstance(error, GanglionError) else repr(error)
    seat.pause_ms = min(max(FIRST_PAUSE_MS, 2 * seat.pause_ms), LONGEST_PAUSE_MS)
    seat.due = now + seat.pause_ms


def _proclaim(seat: _Seat, draft: Transaction) -> None:
    """Raise the alarm about a keeper, or take it back."""
    alarm = f"keeper.{seat.keeper.name}"
    told = draft.book.alarms.get((SUBJECT, alarm))
    message = f"{seat.keeper.name} are not managed: {seat.broken}" if seat.broken else ""
    if (told.message if told else "") != message:
        draft.record(AlarmSet(draft.now, SUBJECT, alarm, message))
