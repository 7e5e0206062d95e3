"""`ganglion plugins`."""

from typing import TYPE_CHECKING

from ganglion.cli.options import command, list_output
from ganglion.cli.output.formats import DASH
from ganglion.cli.output.tables import Column, print_list

if TYPE_CHECKING:
    from ganglion.extensions import InstalledPlugin


@command("plugins", "plugins -o json")
@list_output
def plugins(form: str) -> None:
    """List plugins by extension point.

    Those that come with Ganglion and those that installed packages offer through entry points
    named ganglion.filters, ganglion.scores, ganglion.permits and ganglion.preempts.
    """
    from ganglion.extensions import installed

    columns: list[Column[InstalledPlugin]] = [
        Column("POINT", lambda p: p.point),
        Column("NAME", lambda p: p.name),
        Column("ORIGIN", lambda p: p.origin),
        Column("STATUS", lambda p: "broken" if p.error else "ok", style=_colour),
        Column("ERROR", lambda p: p.error or DASH, least=20),
    ]
    print_list(installed(), columns, form, empty="no plugins")


def _colour(plugin: "InstalledPlugin") -> str:
    return "red" if plugin.error else "green"
