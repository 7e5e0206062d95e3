"""`ganglion break-glass`."""

import rich_click as click

from ganglion.cli.access.role import FLEET
from ganglion.cli.connection.connect import connect
from ganglion.cli.options import command
from ganglion.cli.output.formats import clock
from ganglion.model.errors import InputError
from ganglion.specs.grammar.times.durations import parse_duration


@command(
    "break-glass",
    "break-glass --reason 'node fire in hall 2'",
    "break-glass --reason 'node fire in hall 2' --for 2h -q research",
    "break-glass --end",
)
@click.option("--reason", default="", help="Why, in 10 to 500 characters; it is sent and recorded.")
@click.option("--for", "lasting", default="1h", show_default=True, help="How long; at most 4h.")
@click.option(
    "-q",
    "--queue",
    default=None,
    help="Queue of the grant, '' for the whole fleet; default: the only one there is.",
)
@click.option("--end", is_flag=True, help="End it before its time.")
@click.option("--user", default="", help="With --end: whose; for admins.  [default: your own]")
def break_glass(reason: str, lasting: str, queue: str | None, end: bool, user: str) -> None:
    """Make a grant for emergencies count for a while.

    An admin has granted it before, by the option --break-glass of `ganglion role grant`. Until the
    glass is broken it gives nothing. Those whom notify.yaml of the server names are notified at
    once, and what is done by it is recorded: `ganglion audit show` lists it by its option --glass.
    """
    if not end and user:
        raise InputError("--user goes with --end", "glass is broken by its holder alone")
    if not end and not reason:
        raise InputError("--reason is missing", "say what happened, as 'node fire in hall 2'")
    with connect() as client:
        if end:
            client.access.mend_glass(user, queue)
            click.echo(f"{user or 'you'}: what broken glass gave has ended")
            return
        made = client.access.break_glass(reason, parse_duration(lasting), queue)
    for each in made:
        ends = max((glass.until for glass in each.broken), default=0)
        until = f"until {clock(ends)}" if ends else "no more: it was ended meanwhile"
        click.echo(f"{each.subject} has role {each.role} on {each.queue or FLEET} {until}")
    click.echo("This is recorded with your reason. To end it before: ganglion break-glass --end")
