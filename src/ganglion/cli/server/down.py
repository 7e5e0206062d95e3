"""`ganglion down`."""

import os
import signal

import rich_click as click

from ganglion.cli.connection.connect import connect
from ganglion.cli.options import command
from ganglion.cli.output.formats import plural
from ganglion.cli.output.screen import note
from ganglion.cli.workloads.ps import fetch
from ganglion.model.errors import EnvironmentFault, GanglionError

STOP_S = 30.0
CANCEL_S = 120.0
"""Longest wait for a server that gives its jobs time to save first."""


@command("down", "down", "down --cancel")
@click.option("--cancel", is_flag=True, help="Stop all jobs first.")
def down(cancel: bool) -> None:
    """Stop the server.

    Jobs run on, and the next `ganglion up` takes them over, unless --cancel is given.
    """
    from ganglion.cli.server.background import wait_gone
    from ganglion.client.home import Unreachable, home, read_server
    from ganglion.client.logins import chosen_login

    record, left = read_server(home()), 0
    if not record and not os.environ.get("GANGLION_URL") and chosen_login():
        note("No server is running.")  # one is stopped elsewhere only if it is named
        return
    try:
        with connect() as client:
            url = client.url
            left = 0 if cancel else len(fetch(client))
            client.shutdown(cancel=cancel)
    except Unreachable:
        note("No server is running.")
        return
    except GanglionError as error:
        if cancel or record is None or record.url != url:
            raise
        note(f"The server does not take requests: {error.message}")
        os.kill(record.pid, signal.SIGTERM)  # it answered, so this is its process
    if record is None or record.url != url:  # $GANGLION_URL names another one
        click.echo("The server is stopping.")
        return
    if not wait_gone(record.pid, CANCEL_S if cancel else STOP_S):
        hint = f"look at {home() / 'server.log'}, or: kill {record.pid}"
        raise EnvironmentFault(f"the server (pid {record.pid}) is still stopping", hint)
    click.echo("Server stopped.")
    if left:
        note(f"{plural(left, 'workload')} not ended; what runs goes on until the next ganglion up.")
