"""How budgets stand, and what queues have spent in the present month as it is metered."""

from msgspec.structs import replace

from ganglion.api.access import SpendCap
from ganglion.api.money.budgets import BudgetLine, BudgetPage
from ganglion.engine.queues.budgets import BudgetView
from ganglion.lifecycle.budgets import crossed, is_spent, spent_since
from ganglion.model.events import BudgetSet
from ganglion.model.queue import Budget
from ganglion.pricing.zones import month_of
from ganglion.server.state.registry import Registry
from ganglion.server.state.transaction import Mind, Transaction
from ganglion.server.views.usage import opened, usage_report


def budget_page(mind: Mind, now: int) -> BudgetPage:
    """Every budget, by queue, at a time in ms."""
    budgets = mind.state.queues.budgets
    lines = tuple(
        BudgetLine(
            queue=each.budget.queue,
            micro=each.budget.micro,
            carried_micro=each.carried,
            spent_micro=each.spent,
            reserved_micro=each.reserved,
            left_micro=each.limit - each.spent - each.reserved,
            begin=each.begin,
            end=each.end,
            zone=each.budget.zone,
            carry_over=each.budget.carry_over,
            warn=each.budget.warn,
            grace_ms=each.budget.grace_ms,
            crossed=crossed(each),
            suspends_at=_suspends_at(mind.book, each),
            raised_micro=each.raised,
        )
        for each in budgets.views(now)
    )
    return BudgetPage(items=lines, currency=budgets.prices.currency)


def _suspends_at(book: Registry, view: BudgetView) -> int | None:
    since = spent_since(book.alarms, view.budget.queue)
    return None if since is None or not is_spent(view) else since + view.budget.grace_ms


def set_budget(draft: Transaction, budget: Budget, user: str) -> None:
    """Set the budget of a queue; what it has spent since the month began counts.

    Raises:
        NotFound: there is no such queue.
        EnvironmentFault: the ledger does not answer.
    """
    draft.state.queues.shares.path(budget.queue)
    draft.record(BudgetSet(draft.now, budget, _spent(draft, budget), user))


def count_anew(draft: Transaction) -> None:
    """Prices of the past were set: count again what queues with budgets have spent."""
    for view in draft.state.queues.budgets.views(draft.now):
        draft.record(BudgetSet(draft.now, view.budget, _spent(draft, view.budget)))


def cap_of_token(mind: Mind, token: str, now: int) -> SpendCap | None:
    """How the spending cap of a token stands, by its id; None = it has none."""
    budgets = mind.state.queues.budgets
    found = budgets.cap_view(token, now)
    if found is None:
        return None
    left = found.limit - found.spent - found.reserved
    return SpendCap(found.limit, found.spent, found.reserved, left, budgets.prices.currency)


def _spent(draft: Transaction, budget: Budget) -> int:
    """Millionths that a queue and all below it have spent since the month began."""
    begin, _ = month_of(draft.now, budget.zone)
    found = opened(draft.mind, draft.ledger, draft.now)
    leaves = frozenset(draft.state.queues.shares.tree.leaves(budget.queue))
    pending = draft.book.meter.pending_usage()
    found = replace(found, usage=(*found.usage, *pending))
    period = begin, max(begin, draft.now)
    return usage_report(draft.ledger, found, (), period, leaves, fleet=False).total.cost_micro
