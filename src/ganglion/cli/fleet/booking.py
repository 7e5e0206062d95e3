"""`ganglion booking`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import rich_click as click

from ganglion.cli.connection.connect import complete_nodes, complete_queues, connect
from ganglion.cli.options import command, list_output, output, settings
from ganglion.cli.output.formats import DASH, clock, now_ms
from ganglion.cli.output.tables import Column, print_data, print_list

if TYPE_CHECKING:
    from ganglion.api.policies import BookingView

STATES = {"active": "yellow", "over": "dim"}


@click.group(
    "booking", cls=click.RichGroup, invoke_without_command=True, context_settings=settings()
)
@list_output
@click.pass_context
def booking(ctx: click.Context, form: str) -> None:
    """Keep nodes for maintenance, or for a queue or user.

    Without a command below, bookings are listed. A job may start on a booked node only if its
    time limit ends before the booking begins, or if the booking is for it.
    """
    if ctx.invoked_subcommand is None:
        _list(form)


@command(
    "add",
    "booking add cooling --in rack=r1 --from 2026-12-01T08:00 --for 4h --reason 'new pump'",
    "booking add demo --node n1 --node n2 --from +1h --for 3h --queue research",
)
@click.argument("name")
@click.option(
    "--node",
    "nodes",
    multiple=True,
    metavar="NODE",
    shell_complete=complete_nodes,
    help="A node; may be repeated.",
)
@click.option(
    "--in",
    "within",
    multiple=True,
    metavar="LEVEL=NAME",
    help="Every node of a domain, as rack=r1; may be repeated.",
)
@click.option(
    "--from",
    "begin",
    default="now",
    show_default=True,
    metavar="TIME",
    help="When it begins: 2026-12-01T08:00 (local, unless it says), +2h, now.",
)
@click.option("--to", "end", metavar="TIME", help="When it ends.")
@click.option("--for", "length", metavar="TIME", help="Duration in place of --to, as 4h.")
@click.option(
    "-q",
    "--queue",
    "queues",
    multiple=True,
    metavar="NAME",
    shell_complete=complete_queues,
    help="Queue whose jobs may use the nodes meanwhile; none = maintenance.",
)
@click.option(
    "-u",
    "--user",
    "users",
    multiple=True,
    metavar="NAME",
    help="Only this user of the queue; may be repeated.",
)
@click.option("--reason", default="", help="For people.")
@output("text", "json")
def add(
    name: str, begin: str, end: str | None, form: str, **flags: Sequence[str] | str | None
) -> None:
    """Make or change a booking.

    Jobs that run are not stopped for it; nothing starts that would run into it.
    """
    from ganglion.specs.grammar.times.instants import parse_when, print_instant

    time = now_ms()
    document: dict[str, object] = {"begin": print_instant(parse_when(begin, time))}
    if end:
        document["end"] = print_instant(parse_when(end, time))
    document |= {key: _plain(value) for key, value in flags.items() if value}
    with connect() as client:
        found = client.set_booking(name, document)
    if form == "json":
        print_data(found, form)
    else:
        nodes = ", ".join(found.nodes)
        click.echo(f"booking {name}: {nodes} from {clock(found.begin)} to {clock(found.end)}")


@command("list", "booking list", "booking list -o json")
@list_output
def list_bookings(form: str) -> None:
    """List bookings by when they begin."""
    _list(form)


@command("remove", "booking remove cooling")
@click.argument("name")
def remove(name: str) -> None:
    """Remove a booking."""
    with connect() as client:
        client.remove_booking(name)
    click.echo(f"booking {name} removed")


for each in (add, list_bookings, remove):
    booking.add_command(each)


def _list(form: str) -> None:
    with connect() as client:
        print_list(client.bookings(), COLUMNS, form, empty="no bookings")


def _plain(value: Sequence[str] | str | None) -> object:
    return list(value) if isinstance(value, tuple) else value


COLUMNS: "list[Column[BookingView]]" = [
    Column("BOOKING", lambda b: b.name),
    Column("STATE", lambda b: b.state, style=lambda b: STATES.get(b.state, "")),
    Column("FROM", lambda b: clock(b.begin)),
    Column("TO", lambda b: clock(b.end)),
    Column("FOR", lambda b: ", ".join((*b.queues, *b.users)) or "maintenance"),
    Column("NODES", lambda b: ", ".join(b.nodes), least=20),
    Column("REASON", lambda b: b.reason or DASH, least=12),
]
