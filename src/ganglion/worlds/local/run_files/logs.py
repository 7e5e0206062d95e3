"""Reading the log files of attempts: all of them, the last lines, recent ones, as they grow.

Ranks write their output straight into their files, without time stamps. Beside every log the
supervisor keeps `rank-<r>.marks`, lines `<ms> <bytes>`: how long the log was at that time.
`since` starts at the last mark before the time asked for, so it may show up to about 20
seconds more than asked for, and never less.
"""

import os
import re
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ganglion.model.errors import EnvironmentFault, NotFound
from ganglion.seams.clock import SYSTEM_CLOCK, Clock
from ganglion.worlds.local.machine import host
from ganglion.worlds.local.run_files.paths import log_dir, log_file, logged_attempts

CHUNK = 64 * 1024
LONGEST_LINE = 1024 * 1024
"""Longer lines are cut where several ranks are shown together."""
POLL_S = 0.2
_RANK = re.compile(r"rank-(\d+)\.log")


def attempts(home: Path, gang: str) -> tuple[int, ...]:
    """Numbers of a gang's attempts that have logs, ascending."""
    return tuple(each for each in logged_attempts(home, gang) if ranks(home, gang, each))


def ranks(home: Path, gang: str, attempt: int) -> tuple[int, ...]:
    """The ranks that have a log in an attempt, ascending."""
    found = (_RANK.fullmatch(name) for name in host.names(log_dir(home, gang, attempt)))
    return tuple(sorted(int(match[1]) for match in found if match))


async def stream(
    home: Path,
    gang: str,
    attempt: int,
    *,
    rank: int | None = None,
    tail: int | None = None,
    since_ms: int = 0,
    ended: Callable[[], bool] | None = None,
    clock: Clock = SYSTEM_CLOCK,
) -> AsyncIterator[bytes]:
    """Yield the output of an attempt.

    One rank's output comes as it is. Of several ranks whole lines come, each behind
    `[rank] `; lines of one rank keep their order, those of different ranks have none. A rank
    whose log cannot be read is named by a line, once, and hides no other; once it can be read, its
    output goes on where it stopped.

    Args:
        home: Ganglion's home directory.
        gang: gang id.
        attempt: number of the attempt; `attempts` lists them.
        rank: the rank; None = all.
        tail: at most this number of last lines of each rank; None = all.
        since_ms: only output since about this time in ms; 0 = all.
        ended: returns whether the attempt is over. Given it, the output is followed until then,
            also if the attempt has not started yet; None = stop at what is written now.
        clock: to wait by.

    Raises:
        NotFound: not following, and there is no such log.
        EnvironmentFault: the log of the one rank cannot be read.
        OSError: the machine does not say which ranks there are.
    """
    readers: dict[int, _Reader] = {}
    if ended is None:
        _check(home, gang, attempt, rank)
    while True:
        over = ended is None or ended()  # asked before reading: what was written last is read
        for number in ranks(home, gang, attempt) if rank is None else (rank,):
            if number in readers:
                continue
            path = log_file(home, gang, attempt, number)
            if _may_exist(path):
                prefix = b"[%d] " % number if rank is None else b""
                readers[number] = _Reader(path, tail, since_ms, prefix)
        for reader in readers.values():
            for piece in reader.read(last=over):
                yield piece
                await clock.pause(0)
        if over:
            return
        await clock.pause(POLL_S)


def start_of(path: Path, tail: int | None = None, since_ms: int = 0) -> int:
    """Offset in bytes from which to read a log; see `stream`."""
    start = _since(path, since_ms) if since_ms else 0
    return start if tail is None else max(start, _tail(path, tail))


def _check(home: Path, gang: str, attempt: int, rank: int | None) -> None:
    have = ranks(home, gang, attempt)
    if not have:
        raise NotFound(f"attempt {attempt} of {gang} has no logs", "it may not have started")
    if rank is not None and rank not in have:
        known = f"it has ranks {have[0]} to {have[-1]}" if len(have) > 1 else "it has rank 0 only"
        raise NotFound(f"attempt {attempt} of {gang} has no log of rank {rank}", known)


def _since(path: Path, since_ms: int) -> int:
    found = host.stat(path)
    if found and found.st_mtime_ns // 1_000_000 < since_ms:
        return found.st_size
    lines = (host.text(path.with_suffix(".marks")) or "").splitlines()
    marks = (line.split() for line in lines)
    before = (int(mark[1]) for mark in marks if len(mark) == 2 and int(mark[0]) <= since_ms)
    return max(before, default=0)


def _tail(path: Path, lines: int) -> int:
    """Offset of the last `lines` lines; an unfinished last line counts as one."""
    with _opened(path) as file:
        end = _size(path)
        if file is None or lines <= 0 or not end:
            return end
        left = lines + (host.files.pread(file, 1, end - 1) == b"\n")
        for start, block in _backwards(file, end):
            count = block.count(b"\n")
            if count >= left:
                return start + _nth_last(block, left) + 1
            left -= count
    return 0


def _backwards(file: int, end: int) -> Iterator[tuple[int, bytes]]:
    while end:
        start = max(0, end - CHUNK)
        yield start, host.files.pread(file, end - start, start)
        end = start


def _nth_last(block: bytes, count: int) -> int:
    at = len(block)
    for _ in range(count):
        at = block.rindex(b"\n", 0, at)
    return at


@contextmanager
def _opened(path: Path) -> Iterator[int | None]:
    """A descriptor of a log; None when it was removed meanwhile."""
    try:
        file = host.files.open(path, os.O_RDONLY)
    except FileNotFoundError:
        yield None
        return
    try:
        yield file
    finally:
        host.files.close(file)


def _may_exist(path: Path) -> bool:
    """Whether a log exists, or the machine does not say."""
    try:
        return host.exists(path)
    except OSError:
        return True


def _size(path: Path) -> int:
    found = host.stat(path)
    return found.st_size if found else 0


class _Reader:
    """Reads on where it stopped; with a prefix, line by line."""

    def __init__(self, path: Path, tail: int | None, since_ms: int, prefix: bytes) -> None:
        self._path, self._tail, self._since, self._prefix = path, tail, since_ms, prefix
        self._at: int | None = None
        self._rest, self._trouble = b"", ""

    def read(self, *, last: bool) -> Iterator[bytes]:
        """What was written since; with `last` an unfinished line too.

        Raises:
            EnvironmentFault: it cannot be read, and there is no prefix to say so by.
        """
        try:
            yield from self._news()
        except OSError as error:
            said = f"{self._path} cannot be read: {error.strerror or error}"
            if not self._prefix:
                raise EnvironmentFault(said) from error
            if said != self._trouble:
                self._trouble = said
                yield self._prefix + f"ganglion: {said}\n".encode()
        if self._rest and (last or len(self._rest) > LONGEST_LINE):
            yield self._prefix + self._rest + b"\n"
            self._rest = b""

    def _news(self) -> Iterator[bytes]:
        if self._at is None:
            self._at = start_of(self._path, self._tail, self._since)
        with _opened(self._path) as file:
            end = _size(self._path)  # a log that grows faster than we read has an end too
            while file is not None and self._at < end:
                chunk = host.files.pread(file, min(CHUNK, end - self._at), self._at)
                if not chunk:
                    return
                self._at += len(chunk)
                yield from self._cut(chunk)

    def _cut(self, chunk: bytes) -> Iterator[bytes]:
        if not self._prefix:
            yield chunk
            return
        *whole, self._rest = (self._rest + chunk).split(b"\n")
        if whole:
            yield b"".join(self._prefix + line + b"\n" for line in whole)
