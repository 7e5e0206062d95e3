"""`ganglion schedules`."""

from typing import TYPE_CHECKING

import rich_click as click

from ganglion.cli.connection.connect import connect
from ganglion.cli.options import command, list_output
from ganglion.cli.output.formats import DASH, clock
from ganglion.cli.output.tables import Column, print_list

if TYPE_CHECKING:
    from ganglion.api.schedules import ScheduleView


@command("schedules", "schedules", "schedules -o wide", "schedules --remove nightly")
@click.option("--remove", "removed", metavar="NAME", help="Remove a schedule.")
@list_output
def schedules(removed: str | None, form: str) -> None:
    """List workloads that are submitted on a schedule.

    The next date is first. A workload file with `schedule` makes a schedule; submitting it
    again changes it. Removing one does not stop the workloads that it has submitted.
    """
    with connect() as client:
        if removed:
            client.again.remove_schedule(removed)
            click.echo(f"schedule {removed} removed")
            return
        found = client.again.schedules()
    print_list(found, _columns(), form, empty="no schedules; `schedule` in a file makes one")


def _columns() -> "list[Column[ScheduleView]]":
    return [
        Column("NAME", lambda s: s.name, key=True),
        Column("SCHEDULE", lambda s: s.cron),
        Column("ZONE", lambda s: s.zone),
        Column("NEXT", lambda s: clock(s.next)),
        Column("LAST", lambda s: clock(s.last)),
        Column("RUN", lambda s: s.run or DASH),
        Column("LIVE", lambda s: str(len(s.live) or DASH), right=True),
        Column("USER", lambda s: s.user or DASH, wide=True),
        Column("OVERLAP", lambda s: s.overlap, wide=True),
        Column("MESSAGE", lambda s: s.message or DASH, least=12),
    ]
