"""`ganglion portal`: the queue in a browser."""

from typing import TYPE_CHECKING

import rich_click as click

from ganglion.cli.connection.connect import connect
from ganglion.cli.options import command
from ganglion.cli.output.formats import clock
from ganglion.cli.output.screen import note
from ganglion.model.errors import EnvironmentFault

if TYPE_CHECKING:
    from ganglion.client.client import Client


@command("portal", "portal")
def portal() -> None:
    """Print a link that opens the portal in a browser, once and within an hour.

    For the owner of the server, on its machine. Where users sign in with a browser, it is the
    address of the portal.
    """
    with connect() as client:
        url, until, trouble = _link(client)
    if trouble:
        raise EnvironmentFault("there is no portal", trouble)
    if until:
        note(f"Opens the portal once, until {clock(until)}:")
    click.echo(url)


def say_portal() -> None:
    """Print the link of the portal, or why there is none, after a server has started."""
    with connect() as client:
        url, until, trouble = _link(client)
    if trouble:
        note(f"No portal: {trouble}")
        return
    note("The portal, by a link that counts once and for an hour:" if until else "The portal:")
    click.echo(url)


def _link(client: "Client") -> tuple[str, int, str]:
    """Make a link: its URL, until when it counts in ms (0 = always), or why there is none."""
    made = client.access.portal_link()
    url = f"{client.url}{made.url}" if made.url.startswith("/") else made.url
    return url, made.until, made.trouble
