"""Where an attempt goes on: the newest of its gang's checkpoints that is there; stdlib only.

Looked for by the attempt's supervisor, as a file system that hangs must hold up no other process.
"""

from pathlib import Path
from typing import Any

from ganglion.worlds.local.machine import host
from ganglion.worlds.local.run_files import records
from ganglion.worlds.local.run_files.records import Record

STEP, PATH = "GANGLION_RESUME_STEP", "GANGLION_RESUME_PATH"


class Missing(Exception):
    """None of the checkpoints is there, and the attempt may not start over.

    Args:
        message: which.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


def settle(run: Path, spec: Record) -> dict[str, str]:
    """Find the checkpoint to go on from, write down what was found, return its variables.

    Args:
        run: the run directory.
        spec: the attempt's spec; `resume` lists checkpoints, the newest first.

    Raises:
        Missing: there were checkpoints, none is there any more, and the contract says that
            the job must not start over.
        OSError: the disk refuses.
    """
    known: list[dict[str, Any]] = spec.get("resume", [])
    if not known:
        return {}
    found = next((point for point in known if _is_there(point["path"])), None)
    message = "" if found is known[0] else _told(known[0], found, spec["attempt"])
    records.write(run / records.RESUMED, {"point": found, "message": message})
    if found is None and spec.get("must_resume"):
        raise Missing(message)
    if found is None:
        return {}
    path = {PATH: found["path"]} if found["path"] else {}
    return {STEP: str(found["step"])} | path


def _is_there(path: str) -> bool:
    """Whether a checkpoint is there; one that only the program can find counts as there."""
    if not path or "://" in path:
        return True
    try:
        return host.exists(path)
    except OSError:  # a file system that does not answer now may answer the program
        return True


def _told(newest: Record, found: Record | None, attempt: int) -> str:
    gone = f"step {newest['step']} was saved in {newest['path']}, which is not there any more"
    if found is None:
        return f"{gone}, nor is any older checkpoint: attempt {attempt} starts over"
    return f"{gone}: attempt {attempt} goes on from step {found['step']}"
