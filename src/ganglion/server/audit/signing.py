"""Signs what the ledger holds, in a thread of its own. No turn waits for it."""

import threading
from collections import deque
from collections.abc import Callable
from pathlib import Path

import structlog

from ganglion.audit.anchors import Anchor, AnchorReached
from ganglion.audit.folder import AuditFolder, Sealed
from ganglion.audit.sealing import Sealer
from ganglion.ledger.ledger import Ledger
from ganglion.model.errors import GanglionError
from ganglion.seams.effects import SYSTEM, Effects
from ganglion.server.audit.anchoring import Anchoring

PAUSE_S = 1.0
"""Time between two looks at how far the ledger is."""
TROUBLE_S = 10.0
"""The same while something refuses."""
LAST_S = 5.0
"""How long the last checkpoint may take when the server ends, and one that a request waits for."""
APART_S = 10.0
"""Time between two checkpoints that requests ask for."""

log = structlog.get_logger(__name__)


class Signing:
    """Makes checkpoints of the ledger in the home, which its anchors get too.

    Args:
        home: Ganglion's home directory.
        ledger: what is signed.
        clock: the time in ms.
        effects: what the folder of checkpoints asks of the machine.

    Attributes:
        trouble: why nothing is signed at present; empty = everything is.
        newest: the newest checkpoint; None = there is none.
    """

    def __init__(
        self,
        home: Path,
        ledger: Ledger,
        clock: Callable[[], int],
        effects: Effects = SYSTEM,
    ) -> None:
        self._folder, self._ledger = AuditFolder(home, effects), ledger
        self._clock = clock
        self._sealer: Sealer | None = None
        self.trouble = ""
        self.newest: Sealed | None = None
        self._anchoring = Anchoring(home, lambda: self.newest, clock, effects)
        self._ending, self._wake = threading.Event(), threading.Event()
        self._asked, self._steady, self._last_s = deque[threading.Event](), effects.clock, -APART_S
        self._thread = threading.Thread(target=self._run, name="audit", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()
        self._anchoring.start()

    def close(self) -> None:
        """Sign what is left, give it to the anchors, and end."""
        self._ending.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join(timeout=LAST_S)
        self._anchoring.close()

    @property
    def unanchored(self) -> str:
        """Which anchors lack the newest checkpoint, and why; empty = none does."""
        return self._anchoring.trouble

    def reached(self, anchor: Anchor) -> AnchorReached:
        """How far an anchor is, as far as this server knows."""
        return self._anchoring.reached(anchor)

    def missing(self) -> str:
        """Why nothing is signed, else which anchors lack it; empty = all is as it should be."""
        return self.trouble or self.unanchored

    def _run(self) -> None:
        while not self._ending.is_set():
            self._wake.wait(TROUBLE_S if self.trouble else PAUSE_S)
            self._wake.clear()
            asked = [self._asked.popleft() for _ in range(len(self._asked))]
            self.step(ending=bool(asked))
            for each in asked:
                each.set()
        self.step(ending=True)

    def at_once(self) -> None:
        """Sign what is new without a wait for its minute, unless that was just asked for.

        Safe from any thread; returns once it is signed, or cannot be.
        """
        now_s, done = self._steady.monotonic(), threading.Event()
        if now_s - self._last_s < APART_S:
            return
        self._last_s = now_s
        self._asked.append(done)
        self._wake.set()
        done.wait(LAST_S)

    def step(self, *, ending: bool = False) -> Sealed | None:
        """Sign once if it is due; returns the checkpoint.

        Args:
            ending: whether it is due whatever the time.
        """
        try:
            if self._sealer is None:
                self._sealer = Sealer(self._ledger, self._folder, self._ledger.tail)
                self.newest = self._sealer.newest
            made = self._sealer.seal(self._ledger.head, self._clock(), ending=ending)
        except (GanglionError, OSError, ValueError) as error:
            self._sealer = None  # what it holds in memory may be ahead of the disk
            self._troubled(error.message if isinstance(error, GanglionError) else str(error))
            return None
        self.trouble = ""
        if made:
            self.newest = made
        return made

    def _troubled(self, said: str) -> None:
        if said != self.trouble:
            log.warning("the ledger is not signed", error=said)
        self.trouble = said
