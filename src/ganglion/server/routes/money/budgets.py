"""Routes for budgets of queues."""

from typing import Annotated

from fastapi import Path, Response
from pydantic import Field

from ganglion.api.money.budgets import BudgetLine, BudgetPage
from ganglion.api.server import Done
from ganglion.model.errors import NotFound
from ganglion.model.events import BudgetRemoved
from ganglion.model.queue import GRACE_MS, WARN_PERCENT, Budget
from ganglion.server.access.owned_queues import require_budget
from ganglion.server.requests.context import Here
from ganglion.server.rest import etags
from ganglion.server.rest.inputs import Input
from ganglion.server.rest.problems import ERRORS, STALE
from ganglion.server.rest.sending import Routes
from ganglion.server.state.transaction import Transaction
from ganglion.server.views import budgets
from ganglion.specs.grammar.money import MOST_MICRO
from ganglion.specs.grammar.times.hours import parse_zone

router = Routes(tags=["money"], responses=ERRORS)

MOST_GRACE_MS = 7 * 24 * 3_600_000

Name = Annotated[str, Path(max_length=200)]


class BudgetWish(Input):
    """A budget that is to be set."""

    micro: int = Field(ge=0, le=MOST_MICRO, description="limit of a month, in millionths")
    zone: str = Field("UTC", max_length=60, description="time zone in which months begin")
    carry_over: bool = Field(
        False, description="whether what is left of a month is added to the next one"
    )
    warn: list[Annotated[int, Field(ge=1, le=99)]] = Field(
        [*WARN_PERCENT], max_length=20, description="percentages at which people are notified"
    )
    grace_ms: int = Field(
        GRACE_MS, ge=0, le=MOST_GRACE_MS, description="how long what runs goes on once it is spent"
    )


@router.get("/budgets")
def list_budgets(here: Here) -> BudgetPage:
    """List the budgets of the queues that the caller sees, and how they stand."""
    now, ledger = here.service.now(), here.service.ledger
    with here.service.read() as mind:
        page = budgets.budget_page(mind, now)
        noted = budgets.note_away(mind, ledger, now)
    lines = (*page.items, *budgets.away_lines(noted, budgets.away_views(ledger, noted)))
    items = tuple(each for each in lines if here.caller.sees(each.queue))
    return BudgetPage(items=items, currency=page.currency)


@router.put("/budgets/{name}", response_model=BudgetLine, responses=etags.CHANGED)
def set_budget(
    here: Here,
    name: Name,
    wish: BudgetWish,
    if_match: etags.IfMatch = "",
    if_none_match: etags.IfNoneMatch = "",
) -> Response:
    """Set what a queue and all below it may spend in a month.

    What was spent since the month began counts. Once all of it is spent, nothing starts, and
    what runs is suspended after the grace, at its next checkpoint. A budget of a queue of a
    cluster is kept by its scheduler, within two minutes.
    """
    warn = tuple(sorted(set(wish.warn)))
    zone = parse_zone(wish.zone)
    budget = Budget(name, wish.micro, zone, wish.carry_over, warn, wish.grace_ms)

    def carry_out(draft: Transaction) -> BudgetLine:
        require_budget(here.caller, draft.mind.tree(), name)
        present = _tag(_present(draft, name))
        etags.check(present, if_match, if_none_match, f"the budget of {name}")
        budgets.set_budget(draft, budget, here.user)
        page = budgets.budget_page(draft.mind, draft.now)
        noted = budgets.note_away(draft.mind, draft.ledger, draft.now, name)
        lines = budgets.away_lines(noted, budgets.away_views(draft.ledger, noted))
        return next(each for each in (*page.items, *lines) if each.queue == name)

    return etags.answer(here.service.ask(carry_out), "", _tag(budget))


def _present(draft: Transaction, name: str) -> Budget | None:
    account = draft.state.queues.budgets.accounts.get(name)
    return account.budget if account else draft.book.cluster_budgets.of.get(name)


def _tag(budget: Budget | None) -> str:
    """Of a budget, whatever was spent; empty = there is none."""
    if budget is None:
        return ""
    rules = (budget.micro, budget.zone, budget.carry_over, sorted(budget.warn), budget.grace_ms)
    return etags.tag_of(rules)


@router.delete("/budgets/{name}", responses=STALE)
def remove_budget(here: Here, name: Name, if_match: etags.IfMatch = "") -> Done:
    """Remove the budget of a queue."""

    def carry_out(draft: Transaction) -> None:
        require_budget(here.caller, draft.mind.tree(), name)
        etags.check(_tag(_present(draft, name)), if_match, "", f"the budget of {name}")
        removed = BudgetRemoved(draft.now, name, here.user)
        if name in draft.book.cluster_budgets.of:
            draft.record(removed)
        elif not draft.apply(removed):
            raise NotFound(f"queue {name} has no budget", "see: ganglion budget list")

    here.service.ask(carry_out)
    return Done()
