"""The processes of one attempt, as their supervisor sees them; standard library only."""

import contextlib
import errno
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from ganglion.worlds.local.machine import host
from ganglion.worlds.local.run_files import records
from ganglion.worlds.local.supervision.children import Children, HelpedChildren, NotStarted

CANNOT_RUN, NOT_FOUND = 126, 127
"""Exit codes that shells give to a command that cannot be executed, or does not exist."""
SHORTAGES = {
    errno.EAGAIN,
    errno.EINTR,
    errno.EIO,
    errno.EMFILE,
    errno.ENFILE,
    errno.ENOMEM,
    errno.ENOSPC,
    errno.ESTALE,
}
"""Errors of the machine, not of the command."""
SETTLE_S = 0.05
LAST_LINE = 160
"""Characters of a failed rank's last line that its end quotes."""


class StartError(Exception):
    """A process could not be started.

    Args:
        message: what is missing, by name.
        code: exit code that a shell would give.
        passing: whether the machine is at fault, so that another attempt may go better.
        is_helper: whether the root helper does not answer, which is no fault of the node.
    """

    def __init__(
        self, message: str, code: int, *, passing: bool = False, is_helper: bool = False
    ) -> None:
        super().__init__(message)
        self.message, self.code, self.passing = message, code, passing
        self.is_helper = is_helper


class Process:
    """One rank (or the setup of a pod): a process that leads its own session and group.

    Its output goes straight into the log file: nothing stands between that could block,
    be killed, or lose the last lines.

    Args:
        rank: its rank in the gang.
        argv: argument vector.
        env: whole environment.
        workdir: directory to run in.
        log: file that standard output and error are appended to.
        children: what it is started by.
        umask: of the process; -1 = that of this one.
        terminal: slave of the terminal that it has instead; None = it has none.

    Raises:
        StartError: the command or the directory does not exist, or may not be used.
    """

    def __init__(
        self,
        rank: int,
        argv: list[str],
        env: dict[str, str],
        workdir: str,
        log: Path,
        children: Children,
        umask: int = -1,
        terminal: int | None = None,
    ) -> None:
        self.rank, self.log, self._umask, self._terminal = rank, log, umask, terminal
        self.code: int | None = None
        self._children, self._killed = children, False
        self._marked, self._gone = 0, False
        if not isinstance(children, HelpedChildren):  # the user may see what this process may not
            _check_directory(workdir)
        self.pid = self._start(argv, env, workdir)

    def _start(self, argv: list[str], env: dict[str, str], workdir: str) -> int:
        with self._output() as output, Path(os.devnull).open("rb") as nothing:
            out, end = output.fileno(), self._terminal
            streams = (nothing.fileno(), out, out) if end is None else (end, end, end)
            try:
                return self._children.start(
                    argv,
                    env,
                    workdir,
                    streams,
                    umask=self._umask,
                    terminal=end is not None,
                )
            except NotStarted as error:
                passing = error.passing
                raise StartError(str(error), CANNOT_RUN, passing=passing, is_helper=True) from None
            except (FileNotFoundError, NotADirectoryError) as error:
                if error.filename == workdir:
                    said = f"the working directory {workdir} does not exist"
                    raise StartError(said, CANNOT_RUN) from None
                raise StartError(_not_found(argv[0]), NOT_FOUND) from None
            except (OSError, ValueError) as error:
                said = f"the command {argv[0]} cannot be run: {error}"
                passing = getattr(error, "errno", None) in SHORTAGES
                raise StartError(said, CANNOT_RUN, passing=passing) from None

    def _output(self) -> BinaryIO:
        try:
            return self.log.open("ab")
        except OSError as error:
            said = f"the log file {self.log} cannot be written: {error.strerror}"
            raise StartError(said, CANNOT_RUN, passing=True) from None

    def ended(self, status: int) -> None:
        """Record its end from a wait status; a signal N counts as exit code 128 + N."""
        code = os.waitstatus_to_exitcode(status)
        self._killed = code < 0
        self.code = code if code >= 0 else 128 - code

    def group_lives(self) -> bool:
        """Whether any process of its group is left, also after it has ended itself.

        Once it is seen empty its number may belong to another group and is not used again.
        """
        self.signal(0)
        return not self._gone

    def signal(self, number: int) -> None:
        """Send a signal to the whole group, if it lives."""
        if self._gone:
            return
        if not self._children.group_lives(self.pid, number):
            self._gone = self.code is not None

    def story(self) -> str:
        """How it failed, for a person."""
        code = self.code or 0
        what = f"rank {self.rank} ended with exit code {code}"
        if self._killed:
            what = f"rank {self.rank} was killed by {_signal_name(code - 128)}"
        line = last_line(self.log)
        return f"{what}; its last line: {line}" if line else what

    def mark(self) -> None:
        """Note the time and the length of the log beside it, when it has grown."""
        with contextlib.suppress(OSError):
            found = host.stat(self.log)
            size = found.st_size if found else 0
            if size > self._marked:
                self._marked = size
                with self.log.with_suffix(".marks").open("a", encoding="ascii") as file:
                    file.write(f"{records.now_ms()} {size}\n")


def note_started(run: Path, pid: int) -> None:
    """Note the leader of a process group that was started for a run. Raises OSError: it is not."""
    with (run / records.PIDS).open("a") as file:
        file.write(f"{pid} {records.start_time(pid)}\n")


def _check_directory(workdir: str) -> None:
    try:
        usable = host.is_directory(workdir)
    except (OSError, ValueError) as error:
        if getattr(error, "errno", None) in SHORTAGES:
            return  # the machine does not say; the start shows it
        said = f"the working directory {workdir} cannot be used: {error}"
        raise StartError(said, CANNOT_RUN) from None
    if not usable:
        raise StartError(f"the working directory {workdir} does not exist", CANNOT_RUN)


def _not_found(command: str) -> str:
    if "/" in command:
        return f"the command {command} does not exist, or its #! line names no program"
    return f"the command {command} was not found on PATH"


def _signal_name(number: int) -> str:
    try:
        name = signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
    return name


def last_line(log: Path) -> str:
    """The last line of a log that says anything, shortened; empty when there is none."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - 4096))
            lines = file.read().decode(errors="replace").split("\n")
    except OSError:
        return ""
    said = (line.strip() for line in reversed(lines))
    return next(("".join(filter(str.isprintable, s))[:LAST_LINE] for s in said if s), "")


def end_leftovers(
    processes: list[Process],
    children: Children,
    wait: Callable[[float], object],
    kill_at: Callable[[], float],
) -> None:
    """End whatever the ranks left behind: SIGTERM, then SIGKILL until nothing is left.

    Args:
        processes: the ranks.
        children: what they were started by.
        wait: sleeps for at most the given number of seconds.
        kill_at: monotonic time in seconds from which SIGKILL is sent; asked again and again.
    """
    number: int = signal.SIGTERM
    while _anything_left(processes, children):
        for process in processes:
            process.signal(number)
        with contextlib.suppress(OSError):  # what cannot be read now is asked again a moment later
            for pid in children.all():
                children.signal(pid, number)
        wait(SETTLE_S)
        number = signal.SIGKILL if time.monotonic() >= kill_at() else 0


def _anything_left(processes: list[Process], children: Children) -> bool:
    ours = {process.pid: process for process in processes}
    for pid, status in children.reap():
        if pid in ours:
            ours[pid].ended(status)
    return any(p.group_lives() for p in processes) or children.left()
