"""Prices and budgets; money is in millionths of a unit of the currency."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from ganglion.api.money.budgets import (
    BudgetLine,
    BudgetPage,
    BudgetRequestPage,
    BudgetRequestView,
)
from ganglion.api.money.prices import PricePage, PriceView
from ganglion.model.queue import GRACE_MS, WARN_PERCENT

if TYPE_CHECKING:
    from ganglion.client.http import Http


class Money:
    """Part of `Client`; every method raises what its methods raise.

    Args:
        http: the connection.
    """

    def __init__(self, http: "Http") -> None:
        self._http = http

    def prices(self) -> PricePage:
        """List the prices that hold now, and those that are to come."""
        return self._http.call("GET", "/prices", PricePage)

    def price_history(self) -> PricePage:
        """List every price that was ever set, in that order."""
        return self._http.call("GET", "/prices:history", PricePage)

    def set_price(
        self,
        flavor: str,
        micro: int | None,
        *,
        since_ms: int = 0,
        kind: str = "",
        hours: str = "",
        zone: str = "",
        currency: str = "",
    ) -> PriceView:
        """Set a price from a date on; one in the past corrects what was charged since then.

        Args:
            flavor: kind of node.
            micro: millionths for a GPU-hour; None = no price from then on.
            since_ms: from when on; 0 = now.
            kind: of workloads that it is for; empty = those without a price of their own.
            hours: of the day, as `20:00-08:00`; empty = the whole day.
            zone: time zone of the hours.
            currency: of the first price, as `EUR`; later ones may leave it out.
        """
        body = {"micro": micro, "since": since_ms, "kind": kind, "hours": hours}
        body |= {"zone": zone, "currency": currency}
        path = f"/prices/{quote(flavor, safe='')}"
        return self._http.call("PUT", path, PriceView, body=body)

    def budgets(self) -> BudgetPage:
        """List the budgets of the queues that the caller sees, and how they stand."""
        return self._http.call("GET", "/budgets", BudgetPage)

    def set_budget(
        self,
        queue: str,
        micro: int,
        *,
        zone: str = "UTC",
        carry_over: bool = False,
        warn: Sequence[int] = WARN_PERCENT,
        grace_ms: int = GRACE_MS,
    ) -> BudgetLine:
        """Set what a queue and all below it may spend in a month.

        Args:
            queue: its name.
            micro: the limit, in millionths.
            zone: time zone in which months begin.
            carry_over: whether what is left of a month is added to the next one.
            warn: percentages of the limit at which people are notified.
            grace_ms: how long what runs goes on once the limit is spent.
        """
        body = {"micro": micro, "zone": zone, "carry_over": carry_over}
        body |= {"warn": list(warn), "grace_ms": grace_ms}
        return self._http.call("PUT", f"/budgets/{quote(queue, safe='')}", BudgetLine, body=body)

    def remove_budget(self, queue: str) -> None:
        """Remove the budget of a queue."""
        self._http.call("DELETE", f"/budgets/{quote(queue, safe='')}", Any)

    def request_budget(self, queue: str, micro: int, reason: str) -> BudgetRequestView:
        """Ask that a queue may spend more until the month is over.

        The same request, asked again while it waits, is the same one.

        Args:
            queue: its name; it has a budget.
            micro: by how much to raise it, in millionths.
            reason: why.
        """
        path = f"/budgets/{quote(queue, safe='')}/requests"
        body = {"micro": micro, "reason": reason}
        return self._http.call("POST", path, BudgetRequestView, body=body)

    def budget_requests(self, *, every: bool = False) -> BudgetRequestPage:
        """List requests that wait, the newest first; `every`: also the last of the others."""
        params = {"all": every or None}
        return self._http.call("GET", "/budget-requests", BudgetRequestPage, params=params)

    def approve_budget_request(self, number: int, reason: str = "") -> BudgetRequestView:
        """Approve a request: its queue may spend that much more until the month is over."""
        return self._decide(number, "approve", reason)

    def deny_budget_request(self, number: int, reason: str = "") -> BudgetRequestView:
        """Deny a request."""
        return self._decide(number, "deny", reason)

    def _decide(self, number: int, how: str, reason: str) -> BudgetRequestView:
        path = f"/budget-requests/{number}/{how}"
        return self._http.call("POST", path, BudgetRequestView, body={"reason": reason})
