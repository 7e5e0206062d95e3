"""Notifies the user of a workspace: a file that its programs may read, and its terminals."""

import contextlib
import os
from pathlib import Path

from ganglion.worlds.local.machine import host, presence
from ganglion.worlds.local.run_files import records
from ganglion.worlds.local.run_files.leftovers import leaders
from ganglion.worlds.local.run_files.records import Record

WARNING = "warning"
"""File in the run directory that holds a warning for as long as it stands."""


def tell(run: Path, spec: Record, message: str, now: int) -> None:
    """Put a warning up, or take it down.

    Args:
        run: run directory of the attempt.
        spec: of the attempt.
        message: for people; empty = the warning is taken back.
        now: the time in ms.

    Raises:
        OSError: the disk refuses.
    """
    note = records.exchange(run, spec) / WARNING
    if not message:
        host.remove(note)
        return
    host.publish(note, f"{message}\n".encode())
    begun = records.read(run / records.START)
    total = presence.total(begun["pid"], now, leaders(run)) if begun else None
    for tty in total.ttys if total else ():
        _write(tty, f"\r\n\a[ganglion] {message}\r\n")


def _write(tty: int, text: str) -> None:
    """Write to a terminal as wall(1) does; one that is closed or full is passed over."""
    path = presence.terminal(tty)
    if path is None:
        return
    with contextlib.suppress(OSError):
        terminal = host.files.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY)
        try:
            host.files.write(terminal, text.encode())
        finally:
            host.files.close(terminal)
