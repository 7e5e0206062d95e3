"""Queues, policies, prices and budgets that are set and removed; the engine decides by them."""

from msgspec import Struct

from ganglion.model.causes import Cause
from ganglion.model.events.base import EventBase
from ganglion.model.fleet.price import Price
from ganglion.model.policy import Policy
from ganglion.model.queue import Budget, Queue


class QueueSet(EventBase, frozen=True, tag="queue_set"):
    """A queue was made or changed."""

    queue: Queue


class QueueRemoved(EventBase, frozen=True, tag="queue_removed"):
    """A queue without gangs and children was removed."""

    name: str


class PolicySet(EventBase, frozen=True, tag="policy_set"):
    """The engine decides by this policy from now on.

    Attributes:
        version: counts from 1; 0 = it is part of no history.
        user: who set it.
        cause: how it came into force.
        text: the policy file as it was written.
        queues: the whole queue tree that came with it; None = it does not mention queues.
            The queues themselves are set by events of their own.
    """

    policy: Policy
    version: int = 0
    user: str = ""
    cause: Cause | None = None
    text: str = ""
    queues: tuple[Queue, ...] | None = None


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
        user: who set it; empty = the server, which counted anew as a price of the past was set,
            or began a month of a budget of a cluster.
        carried_micro: what was left of the month before, of a budget of a cluster.
    """

    budget: Budget
    spent_micro: int = 0
    user: str = ""
    carried_micro: int = 0


class BudgetRemoved(EventBase, frozen=True, tag="budget_removed"):
    """A queue has no budget any more.

    Attributes:
        queue: its name.
        user: who removed it.
    """

    queue: str
    user: str = ""


class BudgetRequested(EventBase, frozen=True, tag="budget_requested"):
    """A user asks that a queue may spend more in the present month.

    Attributes:
        number: of the request; counts from 1.
        queue: whose budget it is about.
        micro: by how much it is to be raised, in millionths.
        until_ms: when the month that it is about is over.
        reason: why, in the words of the user.
        user: who asks.
    """

    number: int
    queue: str
    micro: int
    until_ms: int
    reason: str
    user: str


class BudgetRaised(EventBase, frozen=True, tag="budget_raised"):
    """A request was approved: its queue may spend more until the month is over.

    Attributes:
        number: of the request.
        queue: whose budget it is.
        micro: by how much it is raised, in millionths.
        user: who approved it.
        reason: in the words of that user; may be empty.
    """

    number: int
    queue: str
    micro: int
    user: str = ""
    reason: str = ""


class BudgetDenied(EventBase, frozen=True, tag="budget_denied"):
    """A request was denied.

    Attributes:
        number: of the request.
        queue: whose budget it is.
        user: who denied it.
        reason: in the words of that user; may be empty.
    """

    number: int
    queue: str
    user: str = ""
    reason: str = ""


class StandingBudget(Struct, frozen=True):
    """How the budget of a queue stands.

    Attributes:
        budget: the budget, which names no queue; its limit has what was carried over and what it
            was raised by for the present month.
        begin: of that month, in ms.
        spent_micro: what the queue and all below it have spent since then, as it is metered.
        spent_at: when people were notified that all of it is spent, in ms by the clock of the
            server; 0 = it is not.
        carried_micro, raised_micro: these parts of the limit.
    """

    budget: Budget
    begin: int
    spent_micro: int
    spent_at: int = 0
    carried_micro: int = 0
    raised_micro: int = 0


class ClusterMoney(Struct, frozen=True):
    """What a server says to the scheduler of a cluster: prices, and how its budgets stand.

    Attributes:
        at: by the clock of the server, in ms.
        prices: every price that was set.
        budgets: by the names of queues at the server.
    """

    at: int
    prices: tuple[PriceSet, ...] = ()
    budgets: dict[str, StandingBudget] = {}
