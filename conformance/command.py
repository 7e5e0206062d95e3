"""The command line of `python -m conformance`."""

import rich_click as click

from conformance.deviations import load_deviations
from conformance.formats import FORMATS
from ganglion.cli.options import settings
from ganglion.cli.simulation.scenarios import Book, commands

PROGRAM = "python -m conformance"


@click.group("conformance", cls=click.RichGroup, context_settings=settings())
def conformance() -> None:
    """Run scenarios of other schedulers, with the outcomes that those expect.

    They run on the engine that schedules real machines.
    """


for each in commands(lambda: Book(FORMATS, load_deviations()), "%s kai.yaml", program=PROGRAM):
    conformance.add_command(each)
