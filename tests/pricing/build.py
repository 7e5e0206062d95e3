"""Prices for tests."""

from ganglion.model.events import PriceSet
from ganglion.model.fleet.price import Price
from ganglion.pricing.book import PriceBook

HOUR_MS = 3_600_000


def priced(
    micro: int | None,
    since: int = 0,
    hours: tuple[int, int] = (0, 0),
    kind: str = "",
    flavor: str = "H100",
    zone: str = "UTC",
) -> Price:
    """A price; hours in whole hours of the day."""
    start, end = (each * 60 for each in hours)
    return Price(
        flavor, since, micro, kind, start, end, zone if start != end else "", currency="EUR"
    )


def book_of(*prices: Price, at: int = 0) -> PriceBook:
    """A book of prices that were all set at one time."""
    made = PriceBook()
    for each in prices:
        made.check(each)
        made.note(PriceSet(at, each, "ada"))
    return made
