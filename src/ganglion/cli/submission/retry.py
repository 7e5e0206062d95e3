"""`ganglion retry`."""

import rich_click as click

from ganglion.cli.connection.connect import complete_jobs, connect
from ganglion.cli.options import command, output
from ganglion.cli.output.formats import plural
from ganglion.cli.output.screen import note
from ganglion.cli.output.tables import print_data
from ganglion.cli.submission.submitting import next_commands


@command("retry", "retry sweep-12", "retry train -o json")
@click.argument("job", shell_complete=complete_jobs)
@output("text", "json", "yaml")
def retry(job: str, form: str) -> None:
    """Submit failed work again.

    For a sweep, only the failed trials run again, as a new sweep; its other trials continue. Any
    other workload runs again as a whole.

    JOB is an id, the beginning of one, or a name.
    """
    with connect() as client:
        answer = client.again.retry(job)
    if form != "text":
        print_data(answer, form)
        return
    click.echo(answer.id)
    note(f"{plural(answer.gangs, 'gang')} of {job} once more.\n{next_commands(answer.id)}")
