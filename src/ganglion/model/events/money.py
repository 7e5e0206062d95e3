"""Prices; decisions follow from them where budgets do."""

from ganglion.model.events.base import EventBase
from ganglion.model.fleet.price import Price


class PriceSet(EventBase, frozen=True, tag="price_set"):
    """A price was set; one with a date in the past corrects what was charged since then.

    Attributes:
        price: the price.
        user: who set it.
    """

    price: Price
    user: str = ""
