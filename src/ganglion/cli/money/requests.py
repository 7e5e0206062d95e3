"""Commands by which users ask for larger budgets, and administrators answer."""

from typing import TYPE_CHECKING

import rich_click as click

from ganglion.cli.connection.connect import complete_queues, connect
from ganglion.cli.options import command, list_output, output
from ganglion.cli.output.formats import DASH, clock
from ganglion.cli.output.tables import Column, print_data, print_list

if TYPE_CHECKING:
    from ganglion.api.money.budgets import BudgetRequestPage, BudgetRequestView

NUMBER = click.argument("number", type=click.IntRange(min=1))
ANSWER = click.option("--reason", default="", help="Why, for the user who asked.")


@command("request", 'budget request research 500 --reason "the rerun for the paper"')
@click.argument("queue", shell_complete=complete_queues)
@click.argument("amount")
@click.option("--reason", required=True, help="Why.")
@output("text", "json")
def request(queue: str, amount: str, reason: str, form: str) -> None:
    """Ask that QUEUE may spend AMOUNT more until the month is over.

    Those who may submit to QUEUE, or to a queue below it, may ask. The same request, asked again
    while it waits, is the same one.
    """
    from ganglion.specs.grammar.money import parse_money

    micro = parse_money(amount)
    with connect() as client:
        found = client.money.request_budget(queue, micro, reason)
        unit = client.money.budget_requests().currency
    _print_one(found, unit, form)


@command("requests", "budget requests", "budget requests --all -o json")
@click.option("--all", "every", is_flag=True, help="Also those that were decided, or are over.")
@list_output
def requests(every: bool, form: str) -> None:
    """List requests for larger budgets that wait for an answer."""
    with connect() as client:
        page = client.money.budget_requests(every=every)
    if form in ("json", "yaml"):
        print_data(page, form)
        return
    print_list(page.items, _columns(page), form, empty="no requests")


@command("approve", "budget approve 3", 'budget approve 3 --reason "from the reserve"')
@NUMBER
@ANSWER
@output("text", "json")
def approve(number: int, reason: str, form: str) -> None:
    """Approve request NUMBER: its queue may spend that much more until the month is over.

    What is left of it then is not carried over. The first answer to a request counts.
    """
    with connect() as client:
        found = client.money.approve_budget_request(number, reason)
        unit = client.money.budget_requests().currency
    _print_one(found, unit, form)


@command("deny", 'budget deny 3 --reason "it can wait until next month"')
@NUMBER
@ANSWER
@output("text", "json")
def deny(number: int, reason: str, form: str) -> None:
    """Deny request NUMBER. The first answer to a request counts."""
    with connect() as client:
        found = client.money.deny_budget_request(number, reason)
        unit = client.money.budget_requests().currency
    _print_one(found, unit, form)


def _print_one(found: "BudgetRequestView", unit: str, form: str) -> None:
    if form == "json":
        print_data(found, form)
        return
    from ganglion.specs.grammar.money import print_money

    worth = f"{print_money(found.micro)} {unit}".strip()
    click.echo(
        f"request {found.number} {found.state}: {worth} more for queue {found.queue}"
        f" until {clock(found.until)}"
    )


def _columns(page: "BudgetRequestPage") -> "list[Column[BudgetRequestView]]":
    from ganglion.specs.grammar.money import print_money

    return [
        Column("REQUEST", lambda each: str(each.number), key=True),
        Column("QUEUE", lambda each: each.queue),
        Column(f"MORE {page.currency}".strip(), lambda each: print_money(each.micro), right=True),
        Column("STATE", lambda each: each.state),
        Column("BY", lambda each: each.by),
        Column("ASKED", lambda each: clock(each.at)),
        Column("UNTIL", lambda each: clock(each.until)),
        Column("REASON", lambda each: each.reason),
        Column("DECIDED BY", lambda each: each.decided_by or DASH, wide=True),
        Column("ANSWER", lambda each: each.answer or DASH, wide=True),
    ]
