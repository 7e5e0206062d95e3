"""Routes for requests that a queue may spend more in the present month."""

from typing import Annotated

from fastapi import Path, Query
from pydantic import Field

from ganglion.api.money.budgets import BudgetRequestPage, BudgetRequestView, RequestState
from ganglion.identity.grants import lineage
from ganglion.identity.roles import AccessVerb, ResourceKind
from ganglion.lifecycle.budget_requests import BudgetRequest
from ganglion.model.errors import FieldError, NotFound
from ganglion.model.events import BudgetDenied, BudgetRaised, BudgetRequested
from ganglion.pricing.zones import month_of
from ganglion.server.access.caller import Caller
from ganglion.server.access.owned_queues import require_budget
from ganglion.server.requests.context import Here, ServerContext
from ganglion.server.rest.inputs import Input
from ganglion.server.rest.problems import ERRORS
from ganglion.server.rest.sending import Routes
from ganglion.server.state.transaction import Transaction
from ganglion.specs.grammar.money import MOST_MICRO

router = Routes(tags=["money"], responses=ERRORS)

MOST_REASON = 500
Name = Annotated[str, Path(max_length=200)]
Number = Annotated[int, Path(ge=0, le=1 << 53)]


class BudgetRequestWish(Input):
    """A request that a queue may spend more until the month is over."""

    micro: int = Field(gt=0, le=MOST_MICRO, description="by how much to raise it, in millionths")
    reason: str = Field(min_length=1, max_length=MOST_REASON, description="why")


class BudgetDecisionWish(Input):
    """What is said of a request that is approved or denied."""

    reason: str = Field("", max_length=MOST_REASON, description="why, for the user who asked")


@router.post("/budgets/{name}/requests", status_code=201)
def request_budget(here: Here, name: Name, wish: BudgetRequestWish) -> BudgetRequestView:
    """Ask that a queue may spend more until the month is over.

    The same request, asked again while it waits, is the same one.
    """
    if not wish.reason.strip():
        raise FieldError("say why the budget is to be raised", key="reason")

    def carry_out(draft: Transaction) -> BudgetRequest:
        _check_asking(here.caller, draft, name)
        end, known = _month_end(draft, name), draft.book.budget_requests
        terms = (known.last + 1, name, wish.micro, end, wish.reason.strip(), here.user)
        asked = BudgetRequested(draft.now, *terms)
        before = known.repeated(asked)
        if before is None:
            draft.record(asked)
        return before or BudgetRequest(asked)

    return _view(here.service.ask(carry_out), here.service.now())


@router.get("/budget-requests")
def list_budget_requests(
    here: Here,
    every: Annotated[bool, Query(alias="all", description="also those that do not wait")] = False,
) -> BudgetRequestPage:
    """List requests of the caller, and for queues that it sees, the newest first."""
    now = here.service.now()
    with here.service.read() as mind:
        known = list(mind.book.budget_requests.known.values())
        unit = mind.book.prices.currency
    items = tuple(
        _view(each, now)
        for each in reversed(known)
        if (here.caller.sees(each.asked.queue) or each.asked.user == here.user)
        and (every or each.waits(now))
    )
    return BudgetRequestPage(items=items, currency=unit)


@router.post("/budget-requests/{number}/approve")
def approve_budget_request(
    here: Here, number: Number, wish: BudgetDecisionWish
) -> BudgetRequestView:
    """Approve a request: its queue may spend that much more until the month is over.

    What is left of it then is not carried over. The first decision about a request counts.
    """

    def carry_out(draft: Transaction) -> BudgetRequest:
        asked = _to_decide(here, draft, number)
        event = BudgetRaised(draft.now, number, asked.queue, asked.micro, here.user, wish.reason)
        if asked.queue in draft.book.cluster_budgets.of:
            draft.record(event)
        elif not draft.apply(event):
            raise _unbudgeted(draft, asked.queue)
        return BudgetRequest(asked, event)

    return _view(here.service.ask(carry_out), here.service.now())


@router.post("/budget-requests/{number}/deny")
def deny_budget_request(here: Here, number: Number, wish: BudgetDecisionWish) -> BudgetRequestView:
    """Deny a request. The first decision about a request counts."""

    def carry_out(draft: Transaction) -> BudgetRequest:
        asked = _to_decide(here, draft, number)
        event = BudgetDenied(draft.now, number, asked.queue, here.user, wish.reason)
        draft.record(event)
        return BudgetRequest(asked, event)

    return _view(here.service.ask(carry_out), here.service.now())


def _check_asking(caller: Caller, draft: Transaction, name: str) -> None:
    """Raises Forbidden: the caller may not submit to the queue, nor to any below it."""
    tree = draft.mind.tree()
    below = [each for each in tree if name in lineage(each, tree)]
    verb, kind = AccessVerb.SUBMIT, ResourceKind.WORKLOAD
    if not any(caller.may(verb, kind, leaf).allowed for leaf in below):
        caller.require(verb, kind, name)


def _month_end(draft: Transaction, name: str) -> int:
    """When the present month of a budget ends, in ms. Raises NotFound: there is no such budget."""
    away = draft.book.cluster_budgets.of.get(name)
    if away:
        return month_of(draft.now, away.zone)[1]
    account = draft.state.queues.budgets.accounts.get(name)
    if account is None:
        raise _unbudgeted(draft, name)
    return account.end


def _unbudgeted(draft: Transaction, name: str) -> NotFound:
    """The answer about a queue without a budget: it names the ones above that have one."""
    tree, away = draft.mind.tree(), draft.book.cluster_budgets.of
    path = lineage(name, tree) if name in tree else draft.state.queues.shares.path(name)
    known = draft.state.queues.budgets.accounts
    above = [each for each in path if each in known or each in away]
    if above:
        hint = f"the budget above it is that of queue {above[0]}"
    else:
        hint = "no budget keeps it from starting work"
    return NotFound(f"queue {name} has no budget", hint)


def _to_decide(here: ServerContext, draft: Transaction, number: int) -> BudgetRequested:
    """A request that the caller may decide. Raises NotFound, Forbidden or Conflict."""
    requests = draft.book.budget_requests
    found = requests.known.get(number)
    if found is not None:
        require_budget(here.caller, draft.mind.tree(), found.asked.queue)
    return requests.to_decide(number, draft.now)


def _view(each: BudgetRequest, now: int) -> BudgetRequestView:
    asked, decided = each.asked, each.decided
    match decided:
        case BudgetRaised():
            state = RequestState.APPROVED
        case BudgetDenied():
            state = RequestState.DENIED
        case None:
            state = RequestState.WAITING if each.waits(now) else RequestState.OVER
    return BudgetRequestView(
        number=asked.number,
        queue=asked.queue,
        micro=asked.micro,
        state=state,
        reason=asked.reason,
        by=asked.user,
        at=asked.at,
        until=asked.until_ms,
        decided_by=decided.user if decided else "",
        decided_at=decided.at if decided else None,
        answer=decided.reason if decided else "",
    )
