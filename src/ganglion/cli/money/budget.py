"""`ganglion budget`."""

from typing import TYPE_CHECKING

import rich_click as click

from ganglion.cli.connection.connect import complete_queues, connect
from ganglion.cli.money.requests import approve, deny, request, requests
from ganglion.cli.options import command, list_output, output, settings
from ganglion.cli.output.formats import DASH, clock
from ganglion.cli.output.screen import note
from ganglion.cli.output.tables import Column, print_data, print_list
from ganglion.model.queue import GRACE_MS, WARN_PERCENT

if TYPE_CHECKING:
    from ganglion.api.money.budgets import BudgetLine, BudgetPage

QUEUE = click.argument("queue", shell_complete=complete_queues)


@click.group("budget", cls=click.RichGroup, context_settings=settings())
def budget() -> None:
    """Set and list what queues may spend in a month.

    A job starts only if, for its queue and every queue above it, what was spent, what runs may
    still cost and what the job may cost fit into the budget. See `ganglion price`.
    """


@command(
    "set",
    "budget set research 50000",
    "budget set vision 8000 --zone Europe/Berlin --carry-over",
    "budget set speech 2000 --warn 80,90 --grace 1h",
)
@QUEUE
@click.argument("amount")
@click.option("--zone", help="Time zone in which months begin. [UTC]")
@click.option(
    "--carry-over/--no-carry-over",
    default=None,
    help="Add what is left of a month to the next one. [no]",
)
@click.option(
    "--warn",
    help="Percentages of AMOUNT at which people are notified."
    f" [{','.join(map(str, WARN_PERCENT))}]",
)
@click.option("--grace", help=f"How long what runs goes on after that. [{GRACE_MS // 60_000}m]")
@output("text", "json")
def set_budget(
    queue: str,
    amount: str,
    zone: str | None,
    carry_over: bool | None,
    warn: str | None,
    grace: str | None,
    form: str,
) -> None:
    """Set what QUEUE and all queues below it may spend in a month.

    What was spent since the month began counts. Once AMOUNT is spent, nothing starts; after the
    grace, what runs is suspended at its next checkpoint. A queue that has a budget keeps the
    settings that are left out.
    """
    from ganglion.api.money.budgets import BudgetLine
    from ganglion.specs.grammar.money import parse_money
    from ganglion.specs.grammar.scalars import parse_percentages
    from ganglion.specs.grammar.times.durations import parse_duration

    micro = parse_money(amount)
    marks = None if warn is None else parse_percentages(warn)
    grace_ms = None if grace is None else parse_duration(grace)
    with connect() as client:
        page = client.money.budgets()
        unset = BudgetLine(queue, micro, warn=WARN_PERCENT, grace_ms=GRACE_MS)
        kept = next((each for each in page.items if each.queue == queue), unset)
        found = client.money.set_budget(
            queue,
            micro,
            zone=kept.zone if zone is None else zone,
            carry_over=kept.carry_over if carry_over is None else carry_over,
            warn=kept.warn if marks is None else marks,
            grace_ms=kept.grace_ms if grace_ms is None else grace_ms,
        )
        unit = page.currency
    if form == "json":
        print_data(found, form)
        return
    click.echo(_said(found, unit))
    if not unit:
        note("there are no prices yet, so that nothing costs anything: see ganglion price set")
    elif found.left_micro < 0:
        note("more than that is spent or reserved: nothing new starts until the month is over")


@command("list", "budget list", "budget list -o json")
@list_output
def list_budgets(form: str) -> None:
    """List budgets and how they stand in the present month."""
    with connect() as client:
        page = client.money.budgets()
    if form in ("json", "yaml"):
        print_data(page, form)
        return
    print_list(page.items, columns(page), form, empty="no budgets")


@command("show", "budget show research")
@QUEUE
@output("text", "json")
def show(queue: str, form: str) -> None:
    """Show the budget of QUEUE."""
    from ganglion.model.errors import NotFound

    with connect() as client:
        page = client.money.budgets()
    found = next((each for each in page.items if each.queue == queue), None)
    if found is None:
        raise NotFound(f"queue {queue} has no budget", "see: ganglion budget list")
    if form == "json":
        print_data(found, form)
    else:
        click.echo(_said(found, page.currency))
        click.echo(_terms(found))


@command("remove", "budget remove research")
@QUEUE
def remove(queue: str) -> None:
    """Remove the budget of QUEUE."""
    with connect() as client:
        client.money.remove_budget(queue)
    click.echo(f"queue {queue} has no budget any more")


def _said(found: "BudgetLine", unit: str) -> str:
    from ganglion.specs.grammar.money import cut_money

    limit = cut_money(found.micro + found.carried_micro + found.raised_micro)
    parts = {"carried over": found.carried_micro, "approved": found.raised_micro}
    more = ", ".join(f"{cut_money(micro)} {how}" for how, micro in parts.items() if micro)
    added = f" ({more})" if more else ""
    spent = f"; spent: {_suspends(found)}" if found.suspends_at else ""
    used = f"{cut_money(found.spent_micro)} spent + {cut_money(found.reserved_micro)} reserved"
    return (
        f"{found.queue}: {used} of {limit}{added} {unit or 'in money'},"
        f" {cut_money(found.left_micro)} left until {clock(found.end)}{spent}"
    )


def _terms(found: "BudgetLine") -> str:
    """Return the settings of a budget."""
    from ganglion.specs.grammar.times.durations import print_duration

    carried = "is carried over" if found.carry_over else "is not carried over"
    marks = ", ".join(map(str, (*found.warn, 100)))
    grace = print_duration(found.grace_ms)
    return f"months of {found.zone}; what is left {carried}; notifies at {marks} %; grace {grace}"


def _suspends(found: "BudgetLine") -> str:
    """Return what happens to what runs below a budget that is spent."""
    at = clock(found.suspends_at)
    return f"nothing starts, and from {at} on what runs is suspended at its next checkpoint"


def columns(page: "BudgetPage") -> "list[Column[BudgetLine]]":
    """Return the columns of a list of budgets."""
    from ganglion.specs.grammar.money import cut_money

    return [
        Column("QUEUE", lambda each: each.queue, key=True),
        Column(f"BUDGET {page.currency}", lambda each: cut_money(each.micro), right=True),
        Column("CARRIED", lambda each: cut_money(each.carried_micro), right=True, wide=True),
        Column("APPROVED", lambda each: cut_money(each.raised_micro), right=True, wide=True),
        Column("SPENT", lambda each: cut_money(each.spent_micro), right=True),
        Column("RESERVED", lambda each: cut_money(each.reserved_micro), right=True),
        Column("CROSSED", lambda each: f"{each.crossed} %" if each.crossed else DASH, wide=True),
        Column("LEFT", lambda each: cut_money(each.left_micro), right=True),
        Column("UNTIL", lambda each: clock(each.end)),
    ]


for each in (set_budget, list_budgets, show, remove, request, requests, approve, deny):
    budget.add_command(each)
