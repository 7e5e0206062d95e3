"""`ganglion user`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from ganglion.cli.connection.connect import connect
from ganglion.cli.options import command, list_output, settings
from ganglion.cli.output.formats import DASH, clock
from ganglion.cli.output.tables import Column, print_list
from ganglion.model.errors import FileError, InputError

if TYPE_CHECKING:
    from ganglion.api.access import UserView

MOST_BYTES = 4_096
"""Of a file with a password."""

password_file = click.option(
    "--password-file",
    "path",
    default="",
    metavar="FILE",
    help="Read the password from the first line of a file; - is standard input.",
)


@click.group("user", cls=click.RichGroup, context_settings=settings())
def user() -> None:
    """Add and change users who have passwords here.

    They are for servers without an identity provider, and sign in where login.yaml has
    `local_users`.
    """


@command("add", "user add eve", "user add eve --group ml --password-file eve.txt")
@click.argument("name")
@password_file
@click.option(
    "--group", "groups", multiple=True, metavar="GROUP", help="Group of the user; may be repeated."
)
def add(name: str, path: str, groups: tuple[str, ...]) -> None:
    """Add a user, with a password that is asked for.

    It is never taken from the command line, which others on this machine can read.
    """
    password = _new(name, path)
    with connect() as client:
        client.access.add_user(name, password, groups)
    if groups:
        click.echo(f"user {name} added, in {', '.join(groups)}: it has the roles of those groups")
        return
    click.echo(f"user {name} added; it has no role yet: ganglion role grant {name} viewer")


@command("groups", "user groups eve ml vision", "user groups eve --none")
@click.argument("name")
@click.argument("groups", nargs=-1, metavar="[GROUP]...")
@click.option("--none", "none", is_flag=True, help="Have the user be in no group.")
def groups_of(name: str, groups: tuple[str, ...], *, none: bool) -> None:
    """Say which groups a user is in: these, and no others.

    It counts at once, for sessions and tokens of the user, too. Roles of a group are granted with
    `ganglion role grant group:GROUP ROLE`.
    """
    if none == bool(groups):
        raise click.UsageError("name the groups, or give --none")
    with connect() as client:
        found = client.access.set_user_groups(name, groups)
    click.echo(f"user {name} is in {', '.join(found.groups) or 'no group'}")


@command("list", "user list", "user list -o json")
@list_output
def list_users(form: str) -> None:
    """List users."""
    columns: list[Column[UserView]] = [
        Column("USER", lambda each: each.user),
        Column("STATE", lambda each: "disabled" if each.disabled else "enabled"),
        Column("GROUPS", lambda each: ", ".join(each.groups) or DASH, least=10),
        Column("PASSWORD OF", lambda each: clock(each.changed)),
        Column("ADDED", lambda each: clock(each.at)),
        Column("BY", lambda each: each.by),
    ]
    with connect() as client:
        print_list(client.access.users(), columns, form, empty="no users")


@command("disable", "user disable eve")
@click.argument("name")
def disable(name: str) -> None:
    """End a user's sessions, and let neither password nor tokens count."""
    with connect() as client:
        client.access.disable_user(name)
    click.echo(f"user {name} disabled; its sessions have ended, and its tokens do not count")


@command("enable", "user enable eve")
@click.argument("name")
def enable(name: str) -> None:
    """Let password and tokens of a user count again."""
    with connect() as client:
        client.access.enable_user(name)
    click.echo(f"user {name} enabled")


@command("password", "user password eve", "user password eve --password-file eve.txt")
@click.argument("name")
@password_file
def password(name: str, path: str) -> None:
    """Change a user's password, and end its sessions.

    For your own, the one so far is asked for first; in a file it is the second line.
    """
    with connect() as client:
        own = client.access.whoami().user == name
        current = ""
        if path:
            given = _lines(path)
            made, current = given[0], given[1] if own and len(given) > 1 else ""
        else:
            current = _asked("Password so far") if own else ""
            made = _new(name, "")
        client.access.set_password(name, made, current)
    click.echo(f"password of {name} changed; its other sessions have ended")


@command("remove", "user remove eve")
@click.argument("name")
def remove(name: str) -> None:
    """Remove a user with its grants, tokens and sessions."""
    with connect() as client:
        client.access.remove_user(name)
    click.echo(f"user {name} removed, with its grants, tokens and sessions")


@command("bootstrap", "user bootstrap")
def bootstrap() -> None:
    """Print a link whose visitor becomes admin, once and within an hour.

    For the owner of the server, on its machine. The link before counts no more.
    """
    with connect() as client:
        made = client.access.bootstrap()
    click.echo(f"the first admin opens this link, once, until {clock(made.until)}:", err=True)
    click.echo(made.url)


for each in (bootstrap, add, list_users, groups_of, disable, enable, password, remove):
    user.add_command(each)


def _new(name: str, path: str) -> str:
    """Return a new password, typed twice or from a file."""
    if path:
        return _lines(path)[0]
    made = _asked(f"New password of {name}")
    if sys.stdin.isatty() and _asked("The same again") != made:
        raise InputError("the two passwords are not equal")
    return made


def _asked(what: str) -> str:
    """Ask at the terminal; without one, read a line of standard input."""
    if sys.stdin.isatty():
        return str(click.prompt(what, hide_input=True, err=True))
    return sys.stdin.readline(MOST_BYTES).removesuffix("\n").removesuffix("\r")


def _lines(path: str) -> list[str]:
    """Return the lines of a file, at least one.

    Raises:
        FileError: it cannot be read.
    """
    if path == "-":
        return sys.stdin.read(MOST_BYTES).splitlines() or [""]
    try:
        with Path(path).open(encoding="utf-8") as file:
            return file.read(MOST_BYTES).splitlines() or [""]
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"{path}: {error}", "its first line is the password") from error
