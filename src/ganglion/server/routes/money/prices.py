"""Routes for prices of GPU-hours."""

from typing import Annotated

from fastapi import Path, Response
from msgspec.structs import replace
from pydantic import Field

from ganglion.api.money.prices import PricePage, PriceView
from ganglion.model.errors import FieldError
from ganglion.model.events import PriceSet
from ganglion.model.fleet.price import Price
from ganglion.model.workload import Kind
from ganglion.pricing.book import PriceBook
from ganglion.server.commands.policies import flavors_of
from ganglion.server.requests.context import Here
from ganglion.server.rest import etags
from ganglion.server.rest.inputs import Input
from ganglion.server.rest.problems import ERRORS
from ganglion.server.rest.sending import Routes
from ganglion.server.state.transaction import Transaction
from ganglion.server.views.budgets import count_anew
from ganglion.specs.grammar.money import (
    MOST_MICRO,
    parse_currency,
    parse_price_hours,
    print_price_hours,
)
from ganglion.specs.grammar.times.hours import parse_zone

router = Routes(tags=["money"], responses=ERRORS)

Flavor = Annotated[str, Path(max_length=200)]
LATEST_MS = (1 << 53) - 1
"""Every number of JSON up to this one is exact."""


class PriceWish(Input):
    """A price that is to be set."""

    micro: int | None = Field(
        ge=0, le=MOST_MICRO, description="millionths for a GPU-hour; null = no price from then on"
    )
    since: int = Field(0, ge=0, le=LATEST_MS, description="from when on, in ms; 0 = now")
    kind: str = Field("", max_length=20, description="of workloads; empty = all others")
    hours: str = Field("", max_length=20, description="as `20:00-08:00`; empty = the whole day")
    zone: str = Field("", max_length=60, description="time zone of the hours")
    currency: str = Field("", max_length=3, description="of the first price, as `EUR`")


@router.get("/prices")
def list_prices(here: Here) -> PricePage:
    """List the prices that hold now, and those that are to come, by flavor."""
    now = here.service.now()
    page = _page(here)
    newest: dict[tuple[str, str, str], PriceView] = {}
    ahead = [each for each in page.items if each.since > now]
    for each in sorted(page.items, key=lambda view: (view.since, view.number)):
        if each.since <= now:
            newest[each.flavor, each.kind, each.hours] = each
    kept = [*(each for each in newest.values() if each.micro is not None), *ahead]
    kept.sort(key=lambda each: (each.flavor, each.kind, each.hours, each.since, each.number))
    return PricePage(items=tuple(kept), currency=page.currency, zone=page.zone)


@router.get("/prices:history")
def price_history(here: Here) -> PricePage:
    """List every price that was ever set, in that order; none is ever changed."""
    return _page(here)


@router.put("/prices/{flavor}", response_model=PriceView, responses=etags.CHANGED)
def set_price(
    here: Here, flavor: Flavor, wish: PriceWish, if_match: etags.IfMatch = ""
) -> Response:
    """Set a price from a date on; one in the past corrects what was charged since then.

    The tag is that of the newest price of its flavor, kind and hours.
    """
    start, end = parse_price_hours(wish.hours) if wish.hours else (0, 0)
    if wish.kind and wish.kind not in set(Kind):
        raise FieldError(
            f"there is no kind of workload `{wish.kind}`", key="kind", hint=", ".join(Kind)
        )
    price = Price(
        flavor,
        wish.since,
        wish.micro,
        wish.kind,
        start,
        end,
        parse_zone(wish.zone) if wish.zone and start != end else "",
        parse_currency(wish.currency) if wish.currency else "",
    )

    def command(draft: Transaction) -> int:
        etags.check(_tag(draft.book.prices, price), if_match, "", f"the price of {flavor}")
        return _enter(draft, price, here.user)

    number = here.service.ask(command)
    return etags.answer(_page(here).items[number - 1], "", etags.tag_of(number))


def _tag(book: PriceBook, price: Price) -> str:
    """Of the newest price of the same flavor, kind and hours; empty = there is none."""
    every = enumerate(book.records, 1)
    newest = max((number for number, each in every if each.price.key == price.key), default=0)
    return etags.tag_of(newest) if newest else ""


def _enter(draft: Transaction, price: Price, user: str) -> int:
    """Set a price; returns its number. One of the past changes what budgets have spent.

    One from now on holds from the moment at which it is set, so that it corrects nothing.

    Raises:
        FieldError: it is the first price, and has no currency.
        Conflict: it contradicts others, see `PriceBook.check`.
    """
    book = draft.book.prices
    price = replace(price, since_ms=price.since_ms or draft.now)
    if not price.currency:
        if not book.currency:
            raise FieldError(
                "the first price has to name the currency", key="currency", hint="as `EUR`"
            )
        price = replace(price, currency=book.currency)
    if not price.whole_day and not price.zone:
        price = replace(price, zone=book.zone or "UTC")
    book.check(price)
    draft.record(PriceSet(draft.now, price, user))
    if price.since_ms < draft.now:
        count_anew(draft)
    return len(book.records)


def _page(here: Here) -> PricePage:
    with here.service.read() as mind:
        book = PriceBook(list(mind.book.prices.records))
        there = frozenset(flavors_of(mind.state))
    shows = here.caller.sees_all
    items = tuple(
        PriceView(
            number,
            each.price.flavor,
            each.price.kind,
            print_price_hours(each.price.start_min, each.price.end_min),
            each.price.micro,
            each.price.since_ms,
            each.at,
            each.user if shows else "",
            each.price.flavor in there,
        )
        for number, each in enumerate(book.records, 1)
    )
    return PricePage(items=items, currency=book.currency, zone=book.zone)
