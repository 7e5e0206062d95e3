"""A second copy of the state, which has what is written and nothing else.

A turn changes the first copy. Where the turn cannot be written, the second takes its place at once,
so that readers wait for nothing and see nothing that is not written. It follows some events behind,
and snapshots are made of it.
"""

import gc
from collections import deque
from collections.abc import Callable

import structlog
from msgspec import Struct

from ganglion import __version__
from ganglion.ledger.ledger import Ledger
from ganglion.ledger.records import Batch, Cycle, Snapshot
from ganglion.ledger.records import Entry as Row
from ganglion.server.controllers.controller import Controllers
from ganglion.server.recovery import checkpoint
from ganglion.server.recovery.image import copied, frozen, thawed
from ganglion.server.recovery.recover import no_collection
from ganglion.server.recovery.replay import ignored, take
from ganglion.server.state.registry import LiveWorkload
from ganglion.server.state.transaction import Mind

BEHIND = 256
"""Events that the copy may be behind, so that to catch up takes some ms."""
REMEMBERED = 2_048
"""Events after which what keepers remember is copied again."""
SNAPSHOT = 20_000
"""Events after which a snapshot is written; to replay as many takes a second."""
AT_THE_END = 1_000
"""The same for a server that ends."""

log = structlog.get_logger(__name__)


class _Turn(Struct):
    """A turn that was written and is not in the copy yet."""

    cycle: Cycle
    batch: Batch


class Written:
    """The copy.

    Args:
        ledger: what is written.
        keepers: of the first copy; what they remember goes back with the state.
    """

    def __init__(self, ledger: Ledger, keepers: Controllers) -> None:
        self._ledger, self._keepers = ledger, keepers
        self._mind: Mind | None = None
        self._turns: deque[_Turn] = deque()
        self._behind = 0
        self._memories, self._remembered = b"", 0
        usable = [each for each in ledger.snapshots() if each.version == __version__]
        self._snapshot, self._kept_at = (usable[0].seq, usable[0].at) if usable else (0, 0)
        self._seq = self._cycle = 0

    def begin(self, mind: Mind) -> None:
        """Copy a state that has what is written and nothing else."""
        self._turns.clear()
        self._behind = 0
        with no_collection(stays=False):
            self._mind = copied(mind)
        self._seq, self._cycle = self._ledger.head, self._ledger.cycle
        self._remember()

    def follow(self, batch: Batch, rows: list[Row]) -> None:
        """A turn was written; one in which nothing happened is in no ledger, and not kept."""
        if not batch:
            return
        self._seq, self._cycle = self._ledger.head, self._ledger.cycle
        if batch.erased:
            self._snapshot = 0  # none is left
        seqs = range(self._seq - len(rows) + 1, self._seq + 1)
        cycle = Cycle(self._cycle, batch.at, batch.incoming, batch.decisions, seqs)
        self._turns.append(_Turn(cycle, batch))
        self._behind += len(rows) + 1  # one more: a turn may change descriptions alone
        if self._behind > BEHIND:
            self.catch_up()
        if self._seq - self._remembered > REMEMBERED:
            self._remember()

    def catch_up(self) -> None:
        """Take in what was written meanwhile."""
        while self._turns and self._mind:
            turn, book = self._turns.popleft(), self._mind.book
            for new in turn.batch.submitted:
                book.enter(LiveWorkload(new.id, new.number, new.at, new.document, new.workload))
            for change in turn.batch.changed:
                entry = book.entries[change.id]
                book.enter(
                    LiveWorkload(entry.id, entry.number, entry.at, entry.document, change.workload)
                )
            take(self._mind, turn.cycle, ignored)
        self._behind = 0

    def go_back(self) -> Mind:
        """Give the copy away in place of a state with a turn that is not written.

        What keepers remember is not right before `bring_back`.
        """
        self.catch_up()
        gc.unfreeze()  # the state that is given up would stay for good
        mind, self._mind = self._mind, None
        assert mind is not None
        return mind

    def bring_back(self, mind: Mind) -> bool:
        """Have keepers remember what is written, and copy the state anew.

        Args:
            mind: as `go_back` gave it.

        Returns:
            Whether a turn was written after all, as the answer to its commit was lost; it is
            taken in now.

        Raises:
            EnvironmentFault: the database does not answer.
        """
        ledger = self._ledger
        ledger.refresh()
        lost = (ledger.head, ledger.cycle) != (self._seq, self._cycle)
        # All is read before anything is changed: after a failure in between, the next try would
        # take a cycle in for the second time.
        noted = [*ledger.cycles(self._remembered)]
        missed = [*ledger.cycles(self._seq)] if lost else []
        live = ledger.history.live() if lost else []
        self._keepers.recall(thawed(self._memories) if self._memories else {})
        for cycle in noted:
            for event in (*cycle.incoming, *cycle.decisions):
                self._keepers.note(event)
        for cycle in missed:
            take(mind, cycle, ignored)
        if lost:
            mind.book.load(live)
        self.begin(mind)
        return lost

    def keep(self, clock: Callable[[], int], *, ending: bool = False) -> bool:
        """Write a snapshot when it is time for one; whether one was written.

        Args:
            clock: the time in ms.
            ending: whether the server ends.
        """
        if self._mind is None or not self._due(clock, ending=ending):
            return False
        self._snapshot = self._ledger.head  # also where it fails: not again in every turn
        try:
            return self._kept(self._mind, clock())
        # Without a snapshot the next start takes longer, and nothing else happens.
        except Exception:
            log.exception("snapshot not written")
            return False

    def _due(self, clock: Callable[[], int], *, ending: bool) -> bool:
        """Whether it is time for a snapshot: to start quickly, or to cut the ledger at it."""
        fresh, spacing = self._ledger.head - self._snapshot, self._ledger.spacing
        most = min(SNAPSHOT, spacing.events or SNAPSHOT)
        if fresh >= (min(AT_THE_END, most) if ending else most):
            return True
        return bool(fresh and spacing.ms and clock() - self._kept_at >= spacing.ms)

    def _kept(self, mind: Mind, now: int) -> bool:
        memories, ledger = self._keepers.memories(), self._ledger
        if memories is None:
            return False
        self.catch_up()
        body = checkpoint.written(mind, memories)
        self._kept_at = now
        ledger.keep(Snapshot(ledger.head, ledger.cycle, now, __version__, ledger.checksum, body))
        log.info("snapshot written", seq=ledger.head, size=len(body))
        return True

    def _remember(self) -> None:
        """Copy what keepers remember; what a keeper missed is no reason to forget the rest."""
        memories = self._keepers.memories()
        if memories is not None:
            self._memories, self._remembered = frozen(memories), self._seq
