"""Requests that a queue may spend more in the present month, and what was decided about them.

Follows from events alone, so that a replay gives the same requests.
"""

from msgspec import Struct

from ganglion.model.errors import Conflict, NotFound
from ganglion.model.events import BudgetDenied, BudgetRaised, BudgetRequested, Event

KEPT = 200
"""Requests that were decided, or are over, and are kept for lists; the oldest go first."""
OPEN = 20
"""Most requests for one queue that may wait."""
LIST = "see: ganglion budget requests --all"


class BudgetRequest(Struct, frozen=True):
    """One request.

    Attributes:
        asked: what was asked.
        decided: what was decided; None = nothing was.
    """

    asked: BudgetRequested
    decided: BudgetRaised | BudgetDenied | None = None

    def waits(self, now: int) -> bool:
        """Whether it can be decided: it was not, and the month that it is about is not over."""
        return self.decided is None and now < self.asked.until_ms


class BudgetRequests:
    """All requests that wait, and the last of the others.

    Attributes:
        known: by number, in the order in which they were made.
        last: number of the newest.
    """

    def __init__(self) -> None:
        self.known: dict[int, BudgetRequest] = {}
        self.last = 0

    def note(self, event: Event) -> None:
        """Take in an event."""
        match event:
            case BudgetRequested():
                self.last = event.number
                self.known[event.number] = BudgetRequest(event)
                self._forget(event.at)
            case BudgetRaised() | BudgetDenied() if event.number in self.known:
                asked = self.known[event.number].asked
                self.known[event.number] = BudgetRequest(asked, event)

    def _forget(self, now: int) -> None:
        over = [number for number, each in self.known.items() if not each.waits(now)]
        for number in over[: max(len(over) - KEPT, 0)]:
            del self.known[number]

    def repeated(self, asked: BudgetRequested) -> BudgetRequest | None:
        """The request that waits and asks the same, but for its number; None = there is none.

        Raises:
            Conflict: as many requests for the queue wait as may.
        """
        waiting = [
            each
            for each in self.known.values()
            if each.asked.queue == asked.queue and each.waits(asked.at)
        ]
        for each in waiting:
            if _content(each.asked) == _content(asked):
                return each
        if len(waiting) >= OPEN:
            raise Conflict(f"{OPEN} requests for the budget of queue {asked.queue} wait", LIST)
        return None

    def to_decide(self, number: int, now: int) -> BudgetRequested:
        """A request that can be decided.

        Raises:
            NotFound: there is none of this number.
            Conflict: it was decided, or its month is over.
        """
        found = self.known.get(number)
        if found is None:
            raise NotFound(f"there is no request {number} for a budget", LIST)
        if found.decided is not None:
            how = "approved" if isinstance(found.decided, BudgetRaised) else "denied"
            said = f"request {number} was {how} by {found.decided.user} already"
            raise Conflict(said, "what was decided first counts: ganglion budget requests --all")
        if not found.waits(now):
            said = f"the month that request {number} is about is over"
            raise Conflict(said, f"ask again: ganglion budget request {found.asked.queue}")
        return found.asked


def _content(asked: BudgetRequested) -> tuple[str, int, str, str]:
    return asked.queue, asked.micro, asked.reason, asked.user
