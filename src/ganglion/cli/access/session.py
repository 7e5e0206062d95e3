"""`ganglion session`."""

from typing import TYPE_CHECKING

import rich_click as click

from ganglion.cli.connection.connect import connect
from ganglion.cli.options import command, list_output, settings
from ganglion.cli.output.formats import clock
from ganglion.cli.output.tables import Column, print_list
from ganglion.model.errors import InputError

if TYPE_CHECKING:
    from ganglion.api.access import BrowserSession


@click.group("session", cls=click.RichGroup, context_settings=settings())
def session() -> None:
    """List and end sessions of browsers.

    Command lines and programs have tokens instead: `ganglion token list`.
    """


@command("list", "session list", "session list -o json")
@list_output
def list_sessions(form: str) -> None:
    """List sessions that count: yours, or all if you may see them."""
    columns: list[Column[BrowserSession]] = [
        Column("SESSION", lambda each: each.id),
        Column("USER", lambda each: each.user),
        Column("BEGUN", lambda each: clock(each.at)),
        Column("LAST REQUEST", lambda each: clock(each.used)),
        Column("UNTIL", lambda each: clock(each.until)),
    ]
    with connect() as client:
        print_list(client.access.sessions(), columns, form, empty="no sessions")


@command("end", "session end 3f9a1c0b7d21", "session end --user eve")
@click.argument("session_ids", metavar="[SESSION]...", nargs=-1)
@click.option("--user", default="", help="End all sessions of a user.")
def end(session_ids: tuple[str, ...], user: str) -> None:
    """End sessions, by their ids or of a user; their next requests are refused.

    Where your cookie or password was stolen, change the password as well, and look at
    `ganglion token list`.
    """
    if bool(session_ids) == bool(user):
        raise InputError("which sessions?", "name ids of `ganglion session list`, or --user")
    with connect() as client:
        if user:
            every = client.access.sessions()
            session_ids = tuple(each.id for each in every if each.user == user)
        for each in session_ids:
            client.access.end_session(each)
            click.echo(f"session {each} ended")
    if not session_ids:
        click.echo(f"{user} has no session")


session.add_command(list_sessions)
session.add_command(end)
