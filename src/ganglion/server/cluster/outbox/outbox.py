"""The outbox of a running scheduler: threads that write, sync and deliver.

The deciding thread hands over what a turn reports and waits until it is written, but no longer
than `PATIENCE_S`: a disk that hangs delays one turn by as much, and no further one. What is
written survives the process; what has been synced, within `SYNC_S`, survives the machine.
"""

import queue
import threading
from functools import partial
from pathlib import Path

import structlog
from msgspec import Struct, field

from ganglion.model.errors import GanglionError
from ganglion.model.events import Delivered, RecordLoss, SchedulerEnded
from ganglion.seams.effects import SYSTEM, Effects
from ganglion.seams.files import Files
from ganglion.server.cluster.activity.sums import GpuSums
from ganglion.server.cluster.outbox.folder import OutboxFolder
from ganglion.server.cluster.outbox.money import Ask, HeardMoney
from ganglion.server.cluster.outbox.post import DeliveryLine
from ganglion.server.cluster.outbox.sender import Post, Sender
from ganglion.server.cluster.outbox.turns import TurnPart, TurnReports
from ganglion.server.cluster.outbox.writer import OutboxWriter
from ganglion.worlds.kubernetes.controller import ClusterController

LIMIT = 256 << 20
"""Bytes of an outbox, by default: what is beyond is dropped."""
PATIENCE_S = 0.05
"""Longest that a turn waits for the disk."""
MOST_HELD = 200_000
"""Events that are held in memory while the disk hangs; what is beyond is dropped."""
SLOW = "the disk was too slow"
"""Why records are dropped that were never tried to be written."""
SYNC_S = 0.1
"""How often files are synced at most."""
FLUSH_S = 5.0
"""How long a scheduler that ends tries to deliver the rest."""
LONGEST_PAUSE_S = 30.0
"""Most time between two tries while the server does not take records."""
IDLE_S = 1.0

log = structlog.get_logger(__name__)


class OutboxWish(Struct, frozen=True):
    """Where a scheduler reports to.

    Attributes:
        folder: of the outbox.
        url: of the server.
        cluster: name under which it reports.
        token_file: file with the token.
        limit: bytes of the outbox.
        logs: whether the server may have logs of pods read.
    """

    folder: Path
    url: str
    cluster: str
    token_file: Path
    limit: int = LIMIT
    logs: bool = False


def _unasked(_scheduler: str) -> None:
    """No server is asked for prices and budgets."""


class _Handed(Struct):
    """A turn on its way to the disk.

    Attributes:
        parts: its records.
        skipped: records before it that are not handed over.
        written: set once it is on the disk, or was dropped.
    """

    parts: list[TurnPart]
    skipped: int = 0
    written: threading.Event = field(default_factory=threading.Event)


class Outbox:
    """Takes what turns report, and delivers it.

    Args:
        wish: where.
        identity: of the process, as in the Lease.
        effects: files, clocks and chance.
        post: sends, for tests; None = over HTTP.
        ask: asks for prices and budgets, likewise.

    Raises:
        InputError: the URL is none.
        OSError: the folder cannot be used.

    Attributes:
        money: prices and budgets, as the server said last.
        sums: what GPUs did, as far as it was not reported.
        late: turns that did not wait until they were written.
        failing: why nothing is delivered at present; empty = something is, or nothing is due.
        failures: how often delivering failed.
    """

    def __init__(
        self,
        wish: OutboxWish,
        identity: str,
        effects: Effects = SYSTEM,
        post: Post | None = None,
        ask: Ask = _unasked,
    ) -> None:
        files, self._clock = effects.files, effects.clock
        self._folder = OutboxFolder(wish.folder, files, effects.clock, effects.randomness)
        self.sums = GpuSums()
        self._reports = TurnReports(identity, self._folder.left, self.sums)
        self._limit, self._lock = wish.limit, threading.Lock()
        self._size = self._folder.size()
        self.writer = OutboxWriter(self._folder.path, files, self._room, self._grown)
        self._line: DeliveryLine | None = None
        if post is None:
            self._line = DeliveryLine(
                wish.url, wish.cluster, partial(token_in, files, wish.token_file)
            )
            post, ask = self._line.post, self._line.money
        self.money = HeardMoney(wish.folder, ask, files, effects.clock)
        self.sender = Sender(self._folder, post, lambda freed: self._grown(-freed))
        self._turns: queue.SimpleQueue[_Handed | None] = queue.SimpleQueue()
        self._held, self._skipped = 0, 0
        self._more, self._ending = threading.Event(), threading.Event()
        self._unsynced = threading.Event()
        self._is_behind = False
        self.late = self.failures = 0
        self.failing = ""
        self._threads = [
            threading.Thread(target=self._write, name="outbox", daemon=True),
            threading.Thread(target=self._deliver, name="delivery", daemon=True),
            threading.Thread(target=self._sync, name="outbox sync", daemon=True),
        ]

    def start(self) -> None:
        """Begin to write and to deliver."""
        for each in self._threads:
            each.start()

    def decided(self, controller: ClusterController, now: int) -> None:
        """A turn is over; called before anything is written to clusters. Raises nothing."""
        try:
            lost = self.writer.dropped + self.sender.missing
            self._hand(self._reports.of(controller, now, lost))
        except Exception:
            # A defect here must not keep a scheduler from its work; it is a gap in the trail.
            log.exception("a turn was not reported")
            self._skipped += 1

    def _hand(self, parts: list[TurnPart]) -> None:
        """Hand a turn over, and wait until it is written, for a while."""
        if not parts and not self._skipped:
            return
        events = sum(each.events for each in parts)
        if self._held + events > MOST_HELD:
            self._skipped += len(parts)
            return
        handed, self._skipped = _Handed(parts, self._skipped), 0
        with self._lock:
            self._held += events
        self._turns.put(handed)
        if not self._is_behind and not handed.written.wait(PATIENCE_S):
            self._is_behind = True
        if self._is_behind:
            self.late += 1

    def stop(self) -> None:
        """Write that the scheduler ends in good order, and deliver what can be within a while."""
        now = self._clock.now_ms()
        rest: list[Delivered] = [*self.sums.rest(now), *self._reports.lending.rest(now)]
        ended = TurnPart(now, (*rest, SchedulerEnded(now)), ())
        self._turns.put(_Handed([ended], self._skipped))
        self._turns.put(None)
        self._threads[0].join(FLUSH_S)
        self._ending.set()
        self._more.set()
        self._unsynced.set()
        self._threads[1].join(FLUSH_S)
        if self._line:
            self._line.close()
        self._folder.close()

    # --- what is known of it, for other threads -----------------------------------------------

    @property
    def scheduler(self) -> str:
        """Id of this scheduler, as of its records."""
        return self._folder.own

    @property
    def size(self) -> int:
        """Bytes in the outbox."""
        return self._size

    @property
    def depth(self) -> int:
        """Records of this scheduler that are written and have not arrived."""
        return self.writer.number - self.sender.positions.get(self._folder.own, 0)

    @property
    def left(self) -> int:
        """Schedulers before this one whose records have not all arrived."""
        return len(self._folder.left)

    @property
    def trouble(self) -> str:
        """What is wrong, for people; empty = nothing."""
        return "; ".join(filter(None, (self.writer.trouble, self.failing, self.money.trouble)))

    def _room(self) -> int:
        return self._limit - self._size

    def _grown(self, by: int) -> None:
        with self._lock:
            self._size += by

    # --- the thread that writes ---------------------------------------------------------------

    def _write(self) -> None:
        while handed := self._turns.get():
            self._put(handed)
            if self._turns.empty():
                self._is_behind = False
            self._unsynced.set()
            self._more.set()
        self.writer.close()

    def _sync(self) -> None:
        """Sync what was written, in a thread that no turn waits for."""
        while not self._ending.wait(SYNC_S):
            self._unsynced.wait()
            self._unsynced.clear()
            self.writer.sync()

    def _put(self, handed: _Handed) -> None:
        """Write a turn, after what was skipped before it."""
        at = handed.parts[0].at if handed.parts else self._clock.now_ms()
        before = self.writer.number
        try:
            if handed.skipped:
                self.writer.drop(handed.skipped, 0, at, RecordLoss.DISK, SLOW)
            self.writer.write(handed.parts)
        except Exception:
            # Only this thread writes: it must outlive a bug, and scheduling goes on meanwhile.
            log.exception("a turn was not written")
            missing = handed.skipped + len(handed.parts) - (self.writer.number - before)
            self.writer.drop(missing, 0, at, RecordLoss.UNKNOWN, "see the log of the scheduler")
        finally:
            with self._lock:
                self._held -= sum(each.events for each in handed.parts)
            handed.written.set()

    # --- the thread that delivers -------------------------------------------------------------

    def _deliver(self) -> None:
        pause = IDLE_S
        until = 0.0
        while True:
            # Asked before anything is sent: what is written until then is sent in this round.
            is_ending = self._ending.is_set()
            if is_ending:
                until = until or self._clock.monotonic() + FLUSH_S
                if self._clock.monotonic() >= until:
                    return
            try:
                more = self.sender.step()
                if not more and not is_ending:
                    self.money.look(self._folder.own)
            except Exception as error:
                # Whatever it is, delivering is tried again: nothing is lost meanwhile.
                pause = self._failed(error, pause)
                if is_ending:
                    return
                self._ending.wait(pause)
                continue
            pause, self.failing = IDLE_S, ""
            if more:
                continue
            if is_ending:
                if not self._threads[0].is_alive():  # else the disk hangs, and more may be written
                    self._grown(-self._folder.forget(self._folder.own))
                return
            self._more.wait(IDLE_S)
            self._more.clear()

    def _failed(self, error: Exception, pause: float) -> float:
        message = error.message if isinstance(error, GanglionError) else str(error)
        if not isinstance(error, GanglionError | OSError):
            log.exception("delivering failed")
        if message != self.failing:
            log.warning("records are not delivered", error=message)
        self.failing = message
        self.failures += 1
        return min(2 * pause, LONGEST_PAUSE_S)


def token_in(files: Files, path: Path) -> str:
    """The token in a file; empty = it cannot be read at present."""
    try:
        return files.read(path).decode("utf-8", "replace").strip()
    except OSError as error:
        log.warning("the token cannot be read", error=str(error))
        return ""
