"""`ganglion token`."""

from typing import TYPE_CHECKING

import rich_click as click

from ganglion.cli.access.role import FLEET, on_queue
from ganglion.cli.connection.connect import connect
from ganglion.cli.options import command, list_output, output, settings
from ganglion.cli.output.formats import clock
from ganglion.cli.output.tables import Column, print_data, print_list
from ganglion.model.errors import FieldError
from ganglion.specs.grammar.money import cut_money, parse_money
from ganglion.specs.grammar.names import ROLES

if TYPE_CHECKING:
    from ganglion.api.access import TokenView


@click.group("token", cls=click.RichGroup, context_settings=settings())
def token() -> None:
    """Make, list and revoke personal tokens.

    $GANGLION_TOKEN names the one that commands send, beside $GANGLION_URL.
    """


@command(
    "create",
    "token create eve viewer",
    "token create ci viewer -q research --days 30",
    "token create eve submitter -q research --spend-cap 25.00 --label agent",
)
@click.argument("user")
@click.argument("role", type=click.Choice(ROLES))
@on_queue
@click.option("--group", "groups", multiple=True, help="A group of the user; may be repeated.")
@click.option("--label", default="", help="What it is for.")
@click.option(
    "--days", default=90, show_default=True, type=click.IntRange(1, 366), help="Its life."
)
@click.option(
    "--spend-cap",
    metavar="AMOUNT",
    default="",
    help="What is submitted with it may cost at most, as 25.00.",
)
@output("text", "json")
def create(
    user: str,
    role: str,
    queue: str,
    groups: tuple[str, ...],
    label: str,
    days: int,
    spend_cap: str,
    form: str,
) -> None:
    """Make a token for a user, limited to a role and a queue, and print it once.

    It gives nothing beyond what the user was granted. With --spend-cap it views, submits and stops
    work and changes nothing else; what is submitted with it needs a time limit, and waits unless
    what was spent, what may still be spent, and what it costs at most are within the cap.
    """
    cap = parse_money(spend_cap) if spend_cap else 0
    if spend_cap and not cap:
        raise FieldError("a spending cap has to be above 0", key="--spend-cap")
    with connect() as client:
        made = client.access.create_token(
            user, role, queue, groups=groups, label=label, days=days, spend_cap_micro=cap
        )
    if form == "json":
        print_data(made, form)
        return
    about = made.about
    click.echo(
        f"token {about.id} of {about.user}, role {about.role} on {about.queue or FLEET}, until"
        f" {clock(about.until)}{_capped(about)}; it is not shown again:",
        err=True,
    )
    click.echo(made.token)


def _capped(about: "TokenView") -> str:
    cap = about.spend_cap
    return f", for at most {cut_money(cap.micro)} {cap.currency}" if cap else ""


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
        tokens = client.access.tokens()
    if any(each.spend_cap for each in tokens):
        columns[4:4] = [
            Column("CAP", lambda each: _cut(each, "micro"), right=True),
            Column("LEFT", lambda each: _cut(each, "left_micro"), right=True),
        ]
    print_list(tokens, columns, form, empty="no tokens")


def _cut(each: "TokenView", name: str) -> str:
    return cut_money(getattr(each.spend_cap, name)) if each.spend_cap else ""


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
