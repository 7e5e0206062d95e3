"""Processes: this one, and those that it starts, signals and waits for."""

import asyncio
import contextlib
import errno
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

REAP_S = 5.0
"""How long a process that was killed is waited for."""


class Finished(NamedTuple):
    """A program that has ended.

    Attributes:
        code: its exit code, negative for a signal.
        out: what it wrote.
        errors: what it wrote as errors.
    """

    code: int
    out: bytes
    errors: bytes = b""

    @property
    def said(self) -> bytes:
        """All that it wrote, the errors last."""
        return self.out + self.errors


class Processes(Protocol):
    """The system calls. Safe from any thread."""

    def own(self) -> int:
        """The id of this process."""

    def run(
        self, argv: Sequence[str], typed: bytes, env: Mapping[str, str], timeout_s: float
    ) -> Finished:
        """Run a program to its end; if that takes too long, kill it with all that it started.

        Args:
            argv: the program and its arguments.
            typed: its input.
            env: variables beside those of this process.
            timeout_s: longest time that it may take.

        Raises:
            OSError: it cannot be started.
            TimeoutError: it took too long.
        """

    async def finish(
        self, argv: Sequence[str], env: Mapping[str, str], timeout_s: float
    ) -> Finished:
        """The same without input, holding up this task, and no other.

        A program whose task is cancelled is killed with all that it started.
        """

    def spawn(self, argv: Sequence[str], env: Mapping[str, str], log: str) -> int:
        """Start a program that goes on beside this one; return its id.

        Args:
            argv: the program and its arguments.
            env: all of its variables.
            log: file of the owner's, to which all that it writes is appended.

        Raises:
            OSError: the machine cannot start another process.
        """

    def collect(self, pid: int) -> bool:
        """Whether a program that was spawned has ended; it is collected then. Waits for nothing."""

    def signal(self, pid: int, number: int) -> None:
        """Send a signal to a process.

        Raises:
            ProcessLookupError: it is gone.
            PermissionError: it belongs to another user.
        """

    def signal_same(self, pid: int, number: int, same: Callable[[], bool]) -> None:
        """Send a signal to a process, unless another one has got its id since. Raises as `signal`.

        Args:
            pid: its id.
            number: the signal.
            same: looks whether the process of that id is still the one that is meant; asked while
                the id cannot change its owner.
        """

    def signal_group(self, group: int, number: int) -> None:
        """Send a signal to all processes of a group. Raises as `signal`."""

    def exit(self, code: int) -> None:
        """End this process at once: nothing is flushed, no handler is called."""

    def listener(self, port: int) -> str:
        """The process that listens on a TCP port, as `python (pid 42)`; empty when unknown."""

    def memory(self) -> int:
        """Memory of this machine in bytes.

        Raises:
            OSError: the machine does not say.
        """


class SystemProcesses:
    """The processes of this machine."""

    def own(self) -> int:
        """The id of this process."""
        return os.getpid()

    def run(
        self, argv: Sequence[str], typed: bytes, env: Mapping[str, str], timeout_s: float
    ) -> Finished:
        """Run a program to its end; if that takes too long, kill it with all that it started."""
        with subprocess.Popen(
            [*argv],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **env},
            start_new_session=True,
        ) as process:
            try:
                out, errors = process.communicate(typed, timeout=timeout_s)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                raise _late(argv, timeout_s) from None
        return Finished(process.returncode, out, errors)

    async def finish(
        self, argv: Sequence[str], env: Mapping[str, str], timeout_s: float
    ) -> Finished:
        """The same without input, holding up this task, and no other."""
        transport, watched = await asyncio.get_running_loop().subprocess_exec(
            _Watched,
            *argv,
            stdin=subprocess.DEVNULL,
            env={**os.environ, **env},
            start_new_session=True,
        )
        try:
            async with asyncio.timeout(timeout_s):
                await watched.over.wait()
            return Finished(transport.get_returncode() or 0, *map(bytes, watched.written.values()))
        except TimeoutError:
            raise _late(argv, timeout_s) from None
        finally:
            if not watched.over.is_set():
                await _killed(transport, watched)
            transport.close()

    def spawn(self, argv: Sequence[str], env: Mapping[str, str], log: str) -> int:
        """Start a program that goes on beside this one; return its id."""
        write = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        actions = [
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, log, write, 0o600),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ]
        return os.posix_spawn(argv[0], [*argv], env, file_actions=actions)

    def collect(self, pid: int) -> bool:
        """Whether a program that was spawned has ended; it is collected then. Waits for nothing."""
        try:
            return os.waitpid(pid, os.WNOHANG)[0] != 0
        except ChildProcessError:  # it was collected before
            return True

    def signal(self, pid: int, number: int) -> None:
        """Send a signal to a process."""
        os.kill(pid, number)

    def signal_same(self, pid: int, number: int, same: Callable[[], bool]) -> None:
        """Send a signal to a process, unless another one has got its id since."""
        if sys.platform != "linux":
            os.kill(pid, number)
            return
        handle = os.pidfd_open(pid)
        try:
            if same():
                signal.pidfd_send_signal(handle, number)
        finally:
            os.close(handle)

    def signal_group(self, group: int, number: int) -> None:
        """Send a signal to all processes of a group."""
        os.killpg(group, number)

    def exit(self, code: int) -> None:
        """End this process at once: nothing is flushed, no handler is called."""
        os._exit(code)

    def listener(self, port: int) -> str:
        """The process that listens on a TCP port, as `python (pid 42)`; empty when unknown."""
        import psutil  # noqa: PLC0415 - for one message; most programs that import this have none

        try:
            for found in psutil.net_connections("tcp"):
                if found.status == psutil.CONN_LISTEN and found.laddr and found.laddr[1] == port:
                    name = psutil.Process(found.pid).name() if found.pid else ""
                    return f"{name} (pid {found.pid})" if name else ""
        except psutil.Error:
            return ""
        return ""

    def memory(self) -> int:
        """Memory of this machine in bytes."""
        import psutil  # noqa: PLC0415 - as `listener`

        try:
            return int(psutil.virtual_memory().total)
        except (psutil.Error, ValueError, KeyError) as error:
            raise OSError(
                errno.EIO, f"the machine does not say how much it has: {error}"
            ) from error


class _Watched(asyncio.SubprocessProtocol):
    """What a program writes, until it has ended and its pipes are closed."""

    def __init__(self) -> None:
        self.written = {1: bytearray(), 2: bytearray()}
        self.over = asyncio.Event()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self.written[fd] += data

    def connection_lost(self, _error: Exception | None) -> None:
        self.over.set()


async def _killed(transport: asyncio.SubprocessTransport, watched: _Watched) -> None:
    """Kill a program with all that it started, and collect it."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(transport.get_pid(), signal.SIGKILL)
    for pipe in filter(None, map(transport.get_pipe_transport, watched.written)):
        pipe.close()  # a process that left the group may have it open, and is not waited for
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(REAP_S):
            await watched.over.wait()


def _late(argv: Sequence[str], timeout_s: float) -> TimeoutError:
    return TimeoutError(f"{argv[0]} took longer than {timeout_s:g} s")


SYSTEM_PROCESSES = SystemProcesses()
