"""Screens that stay up to date."""

import shutil
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from ganglion.cli.output.screen import is_tty, out

if TYPE_CHECKING:
    from rich.console import RenderableType

PERIOD_S = 1.0


def on_screen() -> int | None:
    """Return how many rows a screen that stays up to date can show; None = a pipe shows all."""
    return shutil.get_terminal_size().lines if is_tty() else None


def watch_screen(render: Callable[[], "RenderableType"]) -> None:
    """Draw again every second until Ctrl-C.

    Through a pipe every change is printed below the one before, so that it can be recorded.
    """
    try:
        _live(render) if is_tty() else _append(render)
    except KeyboardInterrupt:
        return


def _live(render: Callable[[], "RenderableType"]) -> None:
    from rich.live import Live

    with Live(render(), console=out(), auto_refresh=False, screen=False) as live:
        while True:
            live.update(render(), refresh=True)
            time.sleep(PERIOD_S)


def _append(render: Callable[[], "RenderableType"]) -> None:
    console, last = out(), ""
    while True:
        with console.capture() as captured:
            console.print(render())
        text = "\n".join(line.rstrip() for line in captured.get().splitlines())
        if text != last:
            click.echo(text + "\n")
            last = text
        time.sleep(PERIOD_S)
