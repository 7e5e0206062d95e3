"""Report files of an attempt's pods, read as they grow, at a bounded rate."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from ganglion.lifecycle.reports.hearing import BROKEN, FLOOD, MISSING, Activity, Hearing
from ganglion.lifecycle.reports.line import LONGEST
from ganglion.model.events import Event
from ganglion.seams.clock import SYSTEM_CLOCK, Clock
from ganglion.worlds.local.machine import host
from ganglion.worlds.local.run_files import records
from ganglion.worlds.local.run_files.records import Record

LOOK_S = 0.5
"""How often the files of an attempt are looked at."""
RATE = 64 * 1024
"""Bytes a second that one pod may report for long..."""
BURST = 256 * 1024
"""...and at once; of an attempt that ended, the last ones are read."""
MOST_BEHIND = 1024 * 1024
"""A file that is read so far behind its end is left out up to the last `BURST` bytes."""

APART_MS = 1_000
"""The wall clock was set where it differs by more from the time of the server."""

_OPEN = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW


class Tail:
    """Reads on in one file where it stopped.

    Args:
        path: the file; it may not exist yet, be cut short or be replaced.
        clock: the steady one bounds how fast it is read.

    Attributes:
        written: when it was last written to, in ms.
        trouble: alarm and message about the file itself; None = it is fine.
    """

    def __init__(self, path: Path, clock: Clock = SYSTEM_CLOCK) -> None:
        self._clock = clock
        self._path, self._name = path, str(path)
        self._at, self._file, self._rest = 0, (0, 0), b""
        self._fresh, self._cut = True, False
        self._allowed, self._filled = float(BURST), self._clock.monotonic()
        self.written = 0
        self.trouble: tuple[str, str] | None = None

    def lines(self, *, over: bool = False) -> Iterator[bytes]:
        """Whole lines since the last look; with `over` also an unfinished last one.

        Raises:
            OSError: the machine refuses.
        """
        try:
            found = self._look()
            data = self._read(found.st_size, over=over) if found else b""
        except PermissionError:  # one of another account, which must not hold up the attempt
            self.trouble = BROKEN, f"its report file {self._path} may not be read by the server"
            data = b""
        yield from self._split(data)
        if over and self._rest:
            rest, self._rest = self._rest, b""
            if rest.endswith(b"}"):
                yield rest

    def _look(self) -> os.stat_result | None:
        """The file, when there is something new in it."""
        found = host.stat(self._name, follow=False)
        if found is None:
            return None
        if not stat.S_ISREG(found.st_mode):
            self.trouble = BROKEN, f"its report file {self._path} is no plain file"
            return None
        file = (found.st_dev, found.st_ino)
        if found.st_size < self._at or file != self._file:
            self._file, self._at, self._rest, self._cut = file, 0, b"", False
        self.written = found.st_mtime_ns // 1_000_000
        return found if found.st_size > self._at else None

    def _read(self, size: int, *, over: bool) -> bytes:
        now = self._clock.monotonic()
        self._allowed = min(BURST, self._allowed + RATE * (now - self._filled))
        self._filled = now
        self._skip(size, BURST if over else MOST_BEHIND)
        most = BURST if over else int(self._allowed)
        try:
            descriptor = host.files.open(self._path, _OPEN)
        except FileNotFoundError:  # it was there a moment ago
            return b""
        try:
            data = host.files.pread(descriptor, min(most, size - self._at), self._at)
        finally:
            host.files.close(descriptor)
        self._at += len(data)
        self._allowed -= len(data)
        return data

    def _skip(self, size: int, most: int) -> None:
        """Leave out what cannot be read in time; what a dead server left unread is no fault."""
        if size - self._at > most:
            if not self._fresh:
                said = f"its report file {self._path.name} grows faster than it is read"
                self.trouble = FLOOD, said
            self._at, self._rest, self._cut = size - min(most, BURST), b"", True
        self._fresh = False

    def _split(self, data: bytes) -> Iterator[bytes]:
        *whole, rest = (self._rest + data).split(b"\n")
        if self._cut and whole:
            whole, self._cut = whole[1:], False
        self._rest = b"" if self._cut else rest
        yield from whole
        if len(self._rest) > LONGEST:
            yield self._rest
            self._rest, self._cut = b"", True


class ReportFiles:
    """What the programs of one attempt report.

    Args:
        run: its run directory.
        spec: its spec.
        clock: the steady one says when to look again.
    """

    def __init__(self, run: Path, spec: Record, clock: Clock = SYSTEM_CLOCK) -> None:
        self._clock = clock
        spec_file = host.stat(run / records.SPEC)
        begun = spec_file.st_mtime_ns // 1_000_000 if spec_file else 0
        folder = spec.get("checkpoint_dir", str(run))
        self._run, self._hearing = run, Hearing(spec["gang"], spec["attempt"], begun, folder)
        self._looked = 0.0
        self._mark = records.exchange(run, spec) / records.CHECKPOINT
        self._tails: dict[int, Tail] = {}
        self._resumes = bool(spec.get("resume"))
        self._ahead = 0

    @property
    def activity(self) -> Activity:
        """Whether they work, by their own reports."""
        return self._hearing.activity

    def look(self, pods: list[Record], now: int, *, over: bool = False) -> list[Event]:
        """What they reported since the last look, as far as it is to be reported now.

        Args:
            pods: those the attempt has; those it had are remembered.
            now: the time in ms.
            over: whether the attempt has ended.

        Raises:
            OSError: the machine refuses.
        """
        if not over and self._clock.monotonic() - self._looked < LOOK_S:
            return []
        self._looked = self._clock.monotonic()
        self._ahead = now - records.now_ms()
        for pod in pods:
            if pod["number"] not in self._tails:
                self._tails[pod["number"]] = Tail(
                    records.report_file(self._run, pod["number"]), self._clock
                )
        for number, tail in self._tails.items():
            self._hear(number, tail, now, over=over)
        self._look_for_mark(now)
        if self._resumes:
            self._look_where_it_goes_on()
        return self._hearing.tell(now, over=over)

    def _here(self, wall: int, now: int) -> int:
        """A time by the wall clock, as of files, by the clock that says `now`; never later.

        Small differences are left alone: files have the time to 10 ms only.
        """
        return min(now, wall + (self._ahead if abs(self._ahead) > APART_MS else 0))

    def _hear(self, pod: int, tail: Tail, now: int, *, over: bool) -> None:
        for line in tail.lines(over=over):
            self._hearing.hear(pod, line, written=self._here(tail.written, now), now=now)
        if tail.trouble:
            self._hearing.warn(*tail.trouble)

    def _look_where_it_goes_on(self) -> None:
        found = records.read(self._run / records.RESUMED)
        if found:
            self._resumes = False
            if found["message"]:
                self._hearing.warn(MISSING, found["message"])

    def _look_for_mark(self, now: int) -> None:
        found = host.stat(self._mark)
        if found:
            self._hearing.marked(self._here(found.st_mtime_ns // 1_000_000, now))
