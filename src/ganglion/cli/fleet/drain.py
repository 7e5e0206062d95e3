"""`ganglion drain` and `ganglion undrain`."""

from typing import TYPE_CHECKING

import rich_click as click

from ganglion.cli.connection.connect import complete_nodes, connect
from ganglion.cli.options import command, output
from ganglion.cli.output.formats import clock, now_ms
from ganglion.cli.output.tables import print_data

if TYPE_CHECKING:
    from ganglion.api.nodes import DrainView

SHOWN = 20
"""Gangs named one by one."""


@command(
    "drain",
    "drain node-3 --reason 'new fan'",
    "drain rack=r1 --by 2026-12-01T08:00",
    "drain node-3 --by now",
    "drain node-3 --dry-run",
)
@click.argument("what", metavar="NODE|DOMAIN", shell_complete=complete_nodes)
@click.option(
    "--by",
    default="+1h",
    show_default=True,
    metavar="TIME",
    help="When remaining gangs are stopped: 2026-12-01T08:00 (local, unless it says), +2h, now.",
)
@click.option("--reason", default="maintenance", show_default=True, help="For people.")
@click.option("--dry-run", is_flag=True, help="Only print what would have to leave.")
@output("text", "json")
def drain(what: str, by: str, reason: str, dry_run: bool, form: str) -> None:
    """Empty a node or domain, each gang after a checkpoint.

    Nothing new starts there. Gangs leave as soon as they have saved and there is another place
    for them, or after their last checkpoint before the deadline; replicas of services leave one
    at a time. What is still there at the deadline is stopped and waits again.
    """
    from ganglion.specs.grammar.times.instants import parse_when

    if not reason.strip():
        raise click.UsageError("an empty reason explains nothing; leave --reason out, or say why")
    with connect() as client:
        found = client.drain(what, parse_when(by, now_ms()), reason, dry_run=dry_run)
    if form == "json":
        print_data(found, form)
    else:
        _print(found, dry_run=dry_run)


def _print(found: "DrainView", *, dry_run: bool) -> None:
    count = len(found.leavers)
    nodes = f" ({len(found.nodes)} nodes)" if len(found.nodes) > 1 else ""
    if dry_run:
        click.echo("A dry run; nothing changes.")
    if not count and dry_run:
        click.echo(f"{found.what}{nodes} is empty; it would take no more work")
        return
    if not count:
        click.echo(f"{found.what}{nodes} is empty and takes no work: {found.reason}")
        return
    gangs = "1 gang" if count == 1 else f"{count} gangs"
    drains = "would drain" if dry_run else "drains"
    click.echo(f"{found.what}{nodes} {drains} by {clock(found.by)}: {gangs} to leave it")
    for each in found.leavers[:SHOWN]:
        click.echo(f"  {each.gang} {each.how}")
    if count > SHOWN:
        click.echo(f"  and {count - SHOWN} more")


@command("undrain", "undrain node-3", "undrain rack=r1")
@click.argument("what", metavar="NODE|DOMAIN", shell_complete=complete_nodes)
def undrain(what: str) -> None:
    """Let the nodes of a drain take work again."""
    with connect() as client:
        client.undrain(what)
    click.echo(f"{what} takes work again")
