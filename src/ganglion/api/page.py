"""Pages of lists."""

from msgspec import Struct


class Page(Struct, kw_only=True):
    """Some items of a list; what they are, the list says.

    Attributes:
        next: give it as `cursor` for the next page; None = that was all.
    """

    next: str | None = None
