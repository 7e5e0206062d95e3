"""`ganglion doctor`."""

import os
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ganglion.cli.options import command, output
from ganglion.cli.output.screen import is_coloured
from ganglion.cli.output.tables import print_data

if TYPE_CHECKING:
    from ganglion.cli.server.checkup import CheckFinding

COLOURS = {"ok": "green", "warn": "yellow", "fail": "red"}
WIDTH = 80


@command("doctor", "doctor", "doctor -o json")
@output("table", "json", "yaml")
def doctor(form: str) -> int:
    """Check for common problems.

    Checks the home directory, disk, limits, GPUs, ledger, clock, proxies, and a running server.
    Nothing is changed and no secret is printed. Exit code 1 if a check fails, else 0.
    """
    from ganglion.cli.server.checkup import FAIL
    from ganglion.client.home import home

    found = examine(home(), os.environ)
    if form == "table":
        for each in found:
            _say(each.check, each.status, each.message, each.hint)
    else:
        print_data([each._asdict() for each in found], form)
    return int(any(each.status == FAIL for each in found))


def examine(home: Path, environ: Mapping[str, str]) -> "list[CheckFinding]":
    """Run every check; one that fails by itself is a finding and stops no other.

    Args:
        home: Ganglion's home directory.
        environ: environment variables.
    """
    from ganglion.cli.server import checkup, checkup_server

    found: list[checkup.CheckFinding] = []
    for check in (*checkup.CHECKS, *checkup_server.CHECKS):
        try:
            found += check(home, environ)
        except Exception as error:
            message = f"could not be checked: {type(error).__name__}: {error}"
            hint = "please report it"
            found.append(checkup.CheckFinding(check.__name__, checkup.WARN, message, hint))
    return found


def _say(check: str, status: str, message: str, hint: str) -> None:
    """Print a finding in lines that fit."""
    mark = click.style(f"{status:<4}", fg=COLOURS[status], bold=status != "ok")
    begin = f"{check:<17}"
    lines = textwrap.wrap(message, WIDTH - 24, break_on_hyphens=False) or [""]
    click.echo(f"{mark}  {begin} {lines[0]}", color=is_coloured())
    more = [*lines[1:]]
    if hint:
        more += textwrap.wrap(hint, WIDTH - 27, initial_indent="-> ", subsequent_indent="   ")
    for line in more:
        click.echo(" " * 24 + line)
