"""`ganglion queue`."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import rich_click as click

from ganglion.cli.connection.connect import complete_jobs, connect
from ganglion.cli.filters import filter_options, with_names
from ganglion.cli.options import command, list_output, watch
from ganglion.cli.output.formats import DASH, age, now_ms
from ganglion.cli.output.tables import Column, print_pages, table_of
from ganglion.cli.output.watching import on_screen, watch_screen
from ganglion.client.calls.paging import paged

if TYPE_CHECKING:
    from ganglion.api.workloads import OrderItem
    from ganglion.client import Client
    from ganglion.client.filters import Filters


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

    NAME is an id or a name, in which *, ? and [a-z] match as in file names.
    """
    filters = with_names(filters, names)
    with connect() as client:
        if watch:
            most = limit or on_screen()
            watch_screen(
                lambda: table_of(_shown(form), client.order_page(limit=most, **filters).items)
            )
        else:
            empty = "nothing that matches waits" if filters else "nothing waits that you may see"
            print_pages(_pages(client, limit, filters), columns(), form, empty=empty)


def _pages(
    client: "Client", limit: int | None, filters: "Filters"
) -> "Iterator[Sequence[OrderItem]]":
    return paged(lambda most, after: client.order_page(limit=most, after=after, **filters), limit)


def columns() -> "list[Column[OrderItem]]":
    """Return the columns of what waits."""
    time = now_ms()
    return [
        Column("POS", lambda i: str(i.position or DASH), right=True),
        Column("ID", lambda i: i.gang, key=True),
        Column("QUEUE", lambda i: i.queue),
        Column("USER", lambda i: i.user or DASH, wide=True),
        Column("KIND", lambda i: i.kind or DASH, wide=True),
        Column("PRIORITY", lambda i: "spare" if i.priority < 0 else str(i.priority), right=True),
        Column("GPUS", lambda i: f"{i.gpus:g}", right=True),
        Column("AGE", lambda i: age(time - i.submitted) if i.submitted else DASH, right=True),
        Column("REASON", _reason, style=_colour, stays=True),
        Column("MESSAGE", lambda i: i.message or DASH, least=12),
    ]


def _shown(form: str) -> "list[Column[OrderItem]]":
    return [c for c in columns() if form == "wide" or not c.wide]


def _reason(item: "OrderItem") -> str:
    """Return for what it waits; of a cluster whose scheduler is silent, for what it waited."""
    return f"was {item.reason or DASH}" if item.silent_since else item.reason or DASH


def _colour(item: "OrderItem") -> str:
    return "bold red" if item.never else "yellow"
