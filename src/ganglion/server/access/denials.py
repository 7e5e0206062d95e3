"""Refusals as events of the ledger: equal ones within a minute once."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import structlog

from ganglion.model.errors import GanglionError
from ganglion.model.events import AccessDenied
from ganglion.server.access.caller import Caller, Denial
from ganglion.server.state.transaction import Transaction

if TYPE_CHECKING:
    from ganglion.server.loop.service import Service

AGAIN_MS = 60_000
MOST_KNOWN = 10_000
"""Refusals that are remembered, so that equal ones are recognised."""

log = structlog.get_logger(__name__)


class Denials:
    """Writes refusals to the ledger.

    Args:
        service: owns the ledger.
    """

    def __init__(self, service: "Service") -> None:
        self._service = service
        self._last: dict[tuple[str, str, str, str, str], int] = {}

    async def record(self, caller: Caller, operation: str) -> None:
        """Record what a caller was refused during a request."""
        write = self._written(caller.subject.user, caller.token, operation, _taken(caller))
        await self._record(caller.subject.user, write)

    async def note(self, user: str, operation: str, rule: str) -> None:
        """Record a refusal of a user who is no caller yet; empty = the user is not known."""
        await self._record(user, self._written(user, "", operation, [Denial("", rule)]))

    def record_here(self, caller: Caller, operation: str) -> None:
        """Do as `record` does, in a thread that may wait."""
        user = caller.subject.user
        self._record_here(user, self._written(user, caller.token, operation, _taken(caller)))

    def note_here(self, user: str, operation: str, rule: str) -> None:
        """Do as `note` does, in a thread that may wait."""
        self._record_here(user, self._written(user, "", operation, [Denial("", rule)]))

    def _written(
        self, user: str, token: str, operation: str, denials: Sequence[Denial]
    ) -> Callable[[Transaction], None] | None:
        """The command that records what is new; None = nothing is."""
        new = [each for each in denials if self._is_news(user, token, operation, each)]

        def write(draft: Transaction) -> None:
            for each in new:
                draft.record(AccessDenied(draft.now, user, token, operation, each.queue, each.rule))

        return write if new else None

    async def _record(self, user: str, write: Callable[[Transaction], None] | None) -> None:
        with _told(user):
            if write:
                await self._service.answer(write)

    def _record_here(self, user: str, write: Callable[[Transaction], None] | None) -> None:
        with _told(user):
            if write:
                self._service.ask(write)

    def _is_news(self, user: str, token: str, operation: str, denial: Denial) -> bool:
        key = (user, token, operation, denial.queue, denial.rule)
        now, last = self._service.now(), self._last.get(key)
        if last is not None and now - last < AGAIN_MS:
            return False
        if len(self._last) >= MOST_KNOWN:
            self._last.clear()
        self._last[key] = now
        return True


def _taken(caller: Caller) -> list[Denial]:
    """What a caller was refused and is not recorded yet."""
    denials = caller.denials.copy()
    caller.denials.clear()
    return denials


@contextmanager
def _told(user: str) -> Iterator[None]:
    """A denial that cannot be recorded is logged; the refusal itself stands."""
    try:
        yield
    except GanglionError as error:
        log.warning("a denial is not recorded", user=user, error=error.message)
