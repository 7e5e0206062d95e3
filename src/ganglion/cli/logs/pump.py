"""Copies logs to stdout: one as it is, several line by line behind their names."""

import sys
import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from ganglion.cli.output.screen import is_coloured

if TYPE_CHECKING:
    from ganglion.client.workload_client import Logs

COLOURS = (36, 33, 35, 32, 34, 31)
PERIOD_S = 0.2


class LogOptions(NamedTuple):
    """Which part of a log is wanted."""

    tail: int | None = None
    since: str | None = None
    follow: bool = False
    previous: bool = False


def log_name(index: int, gangs: int, rank: int, ranks: int) -> str:
    """Return what precedes the lines of one log among several; empty when it is alone."""
    parts = [str(index)] if gangs > 1 else []
    return " ".join([*parts, f"rank {rank}"] if ranks > 1 else parts)


class Pump:
    """Copies any number of logs at once.

    Args:
        client: the connection, or the files of a home.
        job: id, unique prefix or name of the workload.
        options: which part of each log.

    An error in one log, or a reader of stdout that left, ends all and is raised by `check`.
    """

    def __init__(self, client: "Logs", job: str, options: LogOptions) -> None:
        self._client, self._job, self._options = client, job, options
        self._threads: list[threading.Thread] = []
        self._errors: list[BaseException] = []
        self._lock = threading.Lock()

    @property
    def follows(self) -> bool:
        """Whether logs are copied until their jobs end."""
        return self._options.follow

    def start(self, index: int, rank: int, name: str = "") -> None:
        """Begin to copy the log of one rank; lines come behind `name` when there is one."""
        thread = threading.Thread(target=self._safely, args=(index, rank, name), daemon=True)
        self._threads.append(thread)
        thread.start()

    def copy(self, index: int | None, rank: int, name: str = "") -> None:
        """Copy the log of one rank and return at its end."""
        with self._client.logs(
            self._job, index=index, rank=rank, **self._options._asdict()
        ) as chunks:
            if name:
                self._lines(chunks, f"[{name}] ", rank)
            else:
                for chunk in chunks:
                    self._put(chunk)

    def busy(self) -> bool:
        """Whether a log is still being copied."""
        return any(thread.is_alive() for thread in self._threads)

    def join(self) -> None:
        """Wait until every log has ended, however slowly stdout is read."""
        for thread in self._threads:
            while thread.is_alive():
                thread.join(PERIOD_S)  # in pieces, so that Ctrl-C is heeded
                self.check()
        self.check()

    def check(self) -> None:
        """Raise what went wrong in the background."""
        if self._errors:
            raise self._errors[0]

    def _safely(self, index: int, rank: int, name: str) -> None:
        try:
            self.copy(index, rank, name)
        except Exception as error:
            self._errors.append(error)

    def _lines(self, chunks: Iterable[bytes], prefix: str, rank: int) -> None:
        head = _painted(prefix, rank).encode()
        rest = b""
        for chunk in chunks:
            *lines, rest = (rest + chunk).split(b"\n")
            self._put(b"".join(head + line + b"\n" for line in lines))
        if rest:
            self._put(head + rest + b"\n")

    def _put(self, data: bytes) -> None:
        with self._lock:
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()


def _painted(prefix: str, rank: int) -> str:
    return f"\x1b[{COLOURS[rank % len(COLOURS)]}m{prefix}\x1b[0m" if is_coloured() else prefix
