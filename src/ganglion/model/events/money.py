"""Prices and budgets; the engine decides by them."""

from ganglion.model.events.base import EventBase
from ganglion.model.fleet.price import Price
from ganglion.model.queue import Budget


class PriceSet(EventBase, frozen=True, tag="price_set"):
    """A price was set; one with a date in the past corrects what was charged since then.

    Attributes:
        price: the price.
        user: who set it.
    """

    price: Price
    user: str = ""


class BudgetSet(EventBase, frozen=True, tag="budget_set"):
    """A queue has this budget from now on.

    Attributes:
        budget: the budget.
        spent_micro: what the queue has spent in the present month until now, as it is metered.
        user: who set it; empty = the server, which counted anew as a price of the past was set.
    """

    budget: Budget
    spent_micro: int = 0
    user: str = ""


class BudgetRemoved(EventBase, frozen=True, tag="budget_removed"):
    """A queue has no budget any more.

    Attributes:
        queue: its name.
        user: who removed it.
    """

    queue: str
    user: str = ""
