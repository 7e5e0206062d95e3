"""Programs of Ganglion as processes that have imported everything before they begin.

Importing takes a server longer than all else that most tests have it do. One process beside each
process of tests imports a program once and becomes, by fork, that program again and again.
"""

import atexit
import gc
import importlib
import json
import os
import resource
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from types import ModuleType
from typing import Any

MOST_BYTES = 1 << 20
"""Size of a request."""
FILES = 4
"""Descriptors of a request: stdin, stdout, stderr, and the pipe that tells the end."""
COMMAND_LINE = "ganglion.cli.main"
IMPORTED = ("ganglion.cli.submission.submit", "ganglion.client.client", "httpx2")
"""What most commands import."""
BACKGROUND = "ganglion.cli.server.background"
"""Module of `ganglion up` that starts the server."""
SPAWN = "_spawn"
"""Its function that does."""
SHOWN = (*IMPORTED, BACKGROUND)
"""What commands of a shell begin with: the server that `ganglion up` starts is forked as well."""
SERVER = (
    "ganglion.server.main",
    "ganglion.specs.cluster.cluster",
    "ganglion.specs.policy.policy",
    "ganglion.engine.plugins.scores",
    "alembic.command",
    "uvicorn.lifespan.on",
    "uvicorn.loops.auto",
)
"""What a server imports once it runs: that takes six times as long as all else of its start."""
STAND_IN = Path(__file__).with_name("stand_in.py")
"""What a shell runs in place of the command line; it imports next to nothing."""


class Forked:
    """A program that runs, with the interface of `subprocess.Popen`.

    Args:
        module: its `main` takes the arguments and returns an exit code, or exits.
        args: its arguments.
        out: descriptor of its stdout.
        err: descriptor of its stderr; `out` if left out.
        given: descriptor of its stdin; there is nothing if left out.
        beside: further modules that it begins with, which it would import later.
        folder: where it runs; where this process does if left out.
        environ: its environment; that of this process if left out.
        alone: it gets a session of its own, which no Ctrl-C reaches.
        parent: how the process that forks is reached; as tests do if left out.
    """

    def __init__(
        self,
        module: str,
        args: Sequence[str],
        out: int,
        *,
        err: int | None = None,
        given: int | None = None,
        beside: Sequence[str] = (),
        folder: Path | None = None,
        environ: Mapping[str, str] | None = None,
        alone: bool = False,
        parent: "_Parent | _ParentOfBoth | None" = None,
    ) -> None:
        request = {
            "module": module,
            "beside": list(beside),
            "args": list(args),
            "folder": str(folder or Path.cwd()),
            "environ": dict(os.environ if environ is None else environ),
            "files": resource.getrlimit(resource.RLIMIT_NOFILE),
            "alone": alone,
        }
        self._end, told = os.pipe()
        nothing = os.open(os.devnull, os.O_RDONLY)
        files = [nothing if given is None else given, out, out if err is None else err, told]
        try:
            self.pid = (parent or _parent()).fork(request, files)
        finally:
            os.close(nothing)
            os.close(told)
        self.returncode: int | None = None

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end; returns the exit code, negative for a signal.

        Raises:
            subprocess.TimeoutExpired: it runs on after `timeout` seconds.
        """
        if self.returncode is None:
            if not select.select([self._end], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired("a forked program", timeout or 0.0)
            told = os.read(self._end, 64)
            os.close(self._end)
            assert told, "the process that forks has ended"
            self.returncode = os.waitstatus_to_exitcode(int(told))
        return self.returncode

    def poll(self) -> int | None:
        """The exit code; None while it runs."""
        if self.returncode is None and select.select([self._end], [], [], 0)[0]:
            self.wait()
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send it a signal, if it still runs."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)


def ganglion(
    *words: str,
    given: str = "",
    folder: Path | None = None,
    environ: Mapping[str, str] | None = None,
    timeout: float = 120.0,
) -> "subprocess.CompletedProcess[str]":
    """Run the command line to its end, as `subprocess.run` would.

    Args:
        words: its arguments.
        given: what it reads.
        folder: see `Forked`.
        environ: see `Forked`.
        timeout: seconds that it may take.

    Raises:
        subprocess.TimeoutExpired: it took longer.
    """
    with TemporaryFile("w+") as read, TemporaryFile("w+") as out, TemporaryFile("w+") as err:
        read.write(given)
        read.seek(0)
        running = Forked(
            COMMAND_LINE,
            words,
            out.fileno(),
            err=err.fileno(),
            given=read.fileno(),
            beside=IMPORTED,
            folder=folder,
            environ=environ,
        )
        try:
            code = running.wait(timeout)
        finally:
            running.kill()
        for each in (out, err):
            each.seek(0)
        return subprocess.CompletedProcess(words, code, out.read(), err.read())


def shell_command() -> list[str]:
    """What a shell runs in place of the command line; its arguments follow."""
    # -I and -S: it needs nothing but the standard library.
    return [sys.executable, "-IS", str(STAND_IN), str(_parent().path)]


class _Parent:
    """This side of the process that forks; `path` is where others connect to it."""

    def __init__(self) -> None:
        self._folder = TemporaryDirectory(prefix="ganglion-forks-")
        self.path = Path(self._folder.name) / "socket"
        self._own, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs, socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
            listener.bind(str(self.path))
            listener.listen()
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__, str(theirs.fileno()), str(listener.fileno())],
                cwd=Path(__file__).parents[1],
                pass_fds=[theirs.fileno(), listener.fileno()],
                stdin=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is for the tests
            )

    def fork(self, request: dict[str, Any], files: list[int]) -> int:
        """Start a program; returns its pid."""
        socket.send_fds(self._own, [json.dumps(request).encode()], files)
        answer = self._own.recv(64)
        assert answer, "the process that forks has ended"
        return int(answer)

    def close(self) -> None:
        """Have it end, and what it has forked."""
        self._own.close()
        self._process.wait()
        self._folder.cleanup()


class _ParentOfBoth:
    """The process that forks, as a program that it has forked reaches it.

    Args:
        path: where it takes connections.
    """

    def __init__(self, path: str) -> None:
        self._path = path

    def fork(self, request: dict[str, Any], files: list[int]) -> int:
        """Start another program; returns its pid."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as forks:
            forks.connect(self._path)
            socket.send_fds(forks, [json.dumps(request).encode()], files)
            return int(forks.recv(64))

    def server(self, arguments: Sequence[str], out: int, folder: Path) -> Forked:
        """Start what `ganglion up` starts."""
        return Forked(
            COMMAND_LINE,
            ["up", "--foreground", *arguments],
            out,
            beside=(*IMPORTED, *SERVER),
            folder=folder,
            alone=True,
            parent=self,
        )


@cache
def _parent() -> _Parent:
    made = _Parent()
    atexit.register(made.close)
    return made


def serve(number: int, listening: int) -> int:
    """Fork programs until this side of the socket is closed; returns an exit code.

    Args:
        number: descriptor of the socket.
        listening: descriptor of one to which others connect.
    """
    atexit.register(_leave)  # the first that is registered runs last
    ends = dict[int, int]()
    woken, wake = socket.socketpair()
    for each in (woken, wake):
        each.setblocking(False)
    signal.set_wakeup_fd(wake.fileno())
    signal.signal(signal.SIGCHLD, lambda *_: None)
    own, listener = socket.socket(fileno=number), socket.socket(fileno=listening)
    callers, path = [own], listener.getsockname()
    while True:
        ready = select.select([*callers, listener, woken], [], [])[0]
        if woken in ready:
            woken.recv(4096)
            _reap(ends)
        if listener in ready:
            callers.append(listener.accept()[0])
        for caller in [each for each in callers if each in ready]:
            text, files, _, _ = socket.recv_fds(caller, MOST_BYTES, FILES)
            if not text and caller is own:
                return _end_all(ends)
            if not text:
                callers.remove(caller)
                caller.close()
                continue
            request = {"module": COMMAND_LINE, "beside": SHOWN, **json.loads(text)}
            # Imported here, so that every program of this module begins with it.
            for each in request["beside"]:
                importlib.import_module(each)
            program = importlib.import_module(request["module"])
            if "ganglion.ledger.ledger" in sys.modules:
                importlib.import_module("tests.ledgers").copied_from_now_on()
            gc.freeze()  # no collection of a program looks at, and so copies, what it begins with
            pid = os.fork()
            if pid == 0:
                for each in (*callers, listener, woken, wake):
                    each.detach()
                _become(request, files, path)
                return _noted(program, request["args"])
            ends[pid] = files.pop()
            for file in files:
                os.close(file)
            caller.send(str(pid).encode())


def _noted(program: ModuleType, args: list[str]) -> int:
    """Run a program, and keep its exit code for `_leave`; returns it."""
    _codes.append(1)  # of an exception, which Python prints before it ends
    try:
        _codes.append(program.main(args) or 0)
    except KeyboardInterrupt:
        _codes.clear()  # a signal ends it
        raise
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            _codes.append(end.code or 0)
        raise
    return _codes[-1]


_codes: list[int] = []


def _leave() -> None:
    """End a program once all else that has to run at its end has.

    Taking apart what it was forked with, module by module, takes ten times as long as most of
    what a command does.
    """
    if _codes:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(_codes[-1])


def _end_all(pids: Iterable[int]) -> int:
    """End what runs once the tests are gone; returns an exit code."""
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    return 0


def _reap(ends: dict[int, int]) -> None:
    """Report programs that have ended."""
    while ends:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if not pid:
            return
        end = ends.pop(pid)
        try:
            os.write(end, str(status).encode())
        except BrokenPipeError:
            continue  # nothing waits for it any more
        finally:
            os.close(end)


def _become(request: dict[str, Any], files: list[int], path: str) -> None:
    """Leave nothing of the process that forks but what it has imported, and where it listens."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for number, file in enumerate(files[:3]):
        os.dup2(file, number)
    os.closerange(3, 4096)
    if request.get("alone"):
        os.setsid()
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environ"])
    time.tzset()
    resource.setrlimit(resource.RLIMIT_NOFILE, tuple(request["files"]))
    if BACKGROUND in request["beside"]:
        setattr(sys.modules[BACKGROUND], SPAWN, _ParentOfBoth(path).server)
    sys.argv = [request["module"], *request["args"]]
    # Buffered as for this stream, not as for that of the process that forks.
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - it stays open


if __name__ == "__main__":
    sys.exit(serve(*map(int, sys.argv[1:])))
