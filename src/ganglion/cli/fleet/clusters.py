"""`ganglion clusters`."""

from typing import TYPE_CHECKING

import rich_click as click

from ganglion.cli.connection.connect import connect
from ganglion.cli.options import command, list_output
from ganglion.cli.output.formats import DASH, clock
from ganglion.cli.output.screen import note
from ganglion.cli.output.tables import Column, print_list

if TYPE_CHECKING:
    from ganglion.api.events import ClusterDelivery


@command("clusters", "clusters", "clusters -o json", "clusters --register east")
@click.option(
    "--register",
    default="",
    metavar="NAME",
    help="Let a cluster of this name deliver, and print the token for its scheduler.",
)
@list_output
def clusters(register: str, form: str) -> None:
    """List clusters whose schedulers deliver what they decide.

    HEARD is when the last record came, RECORDS how many came of the present scheduler, MISSING how
    many are known to be lost. SILENT SINCE is set where that scheduler should have spoken again:
    its work is shown as it was then. The server has the history and audit of clusters, and its
    portal shows them.
    """
    if register:
        _register(register)
        return
    columns: list[Column[ClusterDelivery]] = [
        Column("CLUSTER", lambda c: c.name, key=True),
        Column("HEARD", lambda c: clock(c.heard)),
        Column("SILENT SINCE", lambda c: clock(c.silent_since) if c.silent_since else DASH),
        Column("RECORDS", lambda c: str(c.position), right=True),
        Column("GANGS", lambda c: str(c.gangs), right=True),
        Column("MISSING", lambda c: str(c.lost), right=True, style=_style),
        Column("SOFTWARE", lambda c: c.version or DASH, wide=True),
        Column("SCHEDULER", lambda c: c.scheduler or DASH, wide=True),
    ]
    with connect() as client:
        print_list(
            client.daily.clusters(), columns, form, empty="no cluster delivers to this server"
        )


def _register(name: str) -> None:
    """Print a token by which records of a cluster may be delivered, and nothing else be done."""
    from ganglion.cli.connection.registration import LIFE_DAYS, new_token

    with connect() as client:
        token = new_token(client, name)
    note(f"Token of {name}, role reporter on {name}:, for {LIFE_DAYS} days; it is not shown again:")
    click.echo(token)


def _style(cluster: "ClusterDelivery") -> str:
    return "red" if cluster.lost else ""
