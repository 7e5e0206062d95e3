"""Waiting for signals without missing one; standard library only."""

import os
import select
import signal
from collections.abc import Sequence
from types import FrameType
from typing import Any

HEEDED = (signal.SIGCHLD, signal.SIGUSR1, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def _ignore(_number: int, _frame: FrameType | None) -> None:
    """Let the system call be interrupted; the wakeup pipe says which signal it was."""


class Wakeups:
    """Turns signals into bytes of a pipe, so that one that comes early is not lost."""

    def __init__(self) -> None:
        self._reader, writer = os.pipe()
        os.set_blocking(self._reader, False)
        os.set_blocking(writer, False)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        for number in HEEDED:
            signal.signal(number, _ignore)

    def wait(self, seconds: float) -> set[int]:
        """Wait for a signal, at most `seconds`; return the numbers of those that came."""
        return self.select(seconds, (), ())[0]

    def select(
        self, seconds: float, reading: Sequence[Any], writing: Sequence[Any]
    ) -> tuple[set[int], list[Any], list[Any]]:
        """Wait for a signal or for what can be read or written, at most `seconds`.

        Returns:
            numbers of the signals that came, and which of `reading` and `writing` are ready.
        """
        ready, writable, _ = select.select([self._reader, *reading], writing, [], seconds)
        woken = self._reader in ready
        numbers = set(os.read(self._reader, 4096)) if woken else set[int]()
        return numbers, ready[woken:], writable
