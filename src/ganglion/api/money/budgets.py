"""Budgets as they are shown."""

from msgspec import Struct

from ganglion.api.page import Page


class BudgetLine(Struct):
    """The budget of a queue and all below it, and how it stands in the present month.

    Attributes:
        queue: name of the queue.
        micro: the limit of a month.
        carried_micro: what was left of the month before and may be spent too.
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


class BudgetPage(Page):
    """Budgets by queue; `currency` is that of the prices, empty = there are none."""

    items: tuple[BudgetLine, ...] = ()
    currency: str = ""
