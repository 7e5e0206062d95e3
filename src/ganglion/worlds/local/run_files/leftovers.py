"""Ending what a vanished supervisor left behind."""

import contextlib
import signal
from collections.abc import Iterator
from pathlib import Path

from ganglion.seams.processes import SYSTEM_PROCESSES, Processes
from ganglion.worlds.local.machine import host
from ganglion.worlds.local.run_files import records

MARK = "GANGLION_RUN_DIR"


def kill_leftovers(run: Path, processes: Processes = SYSTEM_PROCESSES) -> bool:
    """Kill every process of this run directory; True when none was left.

    A process belongs to the run when its environment names the directory, or when it leads a
    group that the supervisor recorded and its start time shows that the pid was not used again.

    Raises:
        OSError: the machine does not say what runs.
    """
    # A process that begins another and ends may be missed with it in one list, not in two.
    pids = processes_of(run) or processes_of(run)
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            processes.signal(pid, signal.SIGKILL)
    return not pids


def runs_below(home: Path) -> set[Path]:
    """Run directories of a home for which processes live, whether or not they still exist.

    Raises:
        OSError: the machine does not say what runs.
    """
    runs = home / "runs"
    return {run for run, _ in _marks() if run.is_relative_to(runs)}


def processes_of(run: Path) -> set[int]:
    """Processes that belong to a run directory, by their environment or their group.

    Raises:
        OSError: the machine does not say what runs.
    """
    wanted, leading = run.resolve(), leaders(run)
    groups = {each.pid for each in host.tasks() if each.group in leading} if leading else set()
    return groups | {pid for found, pid in _marks() if found == wanted}


def leaders(run: Path) -> frozenset[int]:
    """Leaders of process groups that were started for a run, and live.

    Raises:
        OSError: the machine does not say.
    """
    return frozenset(_recorded(run))


def _marks() -> Iterator[tuple[Path, int]]:
    """Every process that belongs to a run: its run directory and its pid."""
    return ((Path(value).resolve(), pid) for pid, value in host.marks(MARK))


def _recorded(run: Path) -> Iterator[int]:
    """Leaders of process groups that the supervisor recorded, where the pid is still theirs."""
    for line in (host.text(run / records.PIDS) or "").splitlines():
        words = line.split()  # fewer than two when the supervisor died while writing
        if len(words) == 2 and 0 != host.start_time(int(words[0])) == int(words[1]):
            yield int(words[0])
