"""How budgets stand, and what queues have spent in the present month as it is metered.

Those of queues of clusters are kept by schedulers, which are notified of how they stand.
"""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from ganglion.api.access import SpendCap
from ganglion.api.money.budgets import BudgetLine, BudgetPage
from ganglion.engine.queues.budget_account import UNIT
from ganglion.engine.queues.budgets import BudgetView
from ganglion.identity.grants import lineage
from ganglion.ledger.ledger import Ledger
from ganglion.ledger.reader import Reader
from ganglion.lifecycle.budgets import CarriedOver, crossed, is_spent, spent_since
from ganglion.lifecycle.clusters import cluster_of, place_of
from ganglion.model.errors import NotFound
from ganglion.model.events import BudgetSet, PriceSet
from ganglion.model.events.policy import ClusterMoney, StandingBudget
from ganglion.model.queue import CLUSTER_SIGN, Budget
from ganglion.pricing.book import PriceBook
from ganglion.pricing.zones import month_of
from ganglion.server.state.transaction import Mind, Transaction
from ganglion.server.views.usage import OpenIntervals, opened, usage_report
from ganglion.server.views.workload_costs import away_reserved


def budget_page(mind: Mind, now: int) -> BudgetPage:
    """Every budget, by queue, at a time in ms."""
    budgets = mind.state.queues.budgets
    lines = (
        _line(each, _suspends_at(spent_since(mind.book.alarms, each.budget.queue), each))
        for each in budgets.views(now)
    )
    return BudgetPage(items=tuple(lines), currency=budgets.prices.currency)


def _line(each: BudgetView, suspends_at: int | None) -> BudgetLine:
    return BudgetLine(
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
        suspends_at=suspends_at,
        raised_micro=each.raised,
    )


class _NotedBudget(Struct, frozen=True):
    """A budget of a cluster.

    Attributes:
        budget: the budget.
        queues: its queue with those below it.
        reserved, raised: in millionths.
        carried: what is known to be carried over.
        since: when people were notified that it is spent, in ms; None = they were not.
    """

    budget: Budget
    queues: frozenset[str]
    reserved: int
    raised: int
    carried: CarriedOver
    since: int | None


class NotedBudgets(Struct, frozen=True):
    """What is known of budgets of clusters at one moment.

    Attributes:
        found: what is open; nothing where there is no budget.
        budgets: by queue.
        now: the time in ms.
    """

    found: OpenIntervals
    budgets: tuple[_NotedBudget, ...]
    now: int


def note_away(mind: Mind, ledger: Ledger, now: int, of: str = "") -> NotedBudgets:
    """Note how budgets of clusters stand, so that summing up need not hold the state still.

    Args:
        mind: the state.
        ledger: where what was held lies.
        now: the time in ms.
        of: a cluster, or the only queue; empty = all.
    """
    known = mind.book.cluster_budgets
    if not known.of:
        prices = PriceBook(list(mind.book.prices.records))
        return NotedBudgets(OpenIntervals((), (), ledger.cycle, None, prices), (), now)
    return noted_of(mind, opened(mind, ledger, now), now, of)


def noted_of(mind: Mind, found: OpenIntervals, now: int, of: str) -> NotedBudgets:
    """The same, by what is open."""
    known, tree, held = mind.book.cluster_budgets, found.tree, dict[str, int]()
    for name, each in mind.book.clusters.live():
        exact = away_reserved(mind, name, each, now)
        for queue in lineage(place_of(name, each.gang.queue), tree) if exact else ():
            held[queue] = held.get(queue, 0) + exact
    chosen = tuple(
        _NotedBudget(
            each,
            frozenset(name for name in tree if queue in lineage(name, tree)) | {queue},
            -(-held.get(queue, 0) // UNIT),
            known.raised_by(queue, now),
            known.carried.get(queue) or CarriedOver(0, month_of(now, each.zone)[0]),
            spent_since(mind.book.alarms, queue),
        )
        for queue, each in sorted(known.of.items())
        if of in ("", queue, cluster_of(queue))
    )
    return NotedBudgets(found, chosen, now)


def away_views(ledger: Reader, noted: NotedBudgets) -> list[BudgetView]:
    """How budgets of clusters stand, by queue.

    Raises:
        EnvironmentFault: the database does not answer.
    """
    return [_away_view(ledger, noted, each) for each in noted.budgets]


def _away_view(ledger: Reader, noted: NotedBudgets, each: _NotedBudget) -> BudgetView:
    def spent_in(since: int, until: int) -> int:
        period = since, max(since, until)
        return usage_report(
            ledger, noted.found, (), period, each.queues, fleet=False
        ).total.cost_micro

    begin, end = month_of(noted.now, each.budget.zone)
    carried = each.carried.until(each.budget, noted.now, spent_in)
    limit = each.budget.micro + carried + each.raised
    spent = spent_in(begin, noted.now)
    return BudgetView(each.budget, limit, spent, each.reserved, carried, begin, end, each.raised)


def begun_months(noted: NotedBudgets, views: Sequence[BudgetView]) -> list[BudgetView]:
    """Budgets that carry over what was left of a month, and whose month is new."""
    both = zip(noted.budgets, views, strict=True)
    return [
        view for each, view in both if view.budget.carry_over and each.carried.begin < view.begin
    ]


def begin_month(draft: Transaction, view: BudgetView) -> None:
    """Write down what a budget of a cluster carried over, so that it stays."""
    known, queue = draft.book.cluster_budgets, view.budget.queue
    is_same = known.of.get(queue) == view.budget and known.carried[queue].begin < view.begin
    if is_same and view.begin <= draft.now < view.end:
        draft.record(BudgetSet(draft.now, view.budget, carried_micro=view.carried))


def away_lines(noted: NotedBudgets, views: Sequence[BudgetView]) -> tuple[BudgetLine, ...]:
    """Budgets of clusters as they are shown."""
    both = zip(noted.budgets, views, strict=True)
    return tuple(_line(view, _suspends_at(each.since, view)) for each, view in both)


def money_of(noted: NotedBudgets, views: Sequence[BudgetView]) -> ClusterMoney:
    """What the scheduler of a cluster is to keep."""
    prices = tuple(PriceSet(each.at, each.price) for each in noted.found.prices.records)
    # A role that may only deliver is not shown names of queues as those of anything else.
    budgets = {
        view.budget.queue: StandingBudget(
            replace(view.budget, queue="", micro=view.limit),
            view.begin,
            view.spent,
            (noted.now if each.since is None else each.since) if is_spent(view) else 0,
            view.carried,
            view.raised,
        )
        for each, view in zip(noted.budgets, views, strict=True)
    }
    return ClusterMoney(noted.now, prices, budgets)


def _suspends_at(since: int | None, view: BudgetView) -> int | None:
    return None if since is None or not is_spent(view) else since + view.budget.grace_ms


def set_budget(draft: Transaction, budget: Budget, user: str) -> None:
    """Set the budget of a queue; what it has spent since the month began counts.

    Raises:
        NotFound: there is no such queue.
        EnvironmentFault: the ledger does not answer.
    """
    if CLUSTER_SIGN in budget.queue:
        if budget.queue not in draft.mind.tree() or budget.queue.endswith(CLUSTER_SIGN):
            raise NotFound(f"no scheduler has named queue {budget.queue!r}", "see: ganglion usage")
        carried = _carried(draft, budget) if budget.carry_over else 0
        draft.record(BudgetSet(draft.now, budget, user=user, carried_micro=carried))
        return
    draft.state.queues.shares.path(budget.queue)
    draft.record(BudgetSet(draft.now, budget, _spent(draft, budget), user))


def _carried(draft: Transaction, budget: Budget) -> int:
    """What the budget before carries over to the month in which another one is set."""
    noted = note_away(draft.mind, draft.ledger, draft.now, budget.queue)
    begin, _ = month_of(draft.now, budget.zone)
    views = away_views(draft.ledger, noted)
    return next((each.carried for each in views if each.begin == begin), 0)


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
