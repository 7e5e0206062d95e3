"""`-v/--verbose`: one line on stderr for each request to the server."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import click

VARIABLE = "GANGLION_VERBOSE"
LOG = "ganglion.requests"
"""Log of the client's requests; `client.trail` writes it, which takes too long to import here."""


def verbose_option() -> click.Option:
    """Make the option; `$GANGLION_VERBOSE=1` says the same."""
    return click.Option(
        ["-v", "--verbose"],
        is_flag=True,
        expose_value=False,
        is_eager=True,
        callback=_show,
        help="Print each request to the server on stderr.",
    )


def with_verbose(command: click.Command) -> click.Command:
    """Give the option to a command and to all commands below it."""
    if all(param.name != "verbose" for param in command.params):
        command.params.append(verbose_option())
        for child in command.commands.values() if isinstance(command, click.Group) else ():
            with_verbose(child)
    return command


def _show(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    wanted = value or os.environ.get(VARIABLE) == "1"
    if wanted and not ctx.resilient_parsing and not ctx.meta.setdefault(LOG, False):
        ctx.meta[LOG] = True  # it may be given before the command and after it
        ctx.find_root().with_resource(_printed())


@contextmanager
def _printed() -> Iterator[None]:
    """Print the log of requests for as long as this lasts."""
    import logging

    class Printer(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            click.echo(self.format(record), err=True)

    log, printer = logging.getLogger(LOG), Printer()
    before = log.level, log.propagate
    log.setLevel(logging.INFO)
    log.propagate = False
    log.addHandler(printer)
    try:
        yield
    finally:
        log.removeHandler(printer)
        log.setLevel(before[0])
        log.propagate = before[1]
