"""`ganglion queue`."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import rich_click as click

from ganglion.cli.connection.connect import complete_jobs, connect
from ganglion.cli.filters import filter_options, with_names
from ganglion.cli.options import command, list_output, watch
from ganglion.cli.output.formats import DASH, age, now_ms
from ganglion.cli.output.tables import Column, TextTable, print_pages, table_of
from ganglion.cli.output.watching import on_screen, watch_screen
from ganglion.client.calls.paging import paged

if TYPE_CHECKING:
    from ganglion.api.reasons import StartView
    from ganglion.api.workloads import OrderItem, OrderPage
    from ganglion.client import Client
    from ganglion.client.filters import Filters

    Starts = dict[str, StartView | None]

MOST_STARTS = 100
"""Rows of which it is said when they start; a server says it of no more at once."""


@command("queue", "queue --watch", "queue -q research -n 20", "queue 'train-*' -o wide")
@click.argument("names", nargs=-1, metavar="[NAME]...", shell_complete=complete_jobs)
@filter_options(state=False)
@click.option("-n", "--limit", type=click.IntRange(min=1), help="Most rows to print.")
@watch
@list_output
def queue(
    names: tuple[str, ...], filters: "Filters", limit: int | None, watch: bool, form: str
) -> None:
    """Show everything that waits, in order.

    The workloads of all users, the next to start first. POS is the place in the whole order; what
    waits in clusters comes last, and its places are those of its own scheduler.

    -o wide has START too, of the first 100: until when half of such gangs start, and nine of ten.

    NAME is an id or a name, in which *, ? and [a-z] match as in file names.
    """
    filters = with_names(filters, names)
    with connect() as client:
        starts: Starts = {}
        if watch:
            most = limit or on_screen()

            def shown() -> "TextTable[OrderItem]":
                items = client.order_page(limit=most, **filters).items
                starts.clear()
                _note(client, form, items, starts)
                return table_of(_shown(form, starts), items)

            watch_screen(shown)
        else:
            empty = "nothing that matches waits" if filters else "nothing waits that you may see"
            pages = _pages(client, form, limit, filters, starts)
            print_pages(pages, columns(form, starts), form, empty=empty)


def _pages(
    client: "Client", form: str, limit: int | None, filters: "Filters", starts: "Starts"
) -> "Iterator[Sequence[OrderItem]]":
    def fetch(most: int, after: str | None) -> "OrderPage":
        page = client.order_page(limit=most, after=after, **filters)
        _note(client, form, page.items, starts)
        return page

    return paged(fetch, limit)


def _note(client: "Client", form: str, items: "Sequence[OrderItem]", starts: "Starts") -> None:
    """Read when the first gangs of a list start; to compute that of all would hold up decisions."""
    if form == "wide" and items and not starts:
        starts |= dict.fromkeys((each.gang for each in items[:MOST_STARTS]), None)
        starts |= client.daily.starts(list(starts))


def columns(form: str, starts: "Starts") -> "list[Column[OrderItem]]":
    """Return the columns of what waits.

    Args:
        form: in which it is shown.
        starts: when gangs start, by gang; None = that is not said.
    """
    time = now_ms()
    start: Column[OrderItem] = Column("START", lambda i: _start(i, starts, time), wide=True)
    return [
        Column("POS", lambda i: str(i.position or DASH), right=True),
        Column("ID", lambda i: i.gang, key=True),
        Column("QUEUE", lambda i: i.queue),
        Column("USER", lambda i: i.user or DASH, wide=True),
        Column("KIND", lambda i: i.kind or DASH, wide=True),
        Column("PRIORITY", lambda i: "spare" if i.priority < 0 else str(i.priority), right=True),
        Column("GPUS", lambda i: f"{i.gpus:g}", right=True),
        Column("AGE", lambda i: age(time - i.submitted) if i.submitted else DASH, right=True),
        *([start] if form == "wide" else []),
        Column("REASON", _reason, style=_colour, stays=True),
        Column("MESSAGE", lambda i: i.message or DASH, least=12),
    ]


def _shown(form: str, starts: "Starts") -> "list[Column[OrderItem]]":
    return [c for c in columns(form, starts) if form == "wide" or not c.wide]


def _start(item: "OrderItem", starts: "Starts", now: int) -> str:
    """Return within which times from now it is expected to start."""
    if item.never:
        return "never"
    if item.gang not in starts:
        return DASH
    found = starts[item.gang]
    if found is None or found.start is None:
        return "unknown"
    soon, late = (age(max(each - now, 0)) for each in (found.start.p50, found.start.p90))
    return f"{soon} to {late}"


def _reason(item: "OrderItem") -> str:
    """Return for what it waits; of a cluster whose scheduler is silent, for what it waited."""
    return f"was {item.reason or DASH}" if item.silent_since else item.reason or DASH


def _colour(item: "OrderItem") -> str:
    return "bold red" if item.never else "yellow"
