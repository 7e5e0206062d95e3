"""Writing records of one scheduler to files of bounded size; what is dropped is accounted for."""

import os
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import structlog
from msgspec import Struct

from ganglion.model.events import DeliveryRecord, RecordLoss
from ganglion.seams.files import Files, remove
from ganglion.server.cluster.outbox.lines import line_of, lost
from ganglion.server.cluster.outbox.turns import TurnPart

SEGMENT = 4 << 20
"""Bytes after which another file is begun: files that are delivered are removed as a whole."""
DROPPING = "dropping"
"""Name of a file that says that records were dropped, and not yet accounted for."""

log = structlog.get_logger(__name__)


class _Gap(Struct):
    """Records that were dropped since the last one that was written."""

    records: int = 0
    events: int = 0
    since: int = 0
    until: int = 0
    loss: RecordLoss = RecordLoss.FULL
    detail: str = ""


class OutboxWriter:
    """Appends to the newest file of a folder. For one thread, but for `sync`.

    Args:
        folder: of the scheduler; it is there.
        files: the file system.
        room: bytes that may be written still.
        wrote: called with the bytes that were written.

    Attributes:
        number: of the last record, dropped ones included.
        dropped: records that were.
        trouble: why records are dropped at present; empty = they are not.
    """

    def __init__(
        self, folder: Path, files: Files, room: Callable[[], int], wrote: Callable[[int], None]
    ) -> None:
        self._folder, self._files, self._room, self._wrote = folder, files, room, wrote
        self._descriptor = -1
        self._open_file = threading.Lock()  # held while the file must stay open
        self._size = 0
        self._gap = _Gap()
        self.number = self.dropped = 0
        self.trouble = ""

    def write(self, parts: Sequence[TurnPart]) -> None:
        """Append records; what the disk refuses, or what is beyond the limit, is dropped."""
        for part in parts:
            if self._gap.records and not self._accounted():
                self.drop(1, part.events, part.at, self._gap.loss, self._gap.detail)
                continue
            record = DeliveryRecord(self.number + 1, part.at, part.facts, part.decisions)
            if self._appended(record, part.events):
                self.number += 1

    def drop(self, records: int, events: int, at: int, loss: RecordLoss, detail: str = "") -> None:
        """Count records that are not written; each takes a number."""
        gap = self._gap
        if not gap.records:
            gap.since, gap.loss, gap.detail = at, loss, detail
            self.trouble = detail or f"records are dropped: {loss}"
            log.warning("records are dropped", loss=str(loss), detail=detail)
            self._mark()
        gap.records, gap.events, gap.until = gap.records + records, gap.events + events, at
        self.number += records
        self.dropped += records

    def sync(self) -> None:
        """Return once all that was written survives a power cut. Safe from any thread."""
        with self._open_file:
            if self._descriptor >= 0:
                with suppress(OSError):  # what it did not keep is found when it is read
                    self._files.sync(self._descriptor)

    def close(self) -> None:
        """Write what was dropped, and close the file."""
        if self._gap.records:
            self._accounted()
        self.sync()
        self._shut()

    def _accounted(self) -> bool:
        """Write how much was dropped; returns whether that is written."""
        gap = self._gap
        record = lost(
            self.number,
            gap.records,
            gap.until,
            gap.loss,
            events=gap.events,
            since_ms=gap.since,
            detail=gap.detail,
        )
        line = line_of(record)
        if len(line) > self._room() or self._put(line, record.first):
            return False
        self._gap, self.trouble = _Gap(), ""
        with suppress(OSError):
            remove(self._files, self._folder / DROPPING)
        log.info("records are kept again", dropped=gap.records)
        return True

    def _appended(self, record: DeliveryRecord, events: int) -> bool:
        line = line_of(record)
        if len(line) > self._room():
            self.drop(1, events, record.at, RecordLoss.FULL)
            return False
        refused = self._put(line, record.first)
        if refused:
            self.drop(1, events, record.at, RecordLoss.DISK, refused)
        return not refused

    def _put(self, line: bytes, first: int) -> str:
        """Append the line of a record whole; returns why it is not there."""
        try:
            if self._descriptor < 0 or self._size >= SEGMENT:
                self._open(first)
            self._files.write(self._descriptor, line)
        except OSError as error:
            self._undo()
            return f"{self._folder}: {error.strerror or error}"
        self._size += len(line)
        self._wrote(len(line))
        return ""

    def _open(self, first: int) -> None:
        """Begin the file whose first record has a number."""
        self.sync()
        self._shut()
        path = self._folder / f"{first:012d}.log"
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        self._descriptor = self._files.open(path, flags)
        self._size = self._files.stat(path).st_size
        if self._size:  # a write that failed has left something here
            self._files.write(self._descriptor, b"\n")
            self._size += 1

    def _undo(self) -> None:
        """Cut off what a write that failed has left; a file that refuses that is left as it is."""
        if self._descriptor < 0:
            return
        try:
            self._files.truncate(self._descriptor, self._size)
        except OSError:
            self._shut()

    def _shut(self) -> None:
        with self._open_file:
            if self._descriptor >= 0:
                with suppress(OSError):
                    self._files.close(self._descriptor)
                self._descriptor = -1

    def _mark(self) -> None:
        """Say on the disk that something is missing, should the process end before it says what."""
        with suppress(OSError):
            self._files.close(self._files.open(self._folder / DROPPING, os.O_WRONLY | os.O_CREAT))
