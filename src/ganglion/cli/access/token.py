"""`ganglion token`."""

from typing import TYPE_CHECKING

import rich_click as click

from ganglion.cli.access.role import FLEET, on_queue
from ganglion.cli.connection.connect import connect
from ganglion.cli.options import command, list_output, output, settings
from ganglion.cli.output.formats import clock
from ganglion.cli.output.tables import Column, print_data, print_list
from ganglion.specs.grammar.names import ROLES

if TYPE_CHECKING:
    from ganglion.api.access import TokenView


@click.group("token", cls=click.RichGroup, context_settings=settings())
def token() -> None:
    """Make, list and revoke personal tokens.

    $GANGLION_TOKEN names the one that commands send, beside $GANGLION_URL.
    """


@command("create", "token create eve viewer", "token create ci viewer -q research --days 30")
@click.argument("user")
@click.argument("role", type=click.Choice(ROLES))
@on_queue
@click.option("--group", "groups", multiple=True, help="A group of the user; may be repeated.")
@click.option("--label", default="", help="What it is for.")
@click.option(
    "--days", default=90, show_default=True, type=click.IntRange(1, 366), help="Its life."
)
@output("text", "json")
def create(
    user: str, role: str, queue: str, groups: tuple[str, ...], label: str, days: int, form: str
) -> None:
    """Make a token for a user, limited to a role and a queue, and print it once.

    It gives nothing beyond what the user was granted.
    """
    with connect() as client:
        made = client.access.create_token(user, role, queue, groups=groups, label=label, days=days)
    if form == "json":
        print_data(made, form)
        return
    about = made.about
    click.echo(
        f"token {about.id} of {about.user}, role {about.role} on {about.queue or FLEET}, until"
        f" {clock(about.until)}; it is not shown again:",
        err=True,
    )
    click.echo(made.token)


@command("list", "token list", "token list -o json")
@list_output
def list_tokens(form: str) -> None:
    """List tokens: yours, or all if you may see them."""
    columns: list[Column[TokenView]] = [
        Column("TOKEN", lambda each: each.id),
        Column("USER", lambda each: each.user),
        Column("ROLE", lambda each: each.role),
        Column("QUEUE", lambda each: each.queue or FLEET),
        Column("UNTIL", lambda each: clock(each.until)),
        Column("LABEL", lambda each: each.label),
    ]
    with connect() as client:
        print_list(client.access.tokens(), columns, form, empty="no tokens")


@command("revoke", "token revoke 3f9a1c0b7d21")
@click.argument("token_id", metavar="TOKEN")
def revoke(token_id: str) -> None:
    """Make a token count no more, by its id."""
    with connect() as client:
        client.access.revoke_token(token_id)
    click.echo(f"token {token_id} revoked")


token.add_command(create)
token.add_command(list_tokens)
token.add_command(revoke)
