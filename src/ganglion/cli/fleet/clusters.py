"""`ganglion clusters`."""

from typing import TYPE_CHECKING

from ganglion.cli.connection.connect import connect
from ganglion.cli.options import command, list_output
from ganglion.cli.output.formats import DASH, clock
from ganglion.cli.output.tables import Column, print_list

if TYPE_CHECKING:
    from ganglion.api.events import ClusterDelivery


@command("clusters", "clusters", "clusters -o json")
@list_output
def clusters(form: str) -> None:
    """List clusters whose schedulers deliver what they decide.

    HEARD is when the last record came, RECORDS how many came of the present scheduler, MISSING how
    many are known to be lost. The server has their history and audit.
    """
    columns: list[Column[ClusterDelivery]] = [
        Column("CLUSTER", lambda c: c.name, key=True),
        Column("HEARD", lambda c: clock(c.heard)),
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


def _style(cluster: "ClusterDelivery") -> str:
    return "red" if cluster.lost else ""
