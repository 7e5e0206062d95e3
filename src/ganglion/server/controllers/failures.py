"""Manages nodes: quarantine, spares and hints, as `lifecycle.failures` decides them."""

import structlog

from ganglion.lifecycle.failures.guard import FleetGuard
from ganglion.model.causes import CordonKind
from ganglion.model.causes.former import cordon_of
from ganglion.model.events import AlarmSet, Event, NodeCordoned
from ganglion.server.commands.drains import shut_again
from ganglion.server.state.transaction import Transaction

ROUNDS = 4
"""A decision may allow another one: at most this number in a turn, the rest in the next."""

log = structlog.get_logger(__name__)


class FailuresController:
    """See `ganglion.server.controllers.controller.Keeper`."""

    name = "nodes"

    def __init__(self) -> None:
        self._guard = FleetGuard()

    def note(self, event: Event) -> None:
        """Remember what follows from events."""
        self._guard.note(event)

    def forget(self) -> None:
        """Every event comes again."""
        self._guard.forget()

    def memory(self) -> object:
        """What the guard remembers."""
        return self._guard

    def recall(self, memory: FleetGuard) -> None:
        """Go on with this guard."""
        self._guard = memory

    def tend(self, draft: Transaction) -> int | None:
        """Carry out what the guard decides; drains hold for nodes that come back, too."""
        for cordon in [*shut_again(draft.state, draft.now)]:
            draft.apply(cordon)
        for _ in range(ROUNDS):
            decided = self._guard.tend(draft.state, draft.now)
            if not decided:
                break
            for event in decided:
                if isinstance(event, AlarmSet):
                    draft.record(event)
                else:
                    _logged(event)
                    draft.apply(event)
        return self._guard.next_due(draft.now)


def _logged(event: Event) -> None:
    """An operator who reads the log finds when the fleet lost a node, and why."""
    if (
        isinstance(event, NodeCordoned)
        and cordon_of(event.reason, event.by) is CordonKind.QUARANTINE
    ):
        log.warning("node quarantined", node=event.name, reason=event.reason)
