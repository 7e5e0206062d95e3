"""How long the ledger keeps events, and what ended workloads looked like: by age and by size.

`retention.json` says so, as for runs (see `worlds.local.retention`). Events leave only at a
checkpoint that can be read, out of a ledger without a flaw, and after they were written to an
archive, unless the file says that there is to be none. By default they never leave. What a legal
hold keeps stays, and so does what is known of workloads that ended in its time.
"""

import threading
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import structlog
from sqlalchemy import func, select

from ganglion.extensions import load
from ganglion.ledger.audit import audited
from ganglion.ledger.ledger import Ledger
from ganglion.ledger.people.erasure import unwiped
from ganglion.ledger.reader import Reader
from ganglion.ledger.records import Cut, Snapshot, Spacing
from ganglion.ledger.sql.tables import events
from ganglion.ledger.transfer import exported
from ganglion.model.errors import Conflict, GanglionError
from ganglion.model.events import LedgerCut
from ganglion.model.policy import Policy
from ganglion.seams.effects import SYSTEM, Effects
from ganglion.seams.files import make_folder, remove
from ganglion.server.recovery.checkpoint import read
from ganglion.server.state.rights import NEVER
from ganglion.server.state.transaction import Transaction
from ganglion.worlds.local.run_files.retention import DAY_MS, EVERY_S, MB, RetentionRule, rule_of

ARCHIVE = "archive"
"""Folder of the home that holds what was cut off."""
PARTS = 8
"""Checkpoints that are kept over the time or size that events are kept for."""
SAMPLE = 1_000
"""Newest events, whose size is the sample for that of all."""
AROUND = 120
"""Bytes that a row takes beside the body of its event, about."""
AT_ONCE = 2_000
"""Rows that one transaction removes: it holds the server up for some ms."""
PAGES = 200
"""Pages that one transaction gives back."""
FEW = 200
"""Workloads that one transaction trims."""

Command = Callable[[Transaction], Any]
Ask = Callable[[Command], Any]

log = structlog.get_logger(__name__)


class LedgerRetention:
    """Sweeps again and again, in a thread of its own.

    Args:
        home: Ganglion's home directory.
        ledger: open.
        ask: has the server run a command in its next turn.
        clock: the time in ms.
        effects: files.

    Attributes:
        trouble: why nothing leaves although it should; empty = it does, or nothing has to.
    """

    def __init__(
        self,
        home: Path,
        ledger: Ledger,
        ask: Ask,
        clock: Callable[[], int],
        effects: Effects = SYSTEM,
    ) -> None:
        self._effects = effects
        self._home, self._ledger, self._ask, self._clock = home, ledger, ask, clock
        self.trouble = ""
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, name="ledger-retention", daemon=True)

    def start(self) -> None:
        """Begin to sweep."""
        self._thread.start()

    def close(self) -> None:
        """Sweep no more; what was begun goes on at the next start."""
        self._end.set()

    def _run(self) -> None:
        while not self._end.is_set():
            try:
                self.sweep()
            except (GanglionError, OSError) as error:
                log.warning("the ledger cannot be trimmed", error=str(error))
                self.trouble = f"the ledger cannot be trimmed: {error}"
            self._end.wait(EVERY_S)

    def sweep(self) -> Cut | None:
        """Do once what the rule asks for; returns where the ledger was cut, if it was.

        Raises:
            EnvironmentFault: the rule, the database or the disk refuses.
        """
        rule = rule_of(self._home)
        self._ledger.spacing = self._spacing(rule)
        self._drop()
        if unwiped(self._ledger):
            self._ask(lambda draft: draft.wipe())
        now = self._clock()
        lasts = rule.detail_days or rule.event_days or rule.event_megabytes
        held = self._ask(lambda draft: draft.book.rights.held_since) if lasts else NEVER
        if rule.detail_days:
            before = min(now - rule.detail_days * DAY_MS, held)
            while self._ledger.trim(before, FEW) and not self._end.is_set():
                pass
        snapshot = self._chosen(rule, now, held)
        if snapshot is None:
            self.trouble = ""
            return None
        return self._cut(snapshot, rule)

    def _spacing(self, rule: RetentionRule) -> Spacing:
        most = self._most_events(rule)
        return Spacing(rule.event_days * DAY_MS // PARTS, max(most // PARTS, 1) if most else 0)

    def _most_events(self, rule: RetentionRule) -> int:
        """Events that the size allows for; 0 = any number."""
        if not rule.event_megabytes:
            return 0
        newest = select(func.length(events.c.body)).order_by(events.c.seq.desc()).limit(SAMPLE)
        sizes = [row[0] for row in self._ledger.rows(newest)]
        mean = sum(sizes) // len(sizes) if sizes else 0
        return max(rule.event_megabytes * MB // (mean + AROUND), 1)

    def _chosen(self, rule: RetentionRule, now: int, held: int) -> Snapshot | None:
        """The checkpoint to cut at; None = nothing is to leave."""
        base, head = self._ledger.base(), self._ledger.head
        first = base.seq if base else 0
        known = [each for each in self._ledger.snapshots() if first < each.seq and each.at < held]
        found = list[Snapshot]()
        if rule.event_days:
            found += [each for each in known if each.at <= now - rule.event_days * DAY_MS][:1]
        most = self._most_events(rule)
        if most and head - first > most:
            # The oldest that is late enough: no more leaves than has to.
            found += [each for each in known if most // 2 <= head - each.seq <= most][-1:]
        return max(found, key=lambda each: each.seq, default=None)

    def _cut(self, snapshot: Snapshot, rule: RetentionRule) -> Cut | None:
        """Cut the ledger at a checkpoint, after everything was checked and archived."""
        with self._ledger.still() as reader:
            flaws = audited(reader).flaws
            if flaws:
                what = f"event {flaws[0].seq}: {flaws[0].problem}"
                self.trouble = f"the ledger is not cut, as it is damaged: {what}"
                log.warning(self.trouble, flaws=len(flaws))
                return None
            found = read(snapshot.body)
            policy = found.policy.policy if found.policy else Policy()
            found.mind(load(policy)).state.validate()
            archive = self._archived(reader, snapshot) if rule.archive else ""
        digest = sha256(snapshot.body).digest()
        cut = Cut(snapshot.seq, self._clock(), snapshot.checksum, digest, archive)
        self._ask(lambda draft: _write(draft, cut, snapshot.at))
        log.info("the ledger was cut", seq=cut.seq, archive=archive)
        self._drop()
        self.trouble = ""
        return cut

    def _archived(self, reader: Reader, snapshot: Snapshot) -> str:
        """Write what is to leave to a file of its own; returns its name."""
        base = reader.base()
        folder = self._home / ARCHIVE
        make_folder(self._effects.files, folder)
        file = folder / f"events-{base.seq + 1 if base else 1}-{snapshot.seq}.jsonl.gz"
        remove(self._effects.files, file)  # of a server that died before it had cut
        exported(reader, file, until=snapshot, effects=self._effects)
        return f"{ARCHIVE}/{file.name}"

    def _drop(self) -> None:
        while self._ledger.drop_cut(AT_ONCE) == AT_ONCE and not self._end.is_set():
            pass
        while self._ledger.give_back(PAGES) == PAGES and not self._end.is_set():
            pass


def _write(draft: Transaction, cut: Cut, at: int) -> None:
    """Cut the ledger at a checkpoint of a time, in ms. Raises Conflict: a hold keeps it."""
    if draft.book.rights.held_since <= at:
        raise Conflict("a legal hold was placed meanwhile, which keeps these events")
    draft.record(LedgerCut(draft.now, cut.seq, cut.checksum.hex(), cut.digest.hex()))
    draft.batch.cut = cut
