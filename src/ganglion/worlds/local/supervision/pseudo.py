"""Pseudo terminals; standard library only."""

import contextlib
import fcntl
import json
import os
import struct
import termios

TERM = "xterm-256color"
"""`TERM` of jobs unless their `env` says another."""
ROWS, COLUMNS = 24, 80
"""Size of a terminal without a viewer."""


def opened(rows: int = ROWS, columns: int = COLUMNS) -> tuple[int, int]:
    """Open a pseudo terminal: (its master, its slave).

    Raises:
        OSError: the machine has no more of them.
    """
    master, slave = os.openpty()
    resize(master, rows, columns)
    return master, slave


def resize(terminal: int, rows: int, columns: int) -> None:
    """Give a terminal a size; its foreground processes get SIGWINCH."""
    size = struct.pack("HHHH", _bounded(rows), _bounded(columns), 0, 0)
    with contextlib.suppress(OSError):  # it is closed already
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, size)


def resized(terminal: int, payload: bytes) -> None:
    """Give a terminal the size that a caller sent; what says none changes nothing.

    Args:
        terminal: its file descriptor.
        payload: `{"rows": 40, "columns": 120}`.
    """
    try:
        size = json.loads(payload)
        rows, columns = int(size["rows"]), int(size["columns"])
    except (ValueError, TypeError, LookupError, OverflowError, RecursionError):
        return  # the caller's mistake must not end the job's terminal
    resize(terminal, rows, columns)


def _bounded(cells: int) -> int:
    return max(1, min(cells, 10_000))


def take() -> None:
    """Make the terminal on standard input this session's own; runs in a new process."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
