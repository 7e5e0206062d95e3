"""Processes: this one, and those that it starts, signals and waits for."""

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from typing import Protocol


class Processes(Protocol):
    """The system calls. Safe from any thread."""

    def own(self) -> int:
        """The id of this process."""

    def run(
        self, argv: Sequence[str], typed: bytes, env: Mapping[str, str], timeout_s: float
    ) -> tuple[int, bytes]:
        """Run a program to its end; if that takes too long, kill it with all that it started.

        Args:
            argv: the program and its arguments.
            typed: its input.
            env: variables beside those of this process.
            timeout_s: longest time that it may take.

        Returns:
            its exit code, negative for a signal, and what it wrote.

        Raises:
            OSError: it cannot be started.
            TimeoutError: it took too long.
        """

    def signal(self, pid: int, number: int) -> None:
        """Send a signal to a process.

        Raises:
            ProcessLookupError: it is gone.
            PermissionError: it belongs to another user.
        """

    def signal_group(self, group: int, number: int) -> None:
        """Send a signal to all processes of a group. Raises as `signal`."""

    def exit(self, code: int) -> None:
        """End this process at once: nothing is flushed, no handler is called."""

    def listener(self, port: int) -> str:
        """The process that listens on a TCP port, as `python (pid 42)`; empty when unknown."""


class SystemProcesses:
    """The processes of this machine."""

    def own(self) -> int:
        """The id of this process."""
        return os.getpid()

    def run(
        self, argv: Sequence[str], typed: bytes, env: Mapping[str, str], timeout_s: float
    ) -> tuple[int, bytes]:
        """Run a program to its end; if that takes too long, kill it with all that it started."""
        with subprocess.Popen(
            [*argv],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, **env},
            start_new_session=True,
        ) as process:
            try:
                said, _ = process.communicate(typed, timeout=timeout_s)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                raise TimeoutError(f"{argv[0]} took longer than {timeout_s:g} s") from None
        return process.returncode, said

    def signal(self, pid: int, number: int) -> None:
        """Send a signal to a process."""
        os.kill(pid, number)

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


SYSTEM_PROCESSES = SystemProcesses()
