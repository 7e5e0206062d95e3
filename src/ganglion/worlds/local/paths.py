"""Where this world keeps its files below Ganglion's home directory."""

from pathlib import Path

from ganglion.worlds.local import host


def run_dir(home: Path, gang: str, attempt: int) -> Path:
    """Run directory of an attempt; `gang` is `<workload id>/<index>`."""
    return home / "runs" / gang / str(attempt)


def log_dir(home: Path, gang: str, attempt: int) -> Path:
    """Directory of an attempt's log files, one per rank."""
    return home / "logs" / gang / str(attempt)


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
    runs = home / "runs"
    return sorted(
        (f"{workload}/{index}", int(attempt))
        for workload in host.names(runs)
        for index in host.names(runs / workload)
        for attempt in host.names(runs / workload / index)
        if attempt.isdigit()
    )
