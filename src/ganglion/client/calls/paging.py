"""All pages of a list, one after the other."""

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeVar

MOST_ROWS = 1000
"""Most rows that a server sends in one page."""

R_co = TypeVar("R_co", covariant=True)


class RowPage(Protocol[R_co]):
    """Some rows of a list, and where the next ones begin."""

    @property
    def items(self) -> Sequence[R_co]:
        """The rows."""

    @property
    def next(self) -> str | None:
        """Where the next page begins; None = that was all."""


def paged(
    fetch: Callable[[int, str | None], RowPage[R_co]], limit: int | None = None
) -> Iterator[Sequence[R_co]]:
    """Yield the rows of a list page by page.

    Args:
        fetch: returns a page, given most rows of it and `next` of the page before.
        limit: most rows in all; None = no limit.
    """
    after: str | None = None
    while limit is None or limit > 0:
        page = fetch(MOST_ROWS if limit is None else min(limit, MOST_ROWS), after)
        yield page.items
        limit, after = limit and limit - len(page.items), page.next
        if not after:
            return
