"""`ganglion cancel`."""

import sys
from typing import TYPE_CHECKING

import rich_click as click

from ganglion.cli.connection.connect import complete_jobs, connect
from ganglion.cli.connection.contexts import ChosenCluster, context_options
from ganglion.cli.filters import filter_options, is_pattern, with_names
from ganglion.cli.options import command
from ganglion.cli.output.formats import plural
from ganglion.model.errors import InputError, StateError

if TYPE_CHECKING:
    from ganglion.api.bulk import BulkAnswer
    from ganglion.client.filters import Filters

NAMED = 5
"""Most workloads that a question or a summary names."""


@command(
    "cancel",
    "cancel train",
    "cancel sweep-12 batch-9 --force",
    "cancel 'train-*' --state queued",
    "cancel --all",
)
@click.argument("jobs", nargs=-1, metavar="[JOB]...", shell_complete=complete_jobs)
@click.option("-a", "--all", "everything", is_flag=True, help="All of yours that have not ended.")
@filter_options()
@click.option("--force", is_flag=True, help="Kill immediately, without time to save.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@context_options
def cancel(
    jobs: tuple[str, ...],
    everything: bool,
    filters: "Filters",
    force: bool,
    yes: bool,
    where: ChosenCluster | None,
) -> None:
    """Stop workloads.

    Each process gets SIGTERM and its grace period to save its work, then SIGKILL. Many
    workloads are one request; a refusal does not affect the others.

    JOB is an id, a name, or the beginning of an id that fits no other; in patterns *, ? and
    [a-z] match as in file names. With a filter, JOB is an id, a name or a pattern of those that
    pass it. The command asks for confirmation of the beginning of an id, of --all, and of a
    filter or pattern that fits more than one workload; without a terminal, give --yes.
    """
    if everything and (jobs or filters):
        raise click.UsageError("--all is every workload: leave out names and filters")
    if not (everything or jobs or filters):
        raise click.UsageError("name the workloads to cancel, give a filter, or --all")
    refs, narrow = chosen(jobs, filters)
    many = everything or bool(narrow)
    with connect(where=where) as client:
        if not yes:
            found = client.bulk.cancel(refs, everything=everything, dry_run=True, **narrow)
            _ask(found, everything=everything, many=many)
            if many:  # what is submitted while you think was not asked about
                narrow = {**narrow, "until": found.at}
        done = client.bulk.cancel(refs, everything=everything, force=force, **narrow)
    _say(done, many=many)


def chosen(jobs: tuple[str, ...], filters: "Filters") -> "tuple[list[str], Filters]":
    """Return references and filters: patterns are filters, and with a filter all names are."""
    patterns = jobs if filters else tuple(each for each in jobs if is_pattern(each))
    refs = [each for each in jobs if each not in patterns]
    return refs, with_names(filters, patterns)


def _ask(found: "BulkAnswer", *, everything: bool, many: bool) -> None:
    """Ask before more is cancelled than was named."""
    sure = not found.prefixes and not (everything and found.matched)
    if not found.workloads or (sure and (found.matched < 2 or not many)):
        return
    what = f"cancel {plural(len(found.workloads), 'workload')}{_named(found.workloads)}?"
    if not sys.stdin.isatty():
        raise InputError(what, "there is no terminal to confirm on: add --yes")
    click.confirm(what.capitalize(), abort=True, err=True)


def _named(workloads: tuple[str, ...]) -> str:
    more = f" and {len(workloads) - NAMED:,} more" if len(workloads) > NAMED else ""
    return f" ({', '.join(workloads[:NAMED])}{more})"


def _say(done: "BulkAnswer", *, many: bool) -> None:
    """Say what was done, in one line where a filter chose, and what was not."""
    if many and done.workloads:
        click.echo(f"cancelling {plural(done.done, 'workload')}{_named(done.workloads)}")
    elif not many:
        for each in done.workloads:
            click.echo(f"cancelling {each}")
    elif not done.refused:
        click.echo("nothing to cancel")
    refused(done, "cancelled")


def refused(done: "BulkAnswer", what: str) -> None:
    """Say what was refused.

    Raises:
        StateError: something was.
    """
    for each in done.problems:
        click.echo(f"{each.detail}" + (f" ({each.hint})" if each.hint else ""), err=True)
    if done.refused:
        raise StateError(f"{done.refused:,} of {plural(done.matched, 'workload')} not {what}")
