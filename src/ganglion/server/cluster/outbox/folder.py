"""The files of an outbox: one folder for each scheduler that wrote to it.

The folder of a scheduler that lives is locked. What others have left is delivered by the one that
finds it, the oldest first, and removed.
"""

import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

from msgspec import Struct

from ganglion.model.events import DeliveryRecord, RecordLoss
from ganglion.seams.clock import Clock
from ganglion.seams.files import Files, make_folder
from ganglion.seams.randomness import Randomness
from ganglion.server.cluster.outbox.lines import lines_in, lost, without_gaps
from ganglion.server.cluster.outbox.writer import DROPPING

LOCK = "lock"
_ID = re.compile(r"[0-9a-f]{12}-[0-9a-f]{8}")
_SEGMENT = re.compile(r"[0-9]{12}\.log")
MOST_RECORDS = 500
"""Records of one batch."""
MOST_BYTES = 4 << 20
"""Bytes of files that one batch is made of; a longer record is a batch of its own."""


class _Place(Struct):
    """Where a reader is: after the record of a number, at an offset of a file."""

    position: int = 0
    segment: str = ""
    offset: int = 0


class OutboxFolder:
    """The outbox on the disk. Reading is for one thread.

    Args:
        root: the folder.
        files: the file system.
        clock: the time, for ids and for gaps.
        randomness: for ids.

    Attributes:
        own: id of this scheduler: those that begin later have greater ones.
        left: ids of those that have left records, the oldest first.
    """

    def __init__(self, root: Path, files: Files, clock: Clock, randomness: Randomness) -> None:
        self._root, self._files, self._clock = root, files, clock
        make_folder(files, root)
        self._locks = dict[str, int]()
        self.left = [each for each in self._known() if self._locked(each)]
        newest = max((int(each[:12], 16) for each in self._known()), default=0)
        # Later than those before it, also where the clock was set back.
        began = max(clock.now_ms(), newest + 1)
        self.own = f"{began:012x}-{randomness.token_hex(4)}"
        make_folder(files, self.path)
        if not self._locked(self.own):
            raise OSError(f"{self.path} is locked by another process")
        self._places = dict[str, _Place]()

    @property
    def path(self) -> Path:
        """Where this scheduler writes."""
        return self._root / self.own

    def size(self) -> int:
        """Bytes of all records in the outbox."""
        return sum(
            self._files.stat(self._root / each / name).st_size
            for each in self._known()
            for name in self._segments(each)
        )

    def batch(self, scheduler: str, position: int) -> tuple[DeliveryRecord, ...]:
        """The records of a scheduler after a position, as many as one batch may have.

        Raises:
            OSError: the disk refuses.
        """
        now = self._clock.now_ms()
        names = self._segments(scheduler)
        place = self._places.get(scheduler)
        loss = RecordLoss.GONE if place is None or place.position != position else _DAMAGED
        found = list[DeliveryRecord]()
        read = self._records(scheduler, position, names)
        for each in without_gaps(read, position, now, loss):
            found.append(each)
            if len(found) >= MOST_RECORDS:
                break
        if not found and scheduler != self.own:
            found += self._torn(scheduler, position, now)
        return tuple(found)

    def _records(self, scheduler: str, position: int, names: list[str]) -> Iterator[DeliveryRecord]:
        """Records from the place of a position on; up to a number of bytes."""
        place = self._places.get(scheduler)
        if place is None or place.position != position or place.segment not in names:
            first = max((n for n in names if _first(n) <= position + 1), default="")
            place = _Place(position, first or (names[0] if names else ""), 0)
        left = MOST_BYTES
        for name in names[names.index(place.segment) :] if place.segment else []:
            offset = place.offset if name == place.segment else 0
            content = self._files.read(self._root / scheduler / name)
            for line in lines_in(content, offset):
                if line.record:
                    self._places[scheduler] = _Place(
                        max(line.record.number, position), name, line.end
                    )
                    yield line.record
                    left -= line.end - offset
                    if left <= 0:
                        return
                offset = line.end

    def _torn(self, scheduler: str, position: int, now: int) -> Iterator[DeliveryRecord]:
        """What a scheduler that is gone has left behind its last whole record."""
        folder = self._root / scheduler
        last, bad = 0, 0
        for name in reversed(self._segments(scheduler)):
            content = self._files.read(folder / name)
            lines = list(lines_in(content))
            bad += len(content) > (lines[-1].end if lines else 0)
            whole = [each.record for each in lines if each.record]
            if whole:
                last = whole[-1].number
                bad += next(n for n, each in enumerate(reversed(lines)) if each.record)
                break
            bad += len(lines)
        dropping = DROPPING in self._files.names(folder)
        if position == last and (bad or dropping):
            loss = RecordLoss.DAMAGED if bad else RecordLoss.UNKNOWN
            yield lost(position + max(bad, 1), max(bad, 1), now, loss)

    def trim(self, scheduler: str, position: int) -> int:
        """Remove files whose records are all delivered; returns how many bytes they had.

        Raises:
            OSError: the disk refuses.
        """
        freed, folder = 0, self._root / scheduler
        for name, after in pairwise(self._segments(scheduler)):
            if _first(after) <= position + 1:
                freed += self._files.stat(folder / name).st_size
                self._files.unlink(folder / name)
        return freed

    def forget(self, scheduler: str) -> int:
        """Remove all of a scheduler whose records are delivered; returns its bytes.

        Raises:
            OSError: the disk refuses.
        """
        folder = self._root / scheduler
        freed = sum(self._files.stat(folder / name).st_size for name in self._segments(scheduler))
        self._files.remove_tree(folder)
        self.left = [each for each in self.left if each != scheduler]
        self._unlock(scheduler)
        return freed

    def close(self) -> None:
        """Let go of what is left; another process may deliver it."""
        for scheduler in list(self._locks):
            self._unlock(scheduler)

    def _known(self) -> list[str]:
        return sorted(each for each in self._files.names(self._root) if _ID.fullmatch(each))

    def _segments(self, scheduler: str) -> list[str]:
        try:
            names = self._files.names(self._root / scheduler)
        except FileNotFoundError:
            return []
        return sorted(each for each in names if _SEGMENT.fullmatch(each))

    def _locked(self, scheduler: str) -> bool:
        """Lock the folder of a scheduler; False = another process has."""
        descriptor = self._files.open(self._root / scheduler / LOCK, os.O_RDWR | os.O_CREAT)
        try:
            self._files.lock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._files.close(descriptor)
            return False
        self._locks[scheduler] = descriptor
        return True

    def _unlock(self, scheduler: str) -> None:
        descriptor = self._locks.pop(scheduler, None)
        if descriptor is not None:
            with suppress(OSError):
                self._files.close(descriptor)


_DAMAGED = RecordLoss.DAMAGED


def _first(name: str) -> int:
    """Number of the first record of a file."""
    return int(name.partition(".")[0])
