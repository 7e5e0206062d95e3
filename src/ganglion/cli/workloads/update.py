"""`ganglion update`."""

from typing import TYPE_CHECKING

import rich_click as click

from ganglion.cli.connection.connect import complete_jobs, complete_queues, connect
from ganglion.cli.filters import filter_options
from ganglion.cli.options import command, output, refuse
from ganglion.cli.output.formats import plural
from ganglion.cli.output.tables import print_data, print_table, table_of
from ganglion.cli.workloads.cancel import chosen, refused
from ganglion.cli.workloads.ps import shown

if TYPE_CHECKING:
    from ganglion.client.filters import Filters


@command(
    "update",
    "update train --priority 80",
    "update train --queue research --time-limit 12h",
    "update 'train-*' --state queued --hold",
)
@click.argument("jobs", nargs=-1, metavar="[JOB]...", shell_complete=complete_jobs)
@click.option("--priority", type=click.IntRange(0, 100), help="0 to 100; higher goes first.")
@click.option(
    "-q", "--queue", metavar="NAME", shell_complete=complete_queues, help="Move it to this queue."
)
@click.option("--time-limit", metavar="TIME", help="Most it may run, as 24h or 2:00:00.")
@click.option("--deadline", metavar="TIME", help="As 12h after the submit, or a date; 0 lifts it.")
@click.option("--hold/--release", "held", default=None, help="Hold it, or release it.")
@filter_options(queue="--from-queue")
@output("table", "json", "yaml")
def update(
    jobs: tuple[str, ...],
    priority: int | None,
    queue: str | None,
    time_limit: str | None,
    deadline: str | None,
    held: bool | None,
    filters: "Filters",
    form: str,
) -> None:
    """Change priority, queue, time limit or deadline; hold or release.

    JOB is an id, a name, or the beginning of an id that fits no other; in patterns *, ? and
    [a-z] match as in file names. With a filter, JOB is an id, a name or a pattern of those that
    pass it. Many workloads are one request; a refusal does not affect the others.
    """
    given = {"priority": priority, "queue": queue, "time_limit": time_limit}
    given |= {"deadline": deadline, "held": held}
    changes = {key: value for key, value in given.items() if value is not None}
    refuse(
        "" if changes else "nothing to change; give an option, as --priority 80",
        "" if jobs or filters else "name the workloads to change, or give a filter",
    )
    refs, narrow = chosen(jobs, filters)
    with connect() as client:
        if len(refs) == 1 and not narrow:
            view = client.update(
                refs[0],
                priority=priority,
                queue=queue,
                time_limit=time_limit,
                deadline=deadline,
                held=held,
            )
            if form == "table":
                print_table(table_of(shown(form), [view]))
            else:
                print_data(view, form)
            return
        done = client.bulk.update(refs, changes=changes, **narrow)
    if form != "table":
        print_data(done, form)
    elif done.matched:
        click.echo(f"changed {plural(done.done, 'workload')}")
    else:
        click.echo("nothing to change")
    refused(done, "changed")
