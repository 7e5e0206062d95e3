"""What is being decided, so that it can be undone."""

from typing import Protocol

from ganglion.model.events import Event


class Undo(Protocol):
    """Goes back to the state before one event."""

    @property
    def event(self) -> Event:
        """What was applied."""

    def restore(self) -> None:
        """Put back what the event changed by its own."""


class Journaled:
    """Knows what is being decided.

    Attributes:
        journal: how to undo what was applied since the last gang was turned to; None = not kept.
        attended: the gang that is decided about; empty = none alone.
    """

    def __init__(self) -> None:
        self.journal: list[Undo] | None = None
        self.attended = ""

    def attend(self, gang: str) -> None:
        """What was decided so far stays; what raises from here on is about this gang."""
        self.attended = gang
        if self.journal:
            self.journal.clear()

    def blame(self, gang: str) -> None:
        """What raises from here on is about this gang, and undoes what was decided beside it."""
        self.attended = gang
