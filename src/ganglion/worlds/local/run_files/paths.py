"""Where this world keeps its files below Ganglion's home directory.

Everything of an attempt, logs too, lies in one folder, `runs/<workload id>.<index>.<attempt>`.
Older versions had `runs/<workload id>/<index>/<attempt>` and a folder of the same name below
`logs`; those are still read.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from ganglion.worlds.local.machine import host

RUNS, LOGS = "runs", "logs"
_FOLDER = re.compile(r"(.+)\.(\d+)\.(\d+)")


def run_dir(home: Path, gang: str, attempt: int) -> Path:
    """Run directory of an attempt; `gang` is `<workload id>/<index>`."""
    old = home / RUNS / gang / str(attempt)
    return old if host.exists(old) else home / RUNS / f"{gang.replace('/', '.')}.{attempt}"


def log_dir(home: Path, gang: str, attempt: int) -> Path:
    """Directory of an attempt's log files, one per rank."""
    old = home / LOGS / gang / str(attempt)
    return old if host.exists(old) else run_dir(home, gang, attempt)


def log_file(home: Path, gang: str, attempt: int, rank: int) -> Path:
    """The log file of one rank."""
    return log_dir(home, gang, attempt) / f"rank-{rank}.log"


def checkpoint_dir(home: Path, gang: str) -> Path:
    """Directory that a gang's attempts share for checkpoints."""
    return home / "checkpoints" / gang


def attempts_on_disk(home: Path) -> list[tuple[str, int]]:
    """Every (gang id, attempt) that has a run directory.

    Raises:
        OSError: the machine does not say.
    """
    return sorted(_found(home / RUNS))


def logged_attempts(home: Path, gang: str) -> list[int]:
    """Numbers of a gang's attempts that may have logs, ascending.

    Raises:
        OSError: the machine does not say.
    """
    before = f"{gang.replace('/', '.')}."
    runs = host.names(home / RUNS)
    here = (name.removeprefix(before) for name in runs if name.startswith(before))
    old = host.names(home / LOGS / gang)
    return sorted({int(each) for each in (*here, *old) if each.isdigit()})


def logged_gangs(home: Path) -> list[str]:
    """Ids of gangs that may have logs, sorted by workload and number.

    Raises:
        OSError: the machine does not say.
    """
    logs = home / LOGS
    old = {f"{each}/{index}" for each in host.names(logs) for index in host.names(logs / each)}
    found = {gang for gang, _ in _found(home / RUNS)} | old
    pairs = (gang.rpartition("/")[::2] for gang in found)
    return [f"{w}/{n}" for w, n in sorted(((w, int(n)) for w, n in pairs if n.isdigit()))]


def _found(runs: Path) -> Iterator[tuple[str, int]]:
    for name in host.names(runs):
        match = _FOLDER.fullmatch(name)
        if match:
            yield f"{match[1]}/{match[2]}", int(match[3])
            continue
        for index in host.names(runs / name):
            for attempt in host.names(runs / name / index):
                if attempt.isdigit():
                    yield f"{name}/{index}", int(attempt)
