"""What the world reports to the engine, and how reports get lost, doubled and late on the way."""

from ganglion.model.events import CheckpointCommitted, Event, GangEnded, GangStarted
from ganglion.worlds.simulated.faults.rates import Dice
from ganglion.worlds.simulated.heap import Heap

REPORT = 0
"""Kind of the heap entries that deliver a delayed report."""


class Reports:
    """The way from the world to its observer.

    Attributes:
        due: whether something arrived that the engine should look at now. Start reports are
            not urgent: no decision waits for them, so they ride along with the next one.

    Args:
        heap: delayed reports wait there.
        dice: decide what happens to reports.
    """

    def __init__(self, heap: Heap, dice: Dice) -> None:
        self.due = False
        self._heap, self._dice = heap, dice
        self._box: list[Event] = []
        faults = dice.faults
        self._perfect = not (faults.lost or faults.duplicated or faults.window_ms)

    def fact(self, event: Event) -> None:
        """Report something that always arrives at once."""
        self._box.append(event)
        self.due = True

    def started(self, event: GangStarted) -> None:
        """Report a start; it may get lost."""
        if self._perfect:
            self._box.append(event)
        else:
            self._send(event)

    def saved(self, event: CheckpointCommitted) -> None:
        """Report a checkpoint; like a start it is not urgent, and it may get lost."""
        if self._perfect:
            self._box.append(event)
        else:
            self._send(event)

    def ended(self, event: GangEnded) -> None:
        """Report an end; when it gets lost, the next reconcile finds it."""
        if self._perfect:
            self.fact(event)
        else:
            self._send(event)

    def take(self) -> list[Event]:
        """Everything that arrived since the last call, in order of arrival."""
        box, self._box, self.due = self._box, [], False
        return box

    def pending(self) -> bool:
        """Whether anything arrived, urgent or not."""
        return bool(self._box)

    def _send(self, event: GangStarted | GangEnded | CheckpointCommitted) -> None:
        now, dice = self._heap.now, self._dice
        for _ in range(dice.copies()):
            delay = dice.report_delay_ms()
            if dice.is_lost():
                if not isinstance(event, GangEnded):
                    continue
                delay += dice.reconcile_delay_ms(now + delay)
            self._heap.push(now + delay, REPORT, event)
