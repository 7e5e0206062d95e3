"""Writes signed checkpoints to the anchors, in a thread of its own: no anchor holds up signing."""

import threading
from collections.abc import Callable
from pathlib import Path

import structlog

from ganglion.audit.anchors import Anchor, read_audit_settings, write_anchor
from ganglion.audit.folder import Sealed
from ganglion.model.errors import FileError
from ganglion.seams.effects import SYSTEM, Effects

PAUSE_S = 1.0
"""Time between two looks for a new checkpoint."""
TROUBLE_S = 10.0
"""The same while an anchor refuses."""
LAST_S = 10.0
"""How long the last checkpoint may take when the server ends."""

log = structlog.get_logger(__name__)


class Anchoring:
    """Gives every anchor of the home the newest checkpoint.

    The settings are read for every checkpoint, and again while something refuses.

    Args:
        home: Ganglion's home directory.
        newest: the newest checkpoint; None = there is none.
        clock: the time in ms.
        effects: files and programs.

    Attributes:
        trouble: which anchors lack the newest checkpoint, and why; empty = none does.
    """

    def __init__(
        self,
        home: Path,
        newest: Callable[[], Sealed | None],
        clock: Callable[[], int],
        effects: Effects = SYSTEM,
    ) -> None:
        self._home, self._newest, self._clock, self._effects = home, newest, clock, effects
        self._done = 0
        self._written: dict[Anchor, str] = {}
        self.trouble = ""
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="anchors", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def close(self) -> None:
        """Write the last checkpoint, and end. What signs has ended before."""
        self._ending.set()
        if self._thread.is_alive():
            self._thread.join(timeout=LAST_S)

    def _run(self) -> None:
        while not self._ending.wait(TROUBLE_S if self.trouble else PAUSE_S):
            self.step()
        self.step()

    def step(self) -> None:
        """Write the newest checkpoint wherever it is not yet."""
        newest = self._newest()
        if newest is None or newest.seq == self._done:
            return
        refused = list[str]()
        try:
            for each in read_audit_settings(self._home, self._effects.files).anchors:
                self._write(each, newest.note, refused)
        except FileError as error:
            refused.append(error.message)
        if not refused:
            self._done = newest.seq
        said = "; ".join(refused)
        if said and said != self.trouble:
            log.warning("a checkpoint is not anchored", error=said)
        self.trouble = said

    def _write(self, anchor: Anchor, note: str, refused: list[str]) -> None:
        if self._written.get(anchor) == note:
            return
        try:
            write_anchor(anchor, note, self._clock(), self._effects)
        except OSError as error:
            refused.append(f"anchor {anchor.where}: {error.strerror or error}")
        else:
            self._written[anchor] = note
