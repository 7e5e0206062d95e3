"""`ganglion price`."""

from typing import TYPE_CHECKING

import rich_click as click

from ganglion.cli.connection.connect import connect
from ganglion.cli.options import command, list_output, moment, output, settings
from ganglion.cli.output.formats import DASH, clock, now_ms
from ganglion.cli.output.screen import note
from ganglion.cli.output.tables import Column, print_data, print_list

if TYPE_CHECKING:
    from ganglion.api.money.prices import PricePage, PriceView

NONE = "none"


@click.group("price", cls=click.RichGroup, context_settings=settings())
def price() -> None:
    """Set and list what an hour of a GPU costs.

    A price is one of a flavor, and may be one of a kind of workload and of hours of the day. It
    holds from a date on, until another one of the same flavor, kind and hours is set.
    """


@command(
    "set",
    "price set H100 2.50 --currency EUR",
    "price set H100 1.20 --hours 20:00-08:00 --zone Europe/Berlin",
    "price set H100 1.80 --kind batch --since 2027-01-01",
    "price set H100 none --hours 20:00-08:00 --since 2027-04-01",
)
@click.argument("flavor")
@click.argument("amount")
@click.option("--kind", default="", metavar="KIND", help="Only for workloads of this kind.")
@click.option("--hours", default="", metavar="RANGE", help="Only for hours, as 20:00-08:00.")
@click.option("--zone", default="", help="Time zone of the hours; UTC if left out.")
@click.option(
    "--since",
    default="now",
    show_default=True,
    metavar="TIME",
    help="From when on: 2027-01-01, +1h, 24h (ago). In the past: what was charged is corrected.",
)
@click.option("--currency", default="", help="Of the first price, as EUR.")
@output("text", "json")
def set_price(
    flavor: str,
    amount: str,
    kind: str,
    hours: str,
    zone: str,
    since: str,
    currency: str,
    form: str,
) -> None:
    """Set the price of a GPU-hour from a date on.

    AMOUNT is in units of the currency, as 2.50; `none` ends a price.

    A price of a kind goes before one of all kinds, and one of some hours before one of the whole
    day. Hours may not overlap. What has no price is shown as unpriced. A price is never changed
    or removed: one with a date in the past leaves what was charged, and corrections beside it.
    """
    from ganglion.specs.grammar.money import parse_money

    micro = None if amount == NONE else parse_money(amount)
    begin = 0 if since == "now" else moment(since, now_ms(), "--since")
    with connect() as client:
        found = client.money.set_price(
            flavor, micro, since_ms=begin, kind=kind, hours=hours, zone=zone, currency=currency
        )
        unit = client.money.prices().currency
    if form == "json":
        print_data(found, form)
        return
    about = " ".join(each for each in (found.flavor, found.kind, found.hours) if each)
    worth = f"{_worth(found)} {unit} per GPU-hour" if found.micro is not None else "no price"
    click.echo(f"{about}: {worth} from {clock(found.since)}")
    if not found.known:
        note(f"no node is of flavor {found.flavor} at present")


@command("list", "price list", "price list -o json")
@list_output
def list_prices(form: str) -> None:
    """List the prices that hold now, and those that are to come."""
    with connect() as client:
        _print(client.money.prices(), form, past=False)


@command("history", "price history", "price history -o csv")
@list_output
def history(form: str) -> None:
    """List every price that was ever set, with who set it and when."""
    with connect() as client:
        _print(client.money.price_history(), form, past=True)


def _print(page: "PricePage", form: str, *, past: bool) -> None:
    if form in ("json", "yaml"):
        print_data(page, form)
        return
    zone = f" ({page.zone})" if page.zone else ""
    columns: list[Column[PriceView]] = [
        Column("FLAVOR", lambda each: each.flavor, key=True),
        Column("KIND", lambda each: each.kind or DASH),
        Column(f"HOURS{zone}", lambda each: each.hours or DASH),
        Column(f"{page.currency or 'MONEY'}/GPU-HOUR", _worth, right=True),
        Column("SINCE", lambda each: clock(each.since)),
    ]
    if past:
        columns += [
            Column("SET", lambda each: clock(each.at)),
            Column("BY", lambda each: each.by or DASH),
        ]
    print_list(page.items, columns, form, empty="no prices")


def _worth(each: "PriceView") -> str:
    from ganglion.specs.grammar.money import print_money

    return NONE if each.micro is None else print_money(each.micro)


for each in (set_price, list_prices, history):
    price.add_command(each)
