"""Programs that end as a test says, and processes that vanish between two looks."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ganglion.seams.processes import Finished, SystemProcesses


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
