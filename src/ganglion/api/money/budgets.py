"""Budgets as they are shown."""

from enum import StrEnum

from msgspec import Struct

from ganglion.api.page import Page


class BudgetLine(Struct):
    """The budget of a queue and all below it, and how it stands in the present month.

    Attributes:
        queue: name of the queue.
        micro: the limit of a month.
        carried_micro: what was left of the month before and may be spent too.
        raised_micro: by how much requests that were approved raise it, for the present month.
        spent_micro: spent since the month began.
        reserved_micro: the most that what runs, or is promised a place, will still cost; without
            a time limit an hour counts.
        left_micro: what new work may cost at most; below 0 = more is spent or reserved.
        begin, end: the month, in ms.
        zone: time zone in which months begin.
        carry_over: whether what is left of a month is added to the next one.
        warn: percentages of the limit at which people are notified that it is spent.
        grace_ms: how long what runs goes on once the limit is spent.
        crossed: the highest such percentage, or 100, that is spent; 0 = none.
        suspends_at: from when on what runs is suspended at its next checkpoint, in ms; None =
            the limit is not spent.
    """

    queue: str
    micro: int
    carried_micro: int = 0
    spent_micro: int = 0
    reserved_micro: int = 0
    left_micro: int = 0
    begin: int = 0
    end: int = 0
    zone: str = "UTC"
    carry_over: bool = False
    warn: tuple[int, ...] = ()
    grace_ms: int = 0
    crossed: int = 0
    suspends_at: int | None = None
    raised_micro: int = 0


class BudgetPage(Page):
    """Budgets by queue; `currency` is that of the prices, empty = there are none."""

    items: tuple[BudgetLine, ...] = ()
    currency: str = ""


class RequestState(StrEnum):
    """How a request for a budget stands."""

    WAITING = "waiting"
    APPROVED = "approved"
    DENIED = "denied"
    OVER = "over"
    """The month that it is about is over, and nothing was decided."""


class BudgetRequestView(Struct):
    """A request that a queue may spend more in a month.

    Attributes:
        number: of the request.
        queue: whose budget it is about.
        micro: by how much it is to be raised.
        state: how it stands.
        reason: why, in the words of the user.
        by: who asked.
        at: when, in ms.
        until: when the month that it is about is over, in ms.
        decided_by: who decided; empty = nothing was decided.
        decided_at: when, in ms; None = nothing was.
        answer: in the words of who decided; may be empty.
    """

    number: int
    queue: str
    micro: int
    state: RequestState
    reason: str
    by: str
    at: int
    until: int
    decided_by: str = ""
    decided_at: int | None = None
    answer: str = ""


class BudgetRequestPage(Page):
    """Requests for budgets, the newest first; `currency` is that of the prices."""

    items: tuple[BudgetRequestView, ...] = ()
    currency: str = ""
