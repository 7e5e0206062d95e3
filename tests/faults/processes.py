"""Programs that end as a test says, that cannot be started, hang, or vanish between two looks."""

import errno
import os
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from ganglion.seams.processes import Finished, SystemProcesses
from tests.faults.plan import Plan


class Ran(NamedTuple):
    """A program that was run.

    Attributes:
        argv: the program and its arguments.
        env: variables beside those of this process.
        timeout_s: longest time that it might take.
    """

    argv: Sequence[str]
    env: Mapping[str, str]
    timeout_s: float


class ScriptedProcesses(SystemProcesses):
    """Programs are not run: they end one after the other as they are said to.

    Args:
        ends: how each ends; an error is raised.

    Attributes:
        ran: what was run.
    """

    def __init__(self, *ends: Finished | OSError) -> None:
        self._ends = [*ends]
        self.ran: list[Ran] = []

    def run(
        self, argv: Sequence[str], typed: bytes, env: Mapping[str, str], timeout_s: float
    ) -> Finished:
        self.ran.append(Ran(tuple(argv), env, timeout_s))
        end = self._ends.pop(0)
        if isinstance(end, OSError):
            raise end
        return end

    async def finish(
        self, argv: Sequence[str], env: Mapping[str, str], timeout_s: float
    ) -> Finished:
        return self.run(argv, b"", env, timeout_s)


class FaultyProcesses(SystemProcesses):
    """Processes of which some calls fail, without an effect; `collect` of one that hangs is false.

    Args:
        plan: which calls.
        number: of the error.
        vanishes: called with the id before a signal is sent, as one may end at that moment.
    """

    def __init__(
        self, plan: Plan, number: int = errno.EAGAIN, vanishes: Callable[[int], None] | None = None
    ) -> None:
        self._plan, self._number, self._vanishes = plan, number, vanishes

    def _fails(self, call: str) -> None:
        if self._plan.strikes(call):
            raise OSError(self._number, os.strerror(self._number))

    def spawn(self, argv: Sequence[str], env: Mapping[str, str], log: str) -> int:
        self._fails("spawn")
        return super().spawn(argv, env, log)

    def collect(self, pid: int) -> bool:
        return not self._plan.strikes("collect") and super().collect(pid)

    def signal(self, pid: int, number: int) -> None:
        if self._vanishes:
            self._vanishes(pid)
        self._fails("signal")
        super().signal(pid, number)

    def signal_same(self, pid: int, number: int, same: Callable[[], bool]) -> None:
        if self._vanishes:
            self._vanishes(pid)
        self._fails("signal_same")
        super().signal_same(pid, number, same)

    def memory(self) -> int:
        self._fails("memory")
        return super().memory()
