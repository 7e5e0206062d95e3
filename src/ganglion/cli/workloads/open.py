"""`ganglion open`."""

import rich_click as click

from ganglion.cli.connection.connect import complete_jobs, connect
from ganglion.cli.options import command, output
from ganglion.cli.output.screen import is_tty
from ganglion.cli.output.tables import print_data


@command("open", "open ada-lab", "open chat -o json")
@click.argument("service", shell_complete=complete_jobs)
@output("text", "json", "yaml")
def open_(service: str, form: str) -> None:
    """Open a service or workspace in your browser.

    Prints an address that lets one browser in, once, within five minutes, and on a terminal opens
    it. Programs send the token that `-o json` prints, as X-Ganglion-Token.

    SERVICE is an id, the beginning of one, or a name.
    """
    with connect() as client:
        found = client.open(service)
    if form != "text":
        print_data(found, form)
        return
    click.echo(found.url)
    if is_tty():
        click.launch(found.url)
