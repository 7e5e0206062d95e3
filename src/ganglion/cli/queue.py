"""`ganglion queue`."""

from typing import TYPE_CHECKING

import rich_click as click

from ganglion.cli.connect import complete_queues, connect
from ganglion.cli.formats import DASH, age, now_ms
from ganglion.cli.options import command, list_output, watch
from ganglion.cli.tables import Column, print_list, table_of
from ganglion.cli.watching import watch_screen

if TYPE_CHECKING:
    from ganglion.client import Client
    from ganglion.client.views import OrderItem


@command("queue", "queue --watch", "queue -q research -n 20", "queue -o wide")
@click.option(
    "-q", "--queue", metavar="NAME", shell_complete=complete_queues, help="Those of this queue."
)
@click.option("-u", "--user", metavar="NAME", help="Those of this user.")
@click.option("-n", "--limit", type=click.IntRange(min=1), help="At most so many rows.")
@watch
@list_output
def queue(queue: str | None, user: str | None, limit: int | None, watch: bool, form: str) -> None:
    """Show everything that waits, in order.

    Everyone's, the next to start first. POS is the place in the whole order.
    """
    with connect() as client:

        def rows() -> "list[OrderItem]":
            return _fetch(client, queue, user)[:limit]

        if watch:
            watch_screen(lambda: table_of(_shown(form), rows()))
        else:
            print_list(rows(), _columns(), form, empty="nothing waits")


def _fetch(client: "Client", queue: str | None, user: str | None) -> "list[OrderItem]":
    leaf = queue and queue.rpartition("/")[2]
    return [
        item for item in client.order() if leaf in (None, item.queue) and user in (None, item.user)
    ]


def _columns() -> "list[Column[OrderItem]]":
    time = now_ms()
    return [
        Column("POS", lambda i: str(i.position or DASH), right=True),
        Column("ID", lambda i: i.gang, least=14),
        Column("QUEUE", lambda i: i.queue),
        Column("USER", lambda i: i.user or DASH, wide=True),
        Column("KIND", lambda i: i.kind or DASH, wide=True),
        Column("PRIORITY", lambda i: "spare" if i.priority < 0 else str(i.priority), right=True),
        Column("GPUS", lambda i: f"{i.gpus:g}", right=True),
        Column("AGE", lambda i: age(time - i.submitted) if i.submitted else DASH, right=True),
        Column("REASON", lambda i: i.reason or DASH, style=_colour),
        Column("MESSAGE", lambda i: i.message or DASH, least=12),
    ]


def _shown(form: str) -> "list[Column[OrderItem]]":
    return [c for c in _columns() if form == "wide" or not c.wide]


def _colour(item: "OrderItem") -> str:
    return "bold red" if item.never else "yellow"
