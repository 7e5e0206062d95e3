"""`ganglion get`."""

import rich_click as click

from ganglion.cli.connection.connect import complete_jobs, connect
from ganglion.cli.options import command, output
from ganglion.cli.output.tables import print_data


@command("get", "get train", "get train -o json")
@click.argument("job", shell_complete=complete_jobs)
@output("yaml", "json")
def get(job: str, form: str) -> None:
    """Print a workload as data.

    JOB is an id, the beginning of one, or a name.
    """
    with connect() as client:
        print_data(client.workload(job), form)
