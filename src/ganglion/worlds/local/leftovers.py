"""Ending what a vanished supervisor left behind."""

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import psutil

from ganglion.worlds.local import records

MARK = "GANGLION_RUN_DIR"


def kill_leftovers(run: Path) -> bool:
    """Kill every process of this run directory; True when none was left.

    A process belongs to the run when its environment names the directory, or when it leads a
    group that the supervisor recorded and its start time shows that the pid was not used again.
    """
    pids = set(_marked(run)) | set(_recorded(run))
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
    return not pids


def runs_below(home: Path) -> set[Path]:
    """Run directories of a home for which processes live, whether or not they still exist."""
    runs = home / "runs"
    return {run for run, _ in _marks() if run.is_relative_to(runs)}


def _marked(run: Path) -> Iterator[int]:
    wanted = run.resolve()
    return (pid for found, pid in _marks() if found == wanted)


def _marks() -> Iterator[tuple[Path, int]]:
    """Every process that belongs to a run: its run directory and its pid."""
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            run = process.environ().get(MARK)
            if run and records.start_time(process.pid):
                yield Path(run).resolve(), process.pid


def _recorded(run: Path) -> Iterator[int]:
    with contextlib.suppress(FileNotFoundError):
        for line in (run / records.PIDS).read_text(encoding="ascii").splitlines():
            words = line.split()  # fewer than two when the supervisor died while writing
            if len(words) == 2 and 0 != records.start_time(int(words[0])) == int(words[1]):
                yield from _group(int(words[0]))


def _group(leader: int) -> Iterator[int]:
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if os.getpgid(process.pid) == leader and records.start_time(process.pid):
                yield process.pid
