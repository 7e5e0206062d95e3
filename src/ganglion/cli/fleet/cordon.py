"""`ganglion cordon` and `ganglion uncordon`."""

import rich_click as click

from ganglion.cli.connection.connect import complete_nodes, connect
from ganglion.cli.options import command


@command("cordon", 'cordon node-3 --reason "fan broken"')
@click.argument("node", shell_complete=complete_nodes)
@click.option(
    "--reason", default="by hand", show_default=True, help="Reason, shown to waiting jobs."
)
def cordon(node: str, reason: str) -> None:
    """Start nothing new on a node.

    Running work continues.
    """
    if not reason.strip():
        raise click.UsageError("an empty reason explains nothing; leave --reason out, or say why")
    with connect() as client:
        client.cordon(node, reason)
    click.echo(f"{node} cordoned: {reason}")


@command("uncordon", "uncordon node-3")
@click.argument("node", shell_complete=complete_nodes)
def uncordon(node: str) -> None:
    """Let a node take work again."""
    with connect() as client:
        client.uncordon(node)
    click.echo(f"{node} takes work again")
