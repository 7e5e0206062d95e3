"""`ganglion suspend` and `ganglion resume`."""

import sys
from typing import TYPE_CHECKING

import rich_click as click

from ganglion.cli.connection.connect import complete_jobs, connect
from ganglion.cli.connection.contexts import ChosenCluster, context_options
from ganglion.cli.options import command, output
from ganglion.cli.output.tables import print_data
from ganglion.model.errors import GanglionError, StateError

if TYPE_CHECKING:
    from ganglion.client.workload_client import WorkloadClient


@command("suspend", "suspend notebook", "suspend notebook --dry-run", "suspend --yes nb-4 nb-7")
@click.argument("jobs", nargs=-1, required=True, metavar="JOB...", shell_complete=complete_jobs)
@click.option("--dry-run", is_flag=True, help="Only print what would be lost.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@context_options
@output("text", "json", "yaml")
def suspend(
    jobs: tuple[str, ...], dry_run: bool, yes: bool, form: str, where: ChosenCluster | None
) -> None:
    """Stop workspaces until they are resumed.

    GPUs, memory and shells are given back; name, environment, address, files and place in line
    are kept; in a cluster the files of persistent volumes. The command prints first what is
    lost; on a terminal it asks for confirmation.

    JOB is an id, the beginning of one, or a name.
    """
    with connect(where=where) as client:
        asked = [client.suspend(job, dry_run=True) for job in jobs]
        if form == "text":
            for each in asked:
                click.echo(f"{each.id}: {each.loss}", err=not dry_run)
        if not dry_run:
            if sys.stdin.isatty() and not yes:
                click.confirm("Suspend?", abort=True, err=True)
            asked = [client.suspend(each.id) for each in asked]
    if form != "text":
        print_data(asked, form)
    elif not dry_run:
        flags = where.flags if where else ""
        for each in asked:
            again = f"ganglion resume {each.id}{flags}"
            click.echo(f"suspending {each.id}; resume it with: {again}")


@command("resume", "resume notebook")
@click.argument("jobs", nargs=-1, required=True, metavar="JOB...", shell_complete=complete_jobs)
@context_options
def resume(jobs: tuple[str, ...], where: ChosenCluster | None) -> None:
    """Resume suspended workspaces.

    They are first to start, and have their former priority once they run. In a cluster they wait
    like any other workload of their queue.

    JOB is an id, the beginning of one, or a name.
    """
    with connect(where=where) as client:
        failed = sum(not _resumed(client, job) for job in jobs)
    if failed:
        raise StateError(f"{failed} of {len(jobs)} not resumed")


def _resumed(client: "WorkloadClient", job: str) -> bool:
    try:
        view = client.resume(job)
    except StateError as error:
        _say(error)
        return False
    click.echo(f"resuming {view.id}")
    return True


def _say(error: GanglionError) -> None:
    click.echo(f"{error.message}" + (f" ({error.hint})" if error.hint else ""), err=True)
