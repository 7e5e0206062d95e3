"""Where output goes: terminals get colour and their width, pipes get every character."""

import os
import sys
from functools import cache
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.console import Console

UNBOUNDED = 100_000
"""Columns of a pipe: nothing is cut off there."""


@cache
def out() -> "Console":
    """Console on stdout."""
    return _console(stderr=False)


@cache
def err() -> "Console":
    """Console on stderr: progress, notes and hints, so that stdout stays data."""
    return _console(stderr=True)


def out_of(width: int) -> "Console":
    """Console on stdout of at least that width, for what must not be cut."""
    return out() if out().width >= width else _console(stderr=False, width=width)


def is_tty(*, stderr: bool = False) -> bool:
    """Whether a person looks at the stream."""
    stream = sys.stderr if stderr else sys.stdout
    return stream.isatty()


def is_coloured(*, stderr: bool = False) -> bool:
    """Whether colour is wanted: never with NO_COLOR, always with FORCE_COLOR, else for people."""
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or is_tty(stderr=stderr)


def note(text: str) -> None:
    """Print a line for people on stderr."""
    click.echo(text, err=True)


def _console(*, stderr: bool, width: int | None = None) -> "Console":
    from rich.console import Console

    tty = is_tty(stderr=stderr)
    return Console(
        stderr=stderr,
        highlight=False,
        markup=False,
        emoji=False,
        width=width if tty else UNBOUNDED,
    )
