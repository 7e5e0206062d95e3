"""`ganglion cancel`."""

import sys

import rich_click as click

from ganglion.cli.connect import complete_jobs, connect
from ganglion.cli.contexts import Where, context_options
from ganglion.cli.formats import plural
from ganglion.cli.options import command
from ganglion.cli.ps import fetch
from ganglion.model.errors import GanglionError, InputError, StateError


@command("cancel", "cancel train", "cancel sweep-12 batch-9 --force", "cancel --all")
@click.argument("jobs", nargs=-1, metavar="JOB...", shell_complete=complete_jobs)
@click.option("-a", "--all", "everything", is_flag=True, help="All of yours that have not ended.")
@click.option("--force", is_flag=True, help="Kill at once, without time to save.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@context_options
def cancel(
    jobs: tuple[str, ...], everything: bool, force: bool, yes: bool, where: Where | None
) -> None:
    """Stop workloads.

    Each process gets SIGTERM and its grace period to save its work, then SIGKILL.

    JOB is an id, the beginning of one, or a name.
    """
    if bool(jobs) == everything:
        raise click.UsageError("name the workloads to cancel, or give --all")
    with connect(where=where) as client:
        chosen = [view.id for view in fetch(client)] if everything else list(jobs)
        if everything and chosen and not yes:
            _ask(len(chosen))
        failed = 0
        for job in chosen:
            try:
                client.cancel(job, force=force)
                click.echo(f"cancelling {job}")
            except StateError as error:
                failed += 1
                _say(error)
    if everything and not chosen:
        click.echo("nothing to cancel")
    if failed:
        raise StateError(f"{failed} of {plural(len(chosen), 'workload')} not cancelled")


def _ask(count: int) -> None:
    if not sys.stdin.isatty():
        raise InputError(f"cancel {plural(count, 'workload')}?", "add --yes when nobody can answer")
    click.confirm(f"Cancel {plural(count, 'workload')}?", abort=True)


def _say(error: GanglionError) -> None:
    click.echo(f"{error.message}" + (f" ({error.hint})" if error.hint else ""), err=True)
