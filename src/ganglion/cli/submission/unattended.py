"""For pipelines: what is submitted ends with the command, and a summary in Markdown is left."""

import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from ganglion.cli.output.formats import age
from ganglion.cli.output.screen import note
from ganglion.model.errors import Conflict, FileError, GanglionError

if TYPE_CHECKING:
    from ganglion.api.workloads import WorkloadDetail
    from ganglion.client.workload_client import WorkloadClient

SIGNALS = (signal.SIGINT, signal.SIGTERM)
ROWS = "| Workload | State | GPUs | Waited | Ran | Exit code |\n|---|---|---|---|---|---|\n"


class SignalledEnd(KeyboardInterrupt):
    """A signal asks the command to end.

    Args:
        number: of the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__()
        self.exit_code = 128 + number
        """Exit code of the command, as shells count it."""


class SignalWatch:
    """Remembers a signal until it can be acted upon, so that no submit is cut in its middle."""

    def __init__(self) -> None:
        self._number, self._raises = 0, False

    def begin(self) -> None:
        """Raise SignalledEnd at a signal from now on, at once if one has come."""
        self._raises = True
        if self._number:
            self.heard(self._number, None)

    def heard(self, number: int, _frame: FrameType | None) -> None:
        """Take a signal; once it was raised, further ones change nothing."""
        self._number = number
        if self._raises:
            self._raises = False
            raise SignalledEnd(number)


@contextmanager
def watched() -> Iterator[SignalWatch]:
    """Watch for signals that ask the command to end."""
    watch = SignalWatch()
    before = {each: signal.signal(each, watch.heard) for each in SIGNALS}
    try:
        yield watch
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def cancel_all(client: "WorkloadClient", jobs: Sequence[str]) -> None:
    """Cancel what has not ended; a refusal is named and stops no other."""
    for job in jobs:
        try:
            client.cancel(job)
        except Conflict:
            continue  # it has ended
        except GanglionError as error:
            note(f"{job} could not be cancelled: {error.message}")
        else:
            note(f"cancelling {job}")


def add_summary(path: Path, client: "WorkloadClient", jobs: Sequence[str]) -> None:
    """Append a Markdown table of workloads to a file, with why those wait that do.

    Raises:
        FileError: the file cannot be written.
    """
    views = [client.workload(job) for job in jobs]
    rows = "".join(map(_row, views))
    why = "".join(
        f"\n{view.id} waits: {_cell(view.message or view.reason)}\n"
        for view in views
        if view.reason
    )
    try:
        with path.open("a", encoding="utf-8") as stream:
            stream.write(f"{ROWS}{rows}{why}\n")
    except OSError as error:
        raise FileError(f"{path} cannot be written: {error.strerror}") from error


def _row(view: "WorkloadDetail") -> str:
    waited = age(view.started - view.submitted) if view.started else ""
    ran = age(view.ended - view.started) if view.started and view.ended else ""
    code = "" if view.exit_code is None else str(view.exit_code)
    cells = (f"`{view.id}`", view.state, f"{view.gpus:g}", waited, ran, code)
    return f"| {' | '.join(map(_cell, cells))} |\n"


def _cell(text: str) -> str:
    """Text that neither ends a cell nor is taken as HTML."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
