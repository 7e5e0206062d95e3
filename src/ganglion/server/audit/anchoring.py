"""Writes signed checkpoints to the anchors, in a thread of its own: no anchor holds up signing."""

import threading
from collections.abc import Callable
from pathlib import Path

import structlog
from msgspec.structs import replace

from ganglion.audit.anchors import Anchor, AnchorReached, read_audit_settings, write_anchor
from ganglion.audit.folder import Sealed
from ganglion.model.errors import FileError
from ganglion.seams.effects import SYSTEM, Effects

PAUSE_S = 1.0
"""Time between two looks for a new checkpoint."""
TROUBLE_S = 10.0
"""The same while an anchor refuses."""
LAST_S = 10.0
"""How long the last checkpoint may take when the server ends."""
SILENT_MS = 120_000
"""From this time on an anchor that has neither taken nor refused a checkpoint is named."""

log = structlog.get_logger(__name__)


class Anchoring:
    """Gives every anchor of the home the newest checkpoint.

    The settings are read for every checkpoint, and again while something refuses.

    Args:
        home: Ganglion's home directory.
        newest: the newest checkpoint; None = there is none.
        clock: the time in ms.
        effects: files and programs.
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
        self._reached: dict[Anchor, AnchorReached] = {}
        self._busy: tuple[Anchor, int] | None = None
        self._refused, self._begun = "", clock()
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="anchors", daemon=True)

    @property
    def trouble(self) -> str:
        """Which anchors lack the newest checkpoint, and why; empty = none does."""
        busy = self._busy
        waits = self._clock() - busy[1] if busy else 0
        if busy and waits >= SILENT_MS:
            return f"anchor {busy[0].where} has not answered for {waits // 1000} s"
        return self._refused

    def reached(self, anchor: Anchor) -> AnchorReached:
        """How far an anchor is, as far as this server knows."""
        return self._reached.get(anchor, AnchorReached(begun=self._begun))

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def close(self) -> None:
        """Write the last checkpoint, and end. What signs has ended before."""
        self._ending.set()
        if self._thread.is_alive():
            self._thread.join(timeout=LAST_S)

    def _run(self) -> None:
        while not self._ending.wait(TROUBLE_S if self._refused else PAUSE_S):
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
                self._write(each, newest, refused)
        except FileError as error:
            refused.append(error.message)
        if not refused:
            self._done = newest.seq
        said = "; ".join(refused)
        if said and said != self._refused:
            log.warning("a checkpoint is not anchored", error=said)
        self._refused = said

    def _write(self, anchor: Anchor, newest: Sealed, refused: list[str]) -> None:
        if self._written.get(anchor) == newest.note:
            return
        self._busy = anchor, self._clock()
        try:
            write_anchor(anchor, newest.note, self._clock(), self._effects)
        except OSError as error:
            problem = f"{error.strerror or error}"
            refused.append(f"anchor {anchor.where}: {problem}")
            self._reached[anchor] = replace(self.reached(anchor), problem=problem)
        else:
            self._written[anchor] = newest.note
            self._reached[anchor] = AnchorReached(newest.seq, self._clock())
        finally:
            self._busy = None
