"""Pages of lists: a cursor says after which item the next page begins."""

import base64
import binascii
import json
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Annotated, TypeVar

from pydantic import BaseModel, Field

from ganglion.model.errors import FieldError

T = TypeVar("T")
Rank = tuple[int | str, ...]
"""What a list is sorted by; the last part names the item, and no other."""

MOST_ITEMS = 1000
"""Most items of one page."""

Limit = Annotated[int | None, Field(ge=1, le=MOST_ITEMS, description="most items; none = all")]
Cursor = Annotated[str | None, Field(max_length=2000, description="`next` of the page before")]


class Paging(BaseModel):
    """Which page of a list."""

    limit: Limit = None
    cursor: Cursor = None


def cut(
    of: str, items: Sequence[T], rank: Callable[[T], Rank], page: Paging
) -> tuple[Sequence[T], str | None]:
    """Return one page of a list, and the cursor of the next; None = it is the last.

    A page goes on behind the item that ended the one before, wherever that is by now; where it
    is gone, behind the rank that it had.

    Args:
        of: name of the list; a cursor of another one is refused.
        items: all of them, sorted by rank.
        rank: of an item.
        page: which page.

    Raises:
        FieldError: the cursor is none of this list.
    """
    begin = 0
    if page.cursor is not None:
        last, ranks = parsed(of, page.cursor), [rank(each) for each in items]
        if ranks and [type(part) for part in ranks[0]] != [type(part) for part in last]:
            raise not_a_cursor(of)
        there = (n for n, each in enumerate(ranks, 1) if each[-1] == last[-1])
        begin = next(there, None) or bisect_right(ranks, last)
    shown = items[begin:] if page.limit is None else items[begin : begin + page.limit]
    more = begin + len(shown) < len(items)
    return shown, printed(of, rank(shown[-1])) if more and shown else None


def printed(of: str, rank: Rank) -> str:
    """Return the cursor of the page behind an item."""
    text = json.dumps([of, *rank], separators=(",", ":"), ensure_ascii=False)
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def parsed(of: str, cursor: str) -> Rank:
    """Return the rank of a cursor.

    Raises:
        FieldError: it is none of this list.
    """
    try:
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        found = json.loads(base64.urlsafe_b64decode(padded))
    except (ValueError, binascii.Error, RecursionError):
        raise not_a_cursor(of) from None
    if not isinstance(found, list) or len(found) < 2 or found[0] != of:
        raise not_a_cursor(of)
    if any(type(part) not in (int, str) for part in found):
        raise not_a_cursor(of)
    return tuple(found[1:])


def not_a_cursor(of: str) -> FieldError:
    """Return the error for a cursor that this list did not give."""
    return FieldError(
        f"it is no cursor of {of}", key="cursor", hint="give `next` of the page before"
    )
