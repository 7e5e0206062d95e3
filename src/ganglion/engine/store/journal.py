"""What is being decided, so that it can be undone."""

from typing import Protocol

from ganglion.model.errors import InvariantBroken
from ganglion.model.events import Event


class Undo(Protocol):
    """Goes back to the state before one event."""

    @property
    def event(self) -> Event:
        """What was applied."""

    def restore(self) -> None:
        """Put back what the event changed by its own."""


class Journal:
    """Knows what is being decided.

    Invariant: between stages it is closed, and nothing is to be undone.

    Attributes:
        attended: the gang that is decided about; empty = none alone.
    """

    def __init__(self) -> None:
        self._steps: list[Undo] | None = None
        self.attended = ""

    def open(self) -> None:
        """A stage begins: what is applied from here on may be undone."""
        self.attended, self._steps = "", []

    def close(self) -> list[Undo]:
        """A stage is over; returns what was applied since it turned to its last gang."""
        steps, self._steps = self._steps, None
        return steps or []

    def applied(self, undo: Undo) -> None:
        """An event was applied."""
        if self._steps is not None:
            self._steps.append(undo)

    def attend(self, gang: str) -> None:
        """What was decided so far stays; what raises from here on is about this gang."""
        self.attended = gang
        if self._steps:
            self._steps.clear()

    def blame(self, gang: str) -> None:
        """What raises from here on is about this gang, and undoes what was decided beside it."""
        self.attended = gang

    def check(self) -> None:
        """Check the invariant, between stages. Raises InvariantBroken."""
        if self._steps is not None:
            raise InvariantBroken("a stage was not closed")
