"""What GPUs do while attempts have them alone: looked at, summed up, and written to the ledger.

Amounts are handed to the turn that writes them, and are forgotten once it has. Where it is unknown
whether it has, and after a start, the ledger is asked how far each attempt is written: so nothing
is counted twice. What a killed server has not written is missing, and usage says so.
"""

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

import structlog

from ganglion.ledger.intervals import activity_ends
from ganglion.ledger.ledger import Ledger
from ganglion.ledger.records import Batch
from ganglion.metering.activity import ActivityInterval, ActivityMeter, AttemptLook, Place
from ganglion.model.errors import GanglionError
from ganglion.model.events import GangEnded


class WritingTurn(Protocol):
    """What the turn that writes has; see `Transaction`."""

    batch: Batch
    ledger: Ledger


Ask = Callable[[Callable[[WritingTurn], None]], Any]
"""Runs a command in the next turn, and returns once it is written; see `Service.ask`."""

log = structlog.get_logger(__name__)


class GpuActivity:
    """Keeps what is not written; safe from any thread."""

    def __init__(self) -> None:
        self._meter, self._lock, self._writing = ActivityMeter(), threading.Lock(), threading.Lock()
        self._sent: tuple[ActivityInterval, ...] = ()
        self._cycle, self._is_sure = 0, False

    def look(self, at: int, looks: Iterable[AttemptLook]) -> None:
        """Take in what GPUs say; see `ActivityMeter.look`."""
        with self._lock:
            self._meter.look(at, looks)

    def ended(self, gang: str, attempt: int, at: int) -> None:
        """An attempt ended at a time in ms."""
        with self._lock:
            self._meter.ended(gang, attempt, at)

    def erased(self, user: str) -> None:
        """A user's name was erased: all of the user's work has ended."""
        with self._lock:
            self._meter.erased(user)

    def unwritten(self, cycle: int) -> tuple[ActivityInterval, ...]:
        """What the ledger does not have up to a cycle."""
        with self._lock:
            gone = {each.key for each in self._sent} if cycle >= self._cycle else set()
            return tuple(each for each in self._meter.all() if each.key not in gone)

    def flush(self, ask: Ask, *, everything: bool = False) -> None:
        """Have what is due written.

        Args:
            ask: runs commands.
            everything: whether what is open is due as well, as the server ends.
        """
        with self._writing:
            if not self._due(everything=everything):
                return
            try:
                ask(self._hand_over)
            except GanglionError as error:
                self._is_sure = False
                log.warning("what GPUs did is not written yet", error=error.message)
                return
            with self._lock:
                self._meter.written(self._sent)
                self._sent, self._is_sure = (), True

    def _due(self, *, everything: bool = False) -> tuple[ActivityInterval, ...]:
        with self._lock:
            return self._meter.due(everything=everything)

    def _hand_over(self, draft: WritingTurn) -> None:
        """Have a turn write what is due.

        What ends in this very turn is left for the next one: it may have ended before GPUs were
        looked at.
        """
        over = {(e.gang, e.attempt) for e in draft.batch.incoming if isinstance(e, GangEnded)}
        due = [each for each in self._due() if (each.gang, each.attempt) not in over]
        known: Mapping[Place, int] = {}
        if not self._is_sure:
            known = activity_ends(draft.ledger, sorted({each.gang for each in due}))
        parts = (each.within(known.get(each.place, 0), each.end_ms) for each in due)
        draft.batch.activity = [each for each in parts if each]
        with self._lock:
            self._sent, self._cycle = tuple(due), draft.ledger.cycle + 1
