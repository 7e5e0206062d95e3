"""Prices as they are shown."""

from msgspec import Struct

from ganglion.api.page import Page


class PriceView(Struct):
    """A price of a GPU-hour.

    Attributes:
        number: counts prices in the order in which they were set, from 1.
        flavor: kind of node.
        kind: of the workloads that it is for; empty = those without a price of their own.
        hours: of the day, in the zone of the page; empty = the whole day.
        micro: the price; None = from then on there is none of this flavor, kind and hours.
        since: from when on it holds, in ms.
        at: when it was set, in ms.
        by: who set it; empty = the caller may not see the whole fleet.
        known: whether there are nodes of this flavor.
    """

    number: int
    flavor: str
    kind: str = ""
    hours: str = ""
    micro: int | None = None
    since: int = 0
    at: int = 0
    by: str = ""
    known: bool = True


class PricePage(Page):
    """Prices.

    Attributes:
        items: those asked for.
        currency: of all of them; empty = there are none.
        zone: time zone of hours; empty = no price has hours.
    """

    items: tuple[PriceView, ...] = ()
    currency: str = ""
    zone: str = ""
