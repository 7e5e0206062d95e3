"""Sockets that listen, and refuse callers at once while this process may open no more files.

asyncio tries to accept as often as the backlog is long, and again after a second for each of these
tries: its way out of EMFILE costs all of a core for as long as it lasts.
"""

import contextlib
import errno
import os
import socket
import time
from typing import Any

import structlog

from ganglion.transport.refusals import BUSY

FULL = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
"""Errors of a limit that allows no more connections."""
PAUSE_S = 1.0
"""Time after which asyncio accepts again when it got one of them."""

log = structlog.get_logger(__name__)


class Listening(socket.socket):
    """A socket that keeps one file open, so that it can accept callers to refuse them."""

    def __init__(self, *args: Any, **others: Any) -> None:  # noqa: ANN401 - as `socket.socket`
        super().__init__(*args, **others)
        self._paused = -PAUSE_S
        self._spare = _opened()

    def accept(self) -> tuple[socket.socket, Any]:
        """Return the next caller; those for which there is no file are refused on the way.

        Raises:
            BlockingIOError: no other caller waits, or none can be looked at now.
            OSError: not even to refuse is possible; at most every `PAUSE_S`.
        """
        while True:
            # Another thread may have taken the spare file. One that is free again is kept for
            # refusals before a caller may have it: else none is refused until a caller leaves.
            self._spare = _opened() if self._spare is None else self._spare
            try:
                return super().accept()
            except OSError as error:
                if error.errno not in FULL:
                    raise
                if not self._refuse(error):
                    raise self._later(error) from error

    def close(self) -> None:
        """Close it."""
        if self._spare is not None:
            os.close(self._spare)
            self._spare = None
        super().close()

    def _refuse(self, error: OSError) -> bool:
        """Answer one caller and close the connection; False = there is no file even for that.

        Raises:
            BlockingIOError: no caller waits.
        """
        if self._spare is None:
            return False
        os.close(self._spare)
        self._spare = None
        try:
            caller, _ = super().accept()
        except OSError as again:
            if again.errno in FULL:  # another thread took the file that was given up for it
                return False
            raise  # no caller waits: Linux wants a file before it looks for one
        else:
            with caller, contextlib.suppress(OSError):
                caller.setblocking(False)
                caller.send(BUSY)
            log.warning("callers were refused: no file can be opened", error=error.strerror)
            return True
        finally:
            self._spare = _opened()

    def _later(self, error: OSError) -> OSError:
        """What ends the present round of asyncio, and has it pause once."""
        now = time.monotonic()
        if now - self._paused < PAUSE_S:
            return BlockingIOError(errno.EAGAIN, "there is no room to accept a connection")
        self._paused = now
        return OSError(error.errno, error.strerror)


def listening(bound: socket.socket) -> Listening:
    """A socket that is bound already, as one that refuses callers; it takes the other's place."""
    family, kind, protocol = bound.family, bound.type, bound.proto
    return Listening(family, kind, protocol, fileno=bound.detach())


def _opened() -> int | None:
    """A spare file, closed to make room for a connection; None = none can be opened."""
    try:
        return os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
