"""`ganglion login` and `ganglion logout`."""

import getpass
import os
import re
import socket
import time
from contextlib import nullcontext
from typing import TYPE_CHECKING

import rich_click as click
from click import get_current_context
from click.core import ParameterSource

from ganglion.cli.options import command, output
from ganglion.cli.output.formats import clock
from ganglion.cli.output.screen import err, is_tty, note
from ganglion.cli.output.tables import print_data
from ganglion.model.errors import FileError, GanglionError, InputError, StateError

if TYPE_CHECKING:
    from ganglion.client.logins import Login, LoginFile
    from ganglion.client.pairing import PairedToken, PairingClient

MOST_LABEL = 100
_ID_TOKEN = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+){2}")
VOID = ("auth", "state.not_found")
"""Codes of a server's answer that its token counts no more."""


UNLIMITED = "role:admin"
"""Scope of a token that reaches as far as its user."""


@command(
    "login",
    "login https://gpu.example.org",
    "login https://gpu.example.org --label laptop --days 30",
    "login --no-browser -o json",
    "login https://gpu.example.org --id-token -      # a job of CI, its ID token on stdin",
)
@click.argument("url", default="")
@click.option("--label", default="", help="What the token is called.  [default: USER@HOST]")
@click.option(
    "--days", default=90, show_default=True, type=click.IntRange(1, 366), help="Its life."
)
@click.option("--no-browser", is_flag=True, help="Print the address, and do not open it.")
@click.option("--id-token", default="", metavar="FILE", help="Exchange an ID token; - = stdin.")
@click.option("--queue", "-q", default="", help="With --id-token: limit the token to a queue.")
@output("text", "json")
def login(
    url: str, label: str, days: int, no_browser: bool, id_token: str, queue: str, form: str
) -> None:
    """Sign in to a server with a code that you confirm in a browser.

    The browser may be on another machine. The token is kept in a file of yours and printed
    nowhere; it can do what you may do there. Commands use it when $GANGLION_URL names that server,
    or when that is unset and no server runs on this machine. $GANGLION_TOKEN wins over it.

    Jobs of CI have no browser, and exchange an ID token of their own for a token, which the rules
    of the server name and bound.

    URL is where the server is; default: $GANGLION_URL, or the server of the last login.
    """
    from ganglion.client.logins import Login, LoginFile, canonical
    from ganglion.client.pairing import PairingClient

    if queue and not id_token:
        raise click.UsageError("--queue needs --id-token: who signs in has every right of the user")
    proof = _id_token(id_token) if id_token else ""
    file = LoginFile()
    server = canonical(url) if url else _meant(file)
    former = file.of(server)  # what is wrong with the file is said before the user is asked
    with PairingClient(server) as client:
        if proof:
            found = client.exchange(proof, queue)
        else:
            found = _paired(client, label or _label(), days, browser=not no_browser and is_tty())
    until = round(time.time() * 1000) + found.expires_in * 1000
    made = Login(server, found.access_token, found.user, until)
    file.add(made)
    if former:
        _end_former(former)
    if form == "json":
        shown = {"url": made.url, "user": made.user, "token": _id(made), "until": made.until_ms}
        print_data(shown | {"scope": found.scope, "file": str(file.path)}, form)
    else:
        click.echo(f"signed in to {made.url}")
        limits = f", limited to {found.scope}" if found.scope not in ("", UNLIMITED) else ""
        click.echo(f"as {made.user}, until {clock(made.until_ms)}{limits}")
    _say_use(made)


@command("logout", "logout", "logout https://gpu.example.org")
@click.argument("url", default="")
@click.option("--forget", is_flag=True, help="Remove it here; do not ask the server.")
def logout(url: str, forget: bool) -> None:
    """Revoke the token of a login at its server, and forget it.

    URL is where the server is; default: $GANGLION_URL, or the server of the last login.
    """
    from ganglion.client.logins import LoginFile, canonical

    file = LoginFile()
    server = canonical(url) if url else _meant(file)
    known = file.of(server)
    if known is None:
        raise StateError(f"no login is kept for {server}", f"see {file.path}")
    counted = not forget and _revoked(known)
    file.remove(known)
    if counted:
        click.echo(f"signed out of {server}; token {_id(known)} revoked")
    elif forget:
        click.echo(f"login at {server} forgotten")
        note(f"Its token counts until {clock(known.until_ms)} unless it is revoked there.")
    else:
        click.echo(f"login at {server} forgotten; its token did not count any more")


def _meant(file: "LoginFile") -> str:
    """The server that is meant where none is named."""
    from ganglion.client.logins import canonical

    given = os.environ.get("GANGLION_URL")
    latest = None if given else file.default()
    if not given and latest is None:
        raise InputError("which server is meant?", "ganglion login https://HOST")
    return canonical(given) if given else latest.url if latest else ""


def _id_token(source: str) -> str:
    """The ID token in a file, or on the standard input."""
    from ganglion.specs.reading.text import read

    context = get_current_context()
    given = [
        f"--{name.replace('_', '-')}"
        for name in ("label", "days", "no_browser")
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE
    ]
    if given:
        raise click.UsageError(f"--id-token takes no {', '.join(given)}: rules of the server count")
    raw, name = read(source)
    found = raw.decode("ascii", "replace").strip()
    if not _ID_TOKEN.fullmatch(found):
        hint = "one line: three parts with dots between them; of GitHub's answer, `value` alone"
        raise FileError(f"{name} is no ID token", hint)
    return found


def _paired(client: "PairingClient", label: str, days: int, *, browser: bool) -> "PairedToken":
    """Have the user confirm a code; returns the token."""
    code = client.begin(label[:MOST_LABEL], days)
    note(f"To sign in to {client.url}, open\n\n    {code.verification_uri}\n")
    note(f"and enter the code {code.user_code}\n")
    if browser:
        click.launch(code.verification_uri_complete or code.verification_uri)
    seen = is_tty(stderr=True)
    with err().status("Waiting for the browser …") if seen else nullcontext():
        return client.wait(code)


def _label() -> str:
    """What the token is called unless the user says."""
    host = socket.gethostname()
    try:
        return f"{getpass.getuser()}@{host}"
    except (OSError, KeyError):  # an account without a name
        return host


def _revoked(known: "Login") -> bool:
    """Revoke the token of a login; returns whether it counted until now."""
    from ganglion.client import Client

    try:
        with Client(known.url, known.token) as client:
            client.access.revoke_token(_id(known))
    except GanglionError as error:
        if error.code in VOID:
            return False
        error.hint = "try again, or forget it here: ganglion logout --forget"
        raise
    return True


def _end_former(former: "Login") -> None:
    """Revoke the token of the login before; the new one counts whatever comes of that."""
    try:
        _revoked(former)
    except GanglionError as error:
        note(f"The token of the login before still counts: {error.message}")
        note(f"ganglion token revoke {_id(former)}")


def _say_use(made: "Login") -> None:
    """Say what further commands use, if it is not this login."""
    from ganglion.client.logins import chosen_login

    if os.environ.get("GANGLION_TOKEN"):
        note("Commands send $GANGLION_TOKEN; to use this login: unset GANGLION_TOKEN")
        return
    chosen = chosen_login()
    if chosen is None or chosen.url != made.url:
        note(f"Commands use another server. To use this one:\nexport GANGLION_URL={made.url}")


def _id(known: "Login") -> str:
    """The public name of its token."""
    from ganglion.identity.tokens import token_id

    return token_id(known.token)
