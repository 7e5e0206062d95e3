"""`ganglion version`."""

import platform

import click

from ganglion import __version__
from ganglion.cli.connection.connect import connect
from ganglion.cli.options import command, output
from ganglion.cli.output.tables import print_data
from ganglion.model.errors import EnvironmentFault


@command("version")
@output("table", "json", "yaml")
def version(form: str) -> None:
    """Print versions of client and server."""
    found = {"client": __version__, "server": _server(), "python": platform.python_version()}
    if form != "table":
        print_data(found, form)
        return
    click.echo("\n".join(f"{name:<7} {value or 'not running'}" for name, value in found.items()))


def _server() -> str | None:
    """Return the server's version; None when none runs, which is no error here."""
    try:
        with connect(timeout_s=2.0) as client:
            return client.version().version
    except EnvironmentFault:
        return None
