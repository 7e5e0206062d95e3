"""`ganglion update`."""

import rich_click as click

from ganglion.cli.connect import complete_jobs, complete_queues, connect
from ganglion.cli.options import command, output
from ganglion.cli.ps import shown
from ganglion.cli.tables import print_data, print_table, table_of


@command(
    "update",
    "update train --priority 80",
    "update train --queue research --time-limit 12h",
    "update train --hold",
)
@click.argument("job", shell_complete=complete_jobs)
@click.option("--priority", type=click.IntRange(0, 100), help="0 to 100; higher goes first.")
@click.option(
    "-q", "--queue", metavar="NAME", shell_complete=complete_queues, help="Move it to this queue."
)
@click.option("--time-limit", metavar="TIME", help="Most it may run, as 24h or 2:00:00.")
@click.option("--hold/--release", "held", default=None, help="Keep it from starting, or let it.")
@output("table", "json", "yaml")
def update(
    job: str,
    priority: int | None,
    queue: str | None,
    time_limit: str | None,
    held: bool | None,
    form: str,
) -> None:
    """Change priority, queue or time limit; hold or release.

    JOB is an id, the beginning of one, or a name.
    """
    changes = {"priority": priority, "queue": queue, "time_limit": time_limit, "held": held}
    if all(value is None for value in changes.values()):
        raise click.UsageError("nothing to change; give an option, as --priority 80")
    with connect() as client:
        view = client.update(job, priority=priority, queue=queue, time_limit=time_limit, held=held)
    if form == "table":
        print_table(table_of(shown(form), [view]))
    else:
        print_data(view, form)
