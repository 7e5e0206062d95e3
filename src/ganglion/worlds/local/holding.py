"""The terminal of a rank: keeps it open, writes its log, and lets callers look and type.

Run as `python -S -P -m ganglion.worlds.local.holding LOG MASTER LISTENER` by the supervisor, with
the terminal's master and a listening socket. It ends when no process has the terminal open any
more. Callers come and go; one that takes nothing any more is dropped, so that it cannot hold up
the job.

Only the standard library is imported, to start quickly.
"""

import contextlib
import os
import select
import signal
import socket
import sys
import time
from pathlib import Path
from typing import Any, BinaryIO

from ganglion.worlds.local.supervision import pseudo
from ganglion.worlds.local.supervision.frames import CHUNK, MOST, RESIZE, STDIN, STDOUT, FrameSocket

SHOWN = 1 << 16
"""Bytes of the newest output that a new caller is shown."""
LAST_S = 2.0
"""How long callers have to take the last output."""


class Terminal:
    """A terminal and its viewers.

    Args:
        master: its file descriptor.
        listener: where callers connect.
        log: file that everything is appended to.
    """

    def __init__(self, master: int, listener: socket.socket, log: BinaryIO) -> None:
        os.set_blocking(master, False)
        listener.setblocking(False)
        self._master, self._listener, self._log = master, listener, log
        self._callers: list[FrameSocket] = []
        self._newest, self._typed = bytearray(), bytearray()
        self._over = False

    def hold(self) -> None:
        """Serve until every process has closed the terminal."""
        while not self._over:
            self._step()
        give_up = time.monotonic() + LAST_S
        for caller in self._callers:
            caller.end(ended=True)
        for caller in self._callers:
            caller.linger(give_up - time.monotonic())

    def _slow(self) -> list[FrameSocket]:
        return [each for each in self._callers if each.waiting and not each.gone]

    def _step(self) -> None:
        listening: list[Any] = self._callers if len(self._typed) < MOST else []
        reading: list[Any] = [self._master, self._listener, *listening]
        writing: list[Any] = self._slow()
        if self._typed:
            writing.append(self._master)
        readable, writable, _ = select.select(reading, writing, [])
        if self._master in readable:
            self._show()
        if self._listener in readable:
            self._meet()
        for caller in [each for each in self._callers if each in readable]:
            self._hear(caller)
        for caller in [each for each in self._callers if each in writable]:
            caller.flush()
        self._type()
        for caller in [each for each in self._callers if each.gone or each.waiting > MOST]:
            self._callers.remove(caller)
            caller.close()

    def _show(self) -> None:
        try:
            chunk = os.read(self._master, CHUNK)
        except BlockingIOError:
            return
        except OSError:  # EIO: every process has closed it
            chunk = b""
        self._over = not chunk
        with contextlib.suppress(OSError):  # a full disk must not hold up the job
            self._log.write(chunk)
        self._newest += chunk
        del self._newest[:-SHOWN]
        for caller in self._callers if chunk else ():
            caller.send(STDOUT, chunk)

    def _meet(self) -> None:
        with contextlib.suppress(OSError):
            connected, _ = self._listener.accept()
            caller = FrameSocket(connected)
            self._callers.append(caller)
            if self._newest:
                caller.send(STDOUT, bytes(self._newest))

    def _hear(self, caller: FrameSocket) -> None:
        for channel, payload in caller.receive():
            if channel == STDIN:
                self._typed += payload
            elif channel == RESIZE:
                pseudo.resized(self._master, payload)

    def _type(self) -> None:
        if self._typed:
            try:
                del self._typed[: os.write(self._master, self._typed)]
            except BlockingIOError:
                return
            except OSError:
                self._typed.clear()


def main(log: str, master: str, listener: str) -> None:
    """Hold the terminal; SIGTERM is for the job, whose last words are still wanted."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    with Path(log).open("ab", buffering=0) as file:
        Terminal(int(master), socket.socket(fileno=int(listener)), file).hold()


if __name__ == "__main__":
    main(*sys.argv[1:])
