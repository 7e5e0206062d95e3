"""`ganglion policy`."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import rich_click as click

from ganglion.cli.connection.connect import connect
from ganglion.cli.options import command, list_output, output, settings
from ganglion.cli.output.formats import DASH, clock, plural
from ganglion.cli.output.screen import note
from ganglion.cli.output.tables import Column, print_data, print_list, yaml_text
from ganglion.cli.queues.policy_diff import print_changes, summary
from ganglion.model.errors import InputError, Stale

if TYPE_CHECKING:
    from ganglion.api.policies import PolicyOutcome, PolicyVersion
    from ganglion.client import Client

FILE = click.argument("file", metavar="FILE")
BASE = click.option(
    "--base",
    metavar="VERSION",
    type=click.IntRange(0),
    help="Refuse unless this version is in force, and nothing else is set meanwhile.",
)
ALONE = -1
"""Version of an outcome that no server has seen."""
UNCHECKED = "No server runs, so flavors, plugins and queues in use were not checked."


@click.group("policy", cls=click.RichGroup, context_settings=settings())
def policy() -> None:
    """Check, apply and roll back policies.

    FILE is a policy file, - for the standard input, or a preset: default, kueue, kai,
    slurm-like. A policy that is wrong is refused whole, and the one in force stays.
    """


@command("check", "policy check policy.yaml", "policy check policy.yaml --strict")
@FILE
@click.option("--strict", is_flag=True, help="Count warnings as errors.")
@output("text", "json")
def check(file: str, strict: bool, form: str) -> None:
    """Say what is wrong with a policy file.

    Check it against the nodes, queues and jobs of the running server; without a server, check
    the file alone. Nothing is changed.
    """
    found = _checked(file)
    if strict and found.warnings:
        raise _strict(found.warnings)
    if form == "json":
        print_data(found, form)
        return
    _warn(found.warnings)
    would = f": {summary(found.changes)}" if found.version >= 0 else ", checked without a server"
    click.echo(f"{file} is fine{would}")


@command("diff", "policy diff policy.yaml", "policy diff kai -o json")
@FILE
@output("text", "json")
def diff(file: str, form: str) -> None:
    """Show what a policy file would change.

    Every setting, queue and booking that differs from those in force, presets resolved.
    """
    text, name = _source(file)
    with connect() as client:
        found = client.check_policy(text, file=name)
    if form == "json":
        print_data(found, form)
        return
    _warn(found.warnings)
    print_changes(found.changes)
    if not found.changes:
        note(f"nothing differs from version {found.version}")


@command(
    "apply",
    "policy apply policy.yaml",
    "policy apply policy.yaml --plan",
    "policy apply slurm-like",
)
@FILE
@click.option(
    "--plan", is_flag=True, help="Show first what it would have done in the last seven days."
)
@click.option("-y", "--yes", is_flag=True, help="Do not ask after --plan.")
@click.option("--allow-unknown-flavors", is_flag=True, help="Accept flavors that no node has yet.")
@BASE
@output("text", "json")
def apply(
    file: str, allow_unknown_flavors: bool, base: int | None, form: str, *, plan: bool, yes: bool
) -> None:
    """Put a policy in force.

    Running jobs are not affected. If the file lists queues, empty queues that it leaves out are
    removed. With --plan, see `ganglion whatif`, a terminal asks before anything is set; elsewhere
    nothing is set without -y.
    """
    text, name = _source(file)
    with connect() as client:
        if plan:
            base = _planned(client, (text, name), base, form, yes=yes)
        found = client.set_policy(
            text,
            file=name,
            allow_unknown_flavors=allow_unknown_flavors,
            etag=_etag(client, base),
        )
    _say_set(found, form)


@command("show", "policy show", "policy show 3 --source", "policy show -o json")
@click.argument("version", type=click.IntRange(0), required=False)
@click.option("--source", is_flag=True, help="The file as it was written, comments included.")
@output("yaml", "json")
def show(version: int | None, source: bool, form: str) -> None:
    """Print the policy in force, or a former version.

    Every setting with its value and its source, the file or its preset, and the queues.
    """
    with connect() as client:
        found = client.policy(version)
    if form == "json":
        print_data(found, form)
        return
    by = f" by {found.user} at {clock(found.at)}" if found.user else ""
    click.echo(f"# version {found.version}, {found.cause}{by}")
    click.echo(found.text if source else yaml_text(found.document), nl=False)


@command("history", "policy history", "policy history -o json")
@list_output
def history(form: str) -> None:
    """List every policy that was set, the newest first."""
    with connect() as client:
        versions = client.policy_versions()
    print_list(versions[::-1], COLUMNS, form, empty="no policy was set; the built-in one decides")


@command("rollback", "policy rollback 3")
@click.argument("version", type=click.IntRange(0))
@BASE
@output("text", "json")
def rollback(version: int, base: int | None, form: str) -> None:
    """Put a former policy in force again.

    It becomes a new version. Queues are restored too, where that version defines them;
    bookings stay. 0 is the built-in policy.
    """
    with connect() as client:
        found = client.roll_back_policy(version, etag=_etag(client, base))
    _say_set(found, form)


for each in (check, diff, apply, show, history, rollback):
    policy.add_command(each)


def _planned(
    client: "Client", source: tuple[str, str], base: int | None, form: str, *, yes: bool
) -> int:
    """Show what a policy changes, and would have done; returns the version that it replaces."""
    from ganglion.cli.whatif.whatif import policy_question

    text, name = source
    found = client.check_policy(text, file=name)
    if form != "text":
        raise click.UsageError(
            "--plan prints text; for data: ganglion whatif --policy FILE -o json"
        )
    _warn(found.warnings)
    print_changes(found.changes)
    policy_question(client, text, name)
    if not yes:
        if not sys.stdin.isatty():
            raise InputError("nothing was set", "give -y to set it without a question")
        click.confirm("Set it?", abort=True, err=True)
    return found.version if base is None else base


def _etag(client: "Client", base: int | None) -> str:
    """The tag of the policy in force, which has to be the version that the user looked at."""
    if base is None:
        return ""
    found = client.policy()
    if found.version != base:
        by = f" by {found.user}" if found.user else ""
        message = f"version {found.version}{by} is in force, not {base}"
        raise Stale(message, "see the differences: ganglion policy diff FILE")
    return found.etag


def _source(file: str) -> tuple[str, str]:
    from ganglion.specs.policy.policy import source_of

    return source_of(file)


def _checked(file: str) -> "PolicyOutcome":
    """Check with the server; by itself when none runs."""
    from ganglion.api.policies import PolicyOutcome
    from ganglion.client.home import Unreachable
    from ganglion.specs.policy.policy import parse_policy

    text, name = _source(file)
    parse_policy(text, name)
    try:
        with connect() as client:
            return client.check_policy(text, file=name)
    except Unreachable:
        note(UNCHECKED)
        return PolicyOutcome(ALONE)


def _strict(warnings: Sequence[str]) -> InputError:
    more = len(warnings) - 1
    return InputError(warnings[0], f"{plural(more, 'more warning')}" if more else "")


def _warn(warnings: Sequence[str]) -> None:
    for each in warnings:
        note(f"Warning: {each}")


def _say_set(found: "PolicyOutcome", form: str) -> None:
    if form == "json":
        print_data(found, form)
        return
    _warn(found.warnings)
    print_changes(found.changes)
    if found.changes:
        click.echo(f"policy version {found.version} is in force")
    else:
        click.echo(f"nothing differs: version {found.version} stays in force")


COLUMNS: "list[Column[PolicyVersion]]" = [
    Column("VERSION", lambda v: str(v.version), right=True),
    Column("TIME", lambda v: clock(v.at)),
    Column("USER", lambda v: v.user or DASH),
    Column("HOW", lambda v: v.cause),
    Column("CHANGES", lambda v: summary(v.changes), least=20),
]
