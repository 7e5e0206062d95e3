"""One command in the environment of a pod, for one caller.

Run as `python -S -P -m ganglion.worlds.local.executing PLAN` by the supervisor: its standard
input is the socket of the caller, PLAN the file descriptor of the plan. It adopts whatever the
command leaves running, and ends all of it when the command ends, the caller goes, or the attempt
is over.

Only the standard library is imported, to start quickly.
"""

import contextlib
import json
import os
import signal
import socket
import sys
import time
from pathlib import Path
from typing import Any

from ganglion.worlds.local.supervision import pseudo
from ganglion.worlds.local.supervision.children import (
    HELPER,
    Children,
    NotStarted,
    adopt_orphans,
    children_of,
)
from ganglion.worlds.local.supervision.frames import (
    CHUNK,
    CLOSE,
    MOST,
    RESIZE,
    STDERR,
    STDIN,
    STDOUT,
    FrameSocket,
)
from ganglion.worlds.local.supervision.processes import (
    CANNOT_RUN,
    NOT_FOUND,
    end_leftovers,
    note_started,
)
from ganglion.worlds.local.supervision.wakeups import Wakeups

GRACE_S = 1.0
"""How long the command has after SIGHUP and SIGTERM."""
LAST_S = 5.0
"""How long the caller has to take the last output."""
END_OF_INPUT = b"\x04"
"""What Ctrl-D sends (VEOF)."""
NEVER = float("inf")


class Ends:
    """The command's standard streams, seen from outside.

    Attributes:
        outputs: file descriptor -> channel of what is read from it.
        input: file descriptor that its input is written to; -1 = it is closed.
        inside: file descriptors of the command, to be closed once it has started.
    """

    def __init__(self, plan: dict[str, Any]) -> None:
        self._tty: bool = plan["tty"]
        if self._tty:
            self.input, slave = pseudo.opened(plan["rows"], plan["columns"])
            self.outputs, self.inside = {self.input: STDOUT}, (slave, slave, slave)
        else:
            stdin, self.input = os.pipe()
            out, stdout = os.pipe()
            err, stderr = os.pipe()
            self.outputs, self.inside = {out: STDOUT, err: STDERR}, (stdin, stdout, stderr)
        for each in (self.input, *self.outputs):
            os.set_blocking(each, False)

    def close_inside(self) -> None:
        """The command has its own copies."""
        for each in set(self.inside):
            os.close(each)

    def read(self, end: int) -> bytes:
        """Read output; empty = it has ended, and is looked at no more."""
        try:
            chunk = os.read(end, CHUNK)
        except BlockingIOError:
            return b""
        except OSError:  # EIO: every process has closed the terminal
            chunk = b""
        if not chunk:
            del self.outputs[end]
        return chunk

    def close_input(self) -> None:
        """The caller has nothing more to say."""
        if self.input >= 0 and not self._tty:
            os.close(self.input)
            self.input = -1


class Command:
    """The command while it runs.

    Args:
        caller: which caller it is for.
        plan: what the supervisor says of it.
        wakeups: signals to wait for.
        children: what it is started by.
    """

    def __init__(
        self, caller: FrameSocket, plan: dict[str, Any], wakeups: Wakeups, children: Children
    ) -> None:
        self._caller, self._plan, self._wakeups = caller, plan, wakeups
        self._children = children
        self._ends = Ends(plan)
        self._typed, self._typed_all = bytearray(), False
        self._kill_at = NEVER
        self._code: int | None = None

    def run(self) -> int:
        """Run it to its end; returns its exit code, 128 + N after signal N.

        Raises:
            OSError: it cannot be started.
            NotStarted: the helper is gone, or refuses.
        """
        self._pid = self._children.start(
            self._plan["argv"],
            self._plan["env"],
            self._plan["workdir"],
            self._ends.inside,
            umask=self._plan["umask"],
            terminal=self._plan["tty"],
        )
        self._ends.close_inside()
        if self._plan.get(HELPER):
            with contextlib.suppress(OSError):  # it is ended all the same
                note_started(Path(self._plan["run"]), self._pid)
        while self._code is None:
            self._step()
        self._drain()
        return self._code

    def _step(self) -> None:
        reading: list[Any] = [] if self._caller.gone or len(self._typed) > MOST else [self._caller]
        if self._caller.waiting < MOST:
            reading += self._ends.outputs
        reading += self._children.sources
        writing: list[Any] = [self._caller] if self._caller.waiting else []
        if self._typed and self._ends.input >= 0:
            writing.append(self._ends.input)
        numbers, readable, writable = self._wakeups.select(self._patience(), reading, writing)
        if self._caller in readable:
            self._hear()
        if self._caller in writable:
            self._caller.flush()
        for end in [each for each in readable if each in self._ends.outputs]:
            self._pass_on(end)
        self._type()
        if signal.SIGTERM in numbers or self._caller.gone:
            self._stop()
        if time.monotonic() >= self._kill_at:
            self._signal(signal.SIGKILL)
        self._reap()

    def _patience(self) -> float:
        return 60.0 if self._kill_at == NEVER else max(self._kill_at - time.monotonic(), 0.05)

    def _hear(self) -> None:
        """Take in what the caller says."""
        for channel, payload in self._caller.receive():
            if channel == STDIN:
                self._typed += payload
            elif channel == RESIZE and self._plan["tty"]:
                pseudo.resized(self._ends.input, payload)
            elif channel == CLOSE and payload == bytes((STDIN,)):
                self._typed_all = True
                self._typed += END_OF_INPUT if self._plan["tty"] else b""

    def _type(self) -> None:
        """Forward the input, as far as the command takes it."""
        if self._typed and self._ends.input >= 0:
            try:
                del self._typed[: os.write(self._ends.input, self._typed)]
            except BlockingIOError:
                return
            except OSError:  # it reads no more
                self._typed.clear()
        if self._typed_all and not self._typed:
            self._ends.close_input()

    def _pass_on(self, end: int) -> bool:
        channel = self._ends.outputs[end]
        chunk = self._ends.read(end)
        if chunk:
            self._caller.send(channel, chunk)
        return bool(chunk)

    def _stop(self) -> None:
        """Ask the command to end, once; it is killed after its grace."""
        if self._kill_at == NEVER:
            self._kill_at = time.monotonic() + GRACE_S
            for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGCONT):
                self._signal(number)

    def _signal(self, number: int) -> None:
        self._children.group_lives(self._pid, number)

    def _reap(self) -> None:
        for pid, status in self._children.reap():
            if pid == self._pid:
                code = os.waitstatus_to_exitcode(status)
                self._code = code if code >= 0 else 128 - code

    def _drain(self) -> None:
        """Pass on what was written before the end; others may keep the streams open without end."""
        give_up = time.monotonic() + LAST_S
        for end in list(self._ends.outputs):
            while time.monotonic() < give_up and not self._caller.gone and self._pass_on(end):
                self._flush(give_up)

    def _flush(self, give_up: float) -> None:
        while self._caller.waiting and not self._caller.gone and time.monotonic() < give_up:
            self._wakeups.select(give_up - time.monotonic(), [], [self._caller])
            self._caller.flush()


def main(descriptor: str) -> None:
    """Serve the caller on standard input; the plan is read from a file descriptor."""
    adopt_orphans()
    wakeups = Wakeups()
    caller = FrameSocket(socket.socket(fileno=os.dup(0)))
    with os.fdopen(int(descriptor), "rb") as file:
        plan = json.load(file)
    caller.end(**(plan if "error" in plan else _executed(caller, plan, wakeups)))
    caller.linger(LAST_S)


def _executed(caller: FrameSocket, plan: dict[str, Any], wakeups: Wakeups) -> dict[str, Any]:
    """Run the command; how it ended. Nothing of it is left then."""
    children = children_of(plan[HELPER])
    try:
        facts: dict[str, Any] = {"exit_code": Command(caller, plan, wakeups, children).run()}
    except NotStarted as error:
        facts = {"exit_code": CANNOT_RUN, "error": str(error)}
    except OSError as error:
        missing = isinstance(error, FileNotFoundError)
        what = error.filename or plan["argv"][0]
        said = f"{what}: {error.strerror}" if error.strerror else f"{what}: {error}"
        facts = {"exit_code": NOT_FOUND if missing else CANNOT_RUN, "error": said}
    end_leftovers([], children, wakeups.wait, lambda: 0.0)
    return facts


if __name__ == "__main__":
    main(*sys.argv[1:])
