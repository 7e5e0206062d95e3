"""What commands that measure have in common: a progress bar, and a file of figures."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from ganglion.cli.output.screen import err, is_tty, note
from ganglion.model.errors import EnvironmentFault

PATIENCE_S = 1.0
"""Work that takes longer than this shows how far it is."""


class ProgressBar(Protocol):
    """How far something is."""

    def __call__(self, done: int, total: int, label: str) -> None:
        """`done` of `total` are done; `label` says what is next."""


def check_target(target: Path | None) -> None:
    """Fail before minutes of work rather than after them. Raises EnvironmentFault."""
    if target and not target.absolute().parent.is_dir():
        raise EnvironmentFault(f"cannot write {target}: no folder {target.parent}")


def write_figures(target: Path, data: object) -> None:
    """Write plain data as JSON, and say so on stderr. Raises EnvironmentFault."""
    import msgspec

    text = msgspec.json.format(msgspec.json.encode(data), indent=2)
    try:
        target.write_bytes(text + b"\n")
    except OSError as error:
        raise EnvironmentFault(f"cannot write {target}: {error.strerror}") from error
    note(f"figures written to {target}")


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
    began = time.monotonic()

    def show(done: int, total: int, label: str) -> None:
        if not drawn.live.is_started:
            if time.monotonic() - began < PATIENCE_S:
                return
            drawn.start()
        drawn.update(task, completed=done, total=total, description=label)

    try:
        yield show
    finally:
        drawn.stop()


def _silent(done: int, total: int, label: str) -> None:
    """Say nothing."""
