"""Where output goes: terminals get colour and their width, pipes get every character."""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Protocol

import click

if TYPE_CHECKING:
    from rich.console import Console

UNBOUNDED = 100_000
"""Columns of a pipe: nothing is cut off there."""
PATIENCE_S = 1.0
"""Work that takes longer than this shows how far it is."""
REFRESH_S = 0.1
"""Least time between two pictures of that."""


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


class ProgressBar(Protocol):
    """How far something is."""

    def __call__(self, done: int, total: int, label: str) -> None:
        """`done` of `total` are done, 0 = of an unknown number; `label` says what is next."""


@contextmanager
def bar() -> Iterator[ProgressBar]:
    """A progress bar on stderr, once the work has lasted; nothing through a pipe."""
    if not is_tty(stderr=True):
        yield _silent
        return
    from rich import progress

    text = progress.TextColumn("{task.description}")
    columns = (text, progress.BarColumn(), "{task.percentage:>3.0f}%", progress.TimeElapsedColumn())
    drawn = progress.Progress(*columns, console=err(), transient=True)
    task = drawn.add_task("", total=None)
    due = time.monotonic() + PATIENCE_S

    def show(done: int, total: int, label: str) -> None:
        nonlocal due
        now = time.monotonic()
        if now < due:
            return
        due = now + REFRESH_S
        drawn.start()  # once is enough, and further times change nothing
        drawn.update(task, completed=done, total=total or None, description=label)

    try:
        yield show
    finally:
        drawn.stop()


def _silent(done: int, total: int, label: str) -> None:
    """Say nothing."""


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
