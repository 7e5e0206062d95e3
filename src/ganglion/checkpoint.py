"""For programs: when to stop, what was saved, where to go on.

    from ganglion import checkpoint

    found = checkpoint.resume()
    state = load(found.path) if found else fresh()
    for step in range(state.step, steps):
        loss = train(state)
        checkpoint.report(step=step, loss=loss)
        stop = checkpoint.should_stop()
        if stop or step % 500 == 0:
            path = save(state)                 # write, then rename
            checkpoint.committed(step, path)
        if stop:
            break

Only the standard library is imported, and without Ganglion everything works as well: nothing is
reported, `resume` finds nothing, and `should_stop` follows the signal alone. Programs in other
languages find the same in their environment; see docs/checkpoints.md.
"""

import json
import math
import os
import posixpath
import signal
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple, SupportsFloat

LAST_BYTES = 256 * 1024
"""How much of the end of a report file is read for the last checkpoint of this attempt."""


class Resume(NamedTuple):
    """Where to go on.

    Attributes:
        step: as it was given to `committed`; 0 = it was not.
        path: of the checkpoint, in full; empty = it was not given.
        attempt: number of the present attempt, from 1.
    """

    step: int
    path: str
    attempt: int


class _Ears:
    """Receives the signal that asks to stop, in the process that asked for it."""

    def __init__(self) -> None:
        self.asked = False
        self._owner = 0
        self._before: Any = None

    def listen(self) -> None:
        """Handle the signal from now on; only the main thread can."""
        here = threading.current_thread() is threading.main_thread()
        if self._owner == os.getpid() or not here:
            return
        number = _stop_signal()
        before = signal.signal(number, self._heard)
        self._before = before if callable(before) and before != self._heard else None
        self._owner, self.asked = os.getpid(), False

    def _heard(self, number: int, frame: FrameType | None) -> None:
        if os.getpid() != self._owner:  # a worker that was forked must die of it as ever
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
            return
        self.asked = True
        if self._before:
            self._before(number, frame)


_ears = _Ears()


def should_stop() -> bool:
    """Whether the job is asked to save and leave.

    The first call, and that of `resume`, makes the process survive the signal; a handler that
    was there before is called as well. Cheap enough for every step. Processes may see it one
    step apart: where they save together, let them agree, as with an all-reduce of the answer.
    """
    _ears.listen()
    note = os.environ.get("GANGLION_STOP_FILE")
    return _ears.asked or bool(note and os.access(note, os.F_OK))


def committed(
    step: int = 0,
    path: str | os.PathLike[str] = "",
    *,
    at: float | None = None,
    rewind: bool = False,
) -> bool:
    """Say that a checkpoint is complete: whole, and safe where it lies.

    Args:
        step: the step to go on from.
        path: where it lies; relative to GANGLION_CHECKPOINT_DIR unless it is absolute or a URL.
        at: when the state was taken, in seconds since 1970, if that was a while ago; saving in
            the background takes time. None = now.
        rewind: the program went back to a lower step on purpose.

    Returns:
        Whether it could be reported; also False where nothing listens.
    """
    saved: dict[str, Any] = {"step": int(step), "path": os.fspath(path)}
    if rewind:
        saved["rewind"] = True
    return _say({"checkpoint": saved}, at)


def report(step: int = 0, **metrics: SupportsFloat) -> bool:
    """Report metrics of a step; numbers of NumPy and PyTorch will do.

    Returns:
        Whether they could be reported; also False where nothing listens.
    """
    values = {name: float(value) for name, value in metrics.items()}
    shown = {name: value if math.isfinite(value) else None for name, value in values.items()}
    return _say({"metrics": {"step": int(step), **shown}})


def busy(working: bool = True) -> bool:
    """Say that the program works at something, or that it does nothing; once a minute will do.

    Returns:
        Whether it could be reported; also False where nothing listens.
    """
    return _say({"busy": working})


def resume() -> Resume | None:
    """Where to go on: the newest checkpoint, of this attempt or of those before.

    A launcher may start workers anew within an attempt, hence the former. None = there is
    none, begin at the beginning.
    """
    _ears.listen()
    here = _of_this_attempt()
    if here:
        return here
    step, path = os.environ.get("GANGLION_RESUME_STEP"), os.environ.get("GANGLION_RESUME_PATH")
    if step is None and not path:
        return None
    return Resume(int(step or 0), path or "", attempt())


def attempt() -> int:
    """Number of the present attempt, from 1."""
    return int(os.environ.get("GANGLION_ATTEMPT", "1"))


def _stop_signal() -> int:
    name = os.environ.get("GANGLION_STOP_SIGNAL", "SIGTERM").upper()
    if name.isdigit():
        return int(name)
    return signal.Signals[name if name.startswith("SIG") else f"SIG{name}"]


def _say(line: dict[str, Any], at: float | None = None) -> bool:
    """Append a line; one write, so that lines of several processes do not mix."""
    path = os.environ.get("GANGLION_REPORT_FILE")
    if not path:
        return False
    said = line | {"at": int(1000 * (time.time() if at is None else at))}
    data = json.dumps(said, separators=(",", ":")).encode() + b"\n"
    try:
        file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            whole = os.write(file, data) == len(data)
            if not whole:
                os.write(file, b"\n")  # what comes next must not be taken for its rest
        finally:
            os.close(file)
    except OSError as error:
        warnings.warn(f"cannot report to Ganglion: {error}", RuntimeWarning, stacklevel=3)
        return False
    return whole


def _of_this_attempt() -> Resume | None:
    """The newest checkpoint that any pod reported in this attempt and that is there."""
    newest = max(_saved(), key=lambda line: float(line.get("at") or 0), default=None)
    if newest is None:
        return None
    said = newest["checkpoint"]
    return Resume(int(said.get("step") or 0), _in_full(said.get("path") or ""), attempt())


def _saved() -> Iterator[dict[str, Any]]:
    path = os.environ.get("GANGLION_REPORT_FILE")
    for file in sorted(Path(path).parent.glob("*.jsonl")) if path else ():
        for text in _last_lines(file):
            try:
                line = json.loads(text)
            except ValueError:
                continue  # the first one is cut, and others write here too
            said = line.get("checkpoint") if isinstance(line, dict) else None
            if isinstance(said, dict) and _is_there(_in_full(said.get("path") or "")):
                yield line


def _last_lines(file: Path) -> list[bytes]:
    try:
        with file.open("rb") as stream:
            stream.seek(max(0, stream.seek(0, os.SEEK_END) - LAST_BYTES))
            return stream.read().split(b"\n")
    except OSError as error:
        warnings.warn(f"cannot read {file}: {error}", RuntimeWarning, stacklevel=4)
        return []


def _in_full(path: str) -> str:
    if not path or "://" in path:
        return path
    return posixpath.normpath(posixpath.join(os.environ.get("GANGLION_CHECKPOINT_DIR", ""), path))


def _is_there(path: str) -> bool:
    return not path or "://" in path or (path.isprintable() and os.access(path, os.F_OK))
