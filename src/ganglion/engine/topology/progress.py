"""How far the state has come: its time, and counters of what has changed."""

from ganglion.model.errors import InvariantBroken


class EngineProgress:
    """The time of the state, and what has changed so far, counted.

    What was found out holds until a counter grows, so every change that can make something
    possible is reported by `changed`.

    Invariant: nothing in the state happened after the clock's time.

    Attributes:
        clock: time of the latest event, in ms.
        freed: grows whenever something became possible that was not before.
        turn: placements made so far.
    """

    def __init__(self) -> None:
        self.clock = self.freed = self.turn = 0

    def changed(self, times: int = 1) -> None:
        """Something became possible that was not before; 0 = nothing did."""
        self.freed += times

    def check(self, latest: int) -> None:
        """Check the invariant. Raises InvariantBroken.

        Args:
            latest: the latest time that anything in the state holds, in ms.
        """
        if latest > self.clock:
            raise InvariantBroken(f"something happened {latest - self.clock} ms after the clock")
