"""The server as a background process: start it, wait for it, see it go."""

import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import psutil

from ganglion.client import Client
from ganglion.client.home import ServerRecord, read_server
from ganglion.model.errors import EnvironmentFault, GanglionError, InputError, NotExecutor

START_S = 60.0
POLL_S = 0.1


def running(folder: Path) -> ServerRecord | None:
    """Return the record of the server of this home, if it answers."""
    record = read_server(folder)
    if record is None or not psutil.pid_exists(record.pid):
        return None
    try:
        with Client.of_home(folder, timeout_s=5.0) as client:
            client.health()
    except GanglionError:
        return None
    return record


def start(folder: Path, arguments: Sequence[str], patience_s: float = START_S) -> ServerRecord:
    """Start a server that outlives this process, and wait until it answers.

    Args:
        folder: Ganglion's home directory.
        arguments: of `ganglion up`.
        patience_s: how long the server may take without saying how far it is.

    Raises:
        EnvironmentFault: it did not come up; the message is its own.
        InputError: it refused what was asked of it.
    """
    log = folder / "console.log"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with log.open("wb") as out:
            process = _spawn(arguments, out.fileno(), folder)
    except OSError as error:
        raise EnvironmentFault(
            f"cannot write {log}: {error.strerror}", "set GANGLION_HOME to a folder you may write"
        ) from error
    record = _until(lambda: _answering(folder, process), patience_s, log)
    if record is None:
        raise _failure(process, log)
    return record


def said(folder: Path, prefix: str) -> list[str]:
    """Lines with this beginning that the server wrote while it started."""
    lines = (folder / "console.log").read_text(errors="replace").splitlines()
    return [line for line in lines if line.startswith(prefix)]


def _spawn(arguments: Sequence[str], out: int, folder: Path) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-m", "ganglion", "up", "--foreground", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=out,
        stderr=subprocess.STDOUT,
        cwd=folder,
        start_new_session=True,
    )


def _answering(folder: Path, process: "subprocess.Popen[bytes]") -> ServerRecord | None:
    """Return the record of the new server once it answers.

    Raises:
        ChildProcessError: it has ended.
    """
    if process.poll() is not None:
        raise ChildProcessError
    record = read_server(folder)
    return running(folder) if record and record.pid == process.pid else None


def _until(
    look: Callable[[], ServerRecord | None], patience_s: float, log: Path
) -> ServerRecord | None:
    """Look again and again; whatever the server writes meanwhile is a sign of progress."""
    deadline, size = time.monotonic() + patience_s, 0
    while time.monotonic() < deadline:
        try:
            found = look()
        except ChildProcessError:
            return None
        if found:
            return found
        if log.stat().st_size > size:
            deadline, size = time.monotonic() + patience_s, log.stat().st_size
        time.sleep(POLL_S)
    return None


def _failure(process: "subprocess.Popen[bytes]", log: Path) -> GanglionError:
    """Return the error that the server wrote into its log, or its last words."""
    lines = log.read_text(errors="replace").splitlines()
    code = process.poll()
    if code is None:
        process.terminate()
        return EnvironmentFault("the server did not answer in time", f"see {log}")
    words = _after("Error: ", lines) or (lines[-1] if lines else "it printed nothing")
    hint = " · ".join(part for part in (_after("Hint: ", lines), f"log: {log}") if part)
    if code == InputError.exit_code:
        return InputError(words, hint)
    if code == NotExecutor.exit_code:
        return NotExecutor(words, hint)
    return EnvironmentFault(words, hint)


def _after(prefix: str, lines: Sequence[str]) -> str:
    return next((line[len(prefix) :] for line in reversed(lines) if line.startswith(prefix)), "")


def wait_gone(pid: int, patience_s: float) -> bool:
    """Wait for the end of a process; False when it is still there."""
    try:
        psutil.Process(pid).wait(patience_s)
    except psutil.NoSuchProcess:
        return True
    except psutil.TimeoutExpired:
        return False
    return True
