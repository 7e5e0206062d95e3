"""`ganglion why`."""

import rich_click as click

from ganglion.cli.connection.connect import complete_jobs, connect
from ganglion.cli.connection.contexts import ChosenCluster, context_options
from ganglion.cli.options import command, output
from ganglion.cli.output.tables import print_data


@command("why", "why train", "why sweep-12/3", "why train -o json")
@click.argument("job", shell_complete=complete_jobs)
@context_options
@output("text", "json", "yaml")
def why(job: str, form: str, where: ChosenCluster | None) -> None:
    """Say why a workload waits and what would help.

    Prints the dominant reason with its numbers, the gangs ahead, the obstacles by number of
    nodes, and changes that were verified to start it now.

    JOB is an id, the beginning of one, or a name.
    """
    with connect(where=where) as client:
        answer = client.why(job)
    if form != "text":
        print_data(answer, form)
        return
    from ganglion.cli.output.explanation import print_why

    print_why(answer)
