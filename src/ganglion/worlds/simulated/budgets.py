"""What runs once a budget is spent gives its place back, by the rule of servers and schedulers."""

from collections.abc import Mapping

from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.queues.budget_account import HOUR_MS, BudgetAccount
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.lifecycle.budgets import decide, is_spent, running_below
from ganglion.model.causes import Cause, CauseKind
from ganglion.model.events import Event, GangStopping

PAUSE_MS = 1_000
"""Least time between two looks, as of a server."""


class BudgetWarden:
    """A `Warden`: looks whenever something happens, and when a budget is spent or a gang is due.

    Args:
        state: of the engine.
        since: by queue, since when people knew before the run that its budget is spent, in ms.
    """

    def __init__(self, state: ClusterState, since: Mapping[str, int]) -> None:
        self._state, self._since = state, dict(since)
        self._looked = -PAUSE_MS
        self._due: int | None = None

    def note(self, event: Event) -> None:
        """It follows no events."""

    def tend(self, state: ClusterState, now: int) -> list[Event]:
        """The stops that are due, as of the state before the newest facts."""
        budgets, stops = state.queues.budgets, dict[str, Event]()
        if not budgets.accounts or now < self._looked + PAUSE_MS:
            return []
        self._looked, known, self._since = now, self._since, {}
        dues = list[int]()
        for view in budgets.views(now):
            queue = view.budget.queue
            if not is_spent(view):
                continue
            since = self._since[queue] = known.get(queue, now)
            running = running_below(state.gangs.records, budgets.held, queue, _floor_of)
            verdict = decide(view, since, now, running)
            for record in verdict.suspends:
                gang, cause = record.gang.id, Cause(CauseKind.BUDGET_SPENT, name=view.budget.shown)
                stops.setdefault(gang, GangStopping(now, gang, record.attempt, cause))
            dues += [verdict.due] if verdict.due is not None else []
        self._due = min(dues, default=None)
        return list(stops.values())

    def next_due(self, now: int) -> int | None:
        """When to look next although nothing happens, in ms."""
        del now  # the budgets are counted up to it
        accounts = self._state.queues.budgets.accounts
        times = [self._spent_at(each) for each in accounts.values() if not each.budget.until_ms]
        known = [each for each in (*times, self._due if accounts else None) if each is not None]
        return max(min(known), self._looked + PAUSE_MS) if known else None

    def _spent_at(self, account: BudgetAccount) -> int | None:
        """When a budget is spent as things stand, in ms, or before that, when to look again.

        None = not in this month, or it is.
        """
        budgets, spent = self._state.queues.budgets, account.spent
        worth = budgets.worth(tuple(account.rates.items()))
        if account.budget.queue in self._since or not worth:
            return None
        # Until then it lasts at the highest price; what it costs really is only summed up near it.
        lasts, until = (account.limit - spent) // worth, budgets.now + HOUR_MS
        if lasts > HOUR_MS:
            return budgets.now + lasts if budgets.now + lasts < account.end else None
        prices = budgets.prices
        for span in prices.spans(budgets.now, min(until, account.end)):
            each_ms = 0
            for rate, milli in account.rates.items():
                each_ms += milli * (prices.price(span.state.now, *rate) or 0)
            left, lasts = account.limit - spent, span.end - span.begin
            if left <= each_ms * lasts:
                return span.begin + (-(-left // each_ms) if left > 0 else 0)
            spent += each_ms * lasts
        return until if until < account.end else None


def _floor_of(record: GangRecord) -> int | None:
    """The replicas that the service of a gang has at least; None = it does not scale."""
    return record.gang.floor or None
