"""Looks at workspaces in threads of their own, and leaves behind what was seen."""

import threading
from collections.abc import Iterator, Set
from contextlib import contextmanager

import structlog
from msgspec import Struct

from ganglion.lifecycle.workspaces.look import Look
from ganglion.lifecycle.workspaces.observations import Witness
from ganglion.lifecycle.workspaces.reconciler import Key
from ganglion.seams.clock import SYSTEM_CLOCK, Clock
from ganglion.worlds.onlooker import Onlooker

THREADS = 4
"""Looks at a time: one that waits for an answer must not blind the others."""

log = structlog.get_logger(__name__)


class Seen(Struct, frozen=True):
    """What is known of one attempt.

    Attributes:
        required: the sources that have to confirm.
        look: the last look; None = there was none yet.
    """

    required: frozenset[Witness]
    look: Look | None = None


class _Seat(Struct, eq=False):
    onlooker: Onlooker
    every_s: float
    due: float
    taken: bool = False
    seen: Seen = Seen(frozenset())
    gone: bool = False


class Eyes:
    """Looks at every attempt again and again.

    Args:
        threads: how many look at a time.
        clock: says when to look again.
    """

    def __init__(self, threads: int = THREADS, clock: Clock = SYSTEM_CLOCK) -> None:
        self._clock = clock
        self._seats: dict[Key, _Seat] = {}
        self._change = threading.Condition()
        self._stopping = False
        self._threads = [
            threading.Thread(target=self._run, name=f"eyes-{i}", daemon=True)
            for i in range(threads)
        ]

    def knows(self, key: Key) -> bool:
        """Whether this attempt is observed."""
        with self._change:
            return key in self._seats

    def meet(self, key: Key, onlooker: Onlooker, every_ms: int) -> None:
        """Look at an attempt from now on.

        Args:
            key: the attempt.
            onlooker: looks at it; closed when it is not needed any more.
            every_ms: how often.
        """
        with self._change:
            if key in self._seats:
                onlooker.close()
                return
            self._seats[key] = _Seat(onlooker, every_ms / 1000, self._clock.monotonic())
            self._change.notify()

    def keep(self, keys: Set[Key]) -> None:
        """Look at no other attempts any more."""
        with self._change:
            for key in [each for each in self._seats if each not in keys]:
                self._drop(self._seats.pop(key))

    def seen(self, key: Key) -> Seen | None:
        """What is known of an attempt; None = it is not observed."""
        with self._change:
            seat = self._seats.get(key)
            return seat.seen if seat else None

    @contextmanager
    def open(self) -> Iterator["Eyes"]:
        """Look for as long as this lasts."""
        for thread in self._threads:
            thread.start()
        try:
            yield self
        finally:
            with self._change:
                self._stopping = True
                self._change.notify_all()
            for thread in self._threads:
                thread.join()
            self.keep(frozenset())

    def _run(self) -> None:
        while True:
            seat = self._next()
            if seat is None:
                return
            seen = _looked(seat)
            with self._change:
                seat.seen, seat.taken = seen or seat.seen, False
                seat.due = self._clock.monotonic() + seat.every_s
                if seat.gone:
                    seat.onlooker.close()
                self._change.notify()

    def _next(self) -> _Seat | None:
        """The next attempt to look at, when its time has come; None = enough."""
        with self._change:
            while not self._stopping:
                free = [seat for seat in self._seats.values() if not seat.taken]
                first = min(free, key=lambda seat: seat.due, default=None)
                wait = first.due - self._clock.monotonic() if first else None
                if first and wait is not None and wait <= 0:
                    first.taken = True
                    return first
                self._change.wait(wait)
            return None

    def _drop(self, seat: _Seat) -> None:
        seat.gone = True
        if not seat.taken:
            seat.onlooker.close()


def _looked(seat: _Seat) -> Seen | None:
    """One look; a bug in it leaves the workspace unknown, and all others as they are."""
    try:
        look = seat.onlooker.look()
    except Exception:
        log.exception("cannot look at a workspace")
        return None
    return Seen(seat.onlooker.required, look)
