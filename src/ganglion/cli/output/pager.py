"""Long lists on a terminal go through a pager, as git's do."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

import click

from ganglion.cli.output import screen

SETTING = f"{__name__}.off"
"""Key of `--no-pager` in the context of a command."""


def write(lines: Iterator[str]) -> None:
    """Print lines as they come; through `$PAGER` when they are more than the screen holds.

    An empty `$PAGER`, `cat`, `--no-pager` and everything but a terminal do without.
    """
    command = _command()
    held: list[str] = []
    if command:
        height = shutil.get_terminal_size().lines - 1
        for line in lines:
            held.append(line)
            if len(held) > height:
                break
        else:
            command = ""
    with _opened(command) as out:
        for each in held:
            out.write(each + "\n")
        out.flush()  # the first rows are read while the others come
        for each in lines:
            out.write(each + "\n")


def _command() -> str:
    context = click.get_current_context(silent=True)
    if not screen.is_tty() or (context and context.meta.get(SETTING)):
        return ""
    found = os.environ.get("PAGER", "less").strip()
    return "" if found == "cat" or not shutil.which(found.split()[0] if found else "") else found


@contextmanager
def _opened(command: str) -> Iterator[IO[str]]:
    """Write to a pager, or to stdout without one; a person who leaves the pager has seen enough."""
    if not command:
        yield sys.stdout
        return
    sys.stdout.flush()
    # What git gives less: end when it fits, pass colours, leave the screen as it is.
    environ = {"LESS": "FRX", "LV": "-c"} | os.environ
    pager = subprocess.Popen(command, shell=True, text=True, stdin=subprocess.PIPE, env=environ)
    assert pager.stdin
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the pager's
    try:
        yield pager.stdin
        pager.stdin.close()
    except BrokenPipeError:
        pass
    finally:
        pager.wait()
        signal.signal(signal.SIGINT, before)
