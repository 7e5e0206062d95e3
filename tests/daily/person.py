"""A person at a terminal: types, reads, resizes the window, closes it."""

import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time

from tests.daily.conftest import PROGRAM


class Person:
    """Runs the command line in a terminal of its own.

    Args:
        args: arguments of `ganglion`.
        env: more variables.
    """

    def __init__(self, *args: str, rows: int = 30, columns: int = 100) -> None:
        self._master, slave = pty.openpty()
        self.seen = b""
        self._size(rows, columns)
        self.process = subprocess.Popen(
            [*PROGRAM, *args],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            env=os.environ | {"TERM": "xterm"},
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509 - as a login does it
        )
        os.close(slave)

    def _size(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def resize(self, rows: int, columns: int) -> None:
        """Pull at the corner of the window."""
        self._size(rows, columns)

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def expect(self, text: str, deadline_s: float = 30) -> str:
        """Read until this is seen; forgets everything up to it."""
        wanted, give_up = text.encode(), time.monotonic() + deadline_s
        while wanted not in self.seen:
            left = give_up - time.monotonic()
            assert left > 0, f"{text!r} was not seen in {self.seen!r}"
            if not self._read(left):
                assert wanted in self.seen, f"{text!r} was not seen in {self.seen!r}"
        before, _, self.seen = self.seen.partition(wanted)
        return before.decode(errors="replace")

    def _read(self, seconds: float) -> bool:
        ready, _, _ = select.select([self._master], [], [], seconds)
        if not ready:
            return True
        try:
            chunk = os.read(self._master, 65_536)
        except OSError:
            return False
        self.seen += chunk
        return bool(chunk)

    def leave(self, deadline_s: float = 30) -> int:
        """Wait for the end; returns the exit code."""
        give_up = time.monotonic() + deadline_s
        while self.process.poll() is None:
            assert time.monotonic() < give_up, f"it goes on, after {self.seen!r}"
            self._read(0.05)
        while self._read(0) and select.select([self._master], [], [], 0)[0]:
            pass
        return self.process.returncode

    def close(self) -> None:
        """Close the window."""
        os.close(self._master)
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
