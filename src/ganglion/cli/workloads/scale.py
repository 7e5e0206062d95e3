"""`ganglion scale`."""

import rich_click as click

from ganglion.cli.connection.connect import complete_jobs, connect
from ganglion.cli.options import command, output
from ganglion.cli.output.tables import print_data


@command("scale", "scale chat 4", "scale chat 2..8", "scale chat 0")
@click.argument("service", shell_complete=complete_jobs)
@click.argument("replicas")
@output("text", "json", "yaml")
def scale(service: str, replicas: str, form: str) -> None:
    """Give a service another number of replicas.

    REPLICAS is a number, or a floor and a ceiling, as 2..8, between which it scales by itself.
    A service that scales by itself continues from the number. Surplus replicas finish their
    requests.

    SERVICE is an id, the beginning of one, or a name.
    """
    from ganglion.cli.output.formats import plural

    with connect() as client:
        view = client.scale(service, replicas)
    if form != "text":
        print_data(view, form)
        return
    found = view.scaling
    wanted = found.wanted if found else len(view.gangs)
    bounds = f", between {found.floor} and {found.ceiling}" if found and found.ceiling else ""
    click.echo(f"{view.id}: {plural(wanted, 'replica')} wanted{bounds}, {view.running} running")
