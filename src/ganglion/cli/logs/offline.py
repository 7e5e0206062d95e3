"""Logs while the server is down: the files of its home, which jobs go on writing."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

from ganglion.model.errors import Conflict, NotFound
from ganglion.specs.grammar.times.durations import parse_duration
from ganglion.worlds.local.run_files.logs import attempts, ranks, stream
from ganglion.worlds.local.run_files.paths import logged_gangs, run_dir
from ganglion.worlds.local.run_files.records import is_held


class HomeLogs:
    """Finds and reads logs as a server does, by the names of files alone.

    Args:
        home: Ganglion's home directory.
    """

    def __init__(self, home: Path) -> None:
        self._home = home

    @cached_property
    def _gangs(self) -> list[str]:
        """Listed once: a home may have runs by the ten thousand."""
        return logged_gangs(self._home)

    @contextmanager
    def logs(
        self,
        ref: str,
        *,
        index: int | None = None,
        rank: int = 0,
        tail: int | None = None,
        since: str | None = None,
        follow: bool = False,
        previous: bool = False,
    ) -> Iterator[Iterator[bytes]]:
        """Open a log as chunks of bytes; arguments as of `Client.logs`.

        Raises:
            NotFound: there is none.
            Conflict: the reference fits several workloads.
            FieldError: `since` is no time.
        """
        gang, attempt = self.attempt(ref, index, previous=previous)
        begin = 0 if since is None else time.time_ns() // 1_000_000 - parse_duration(since)
        run = run_dir(self._home, gang, attempt)
        source = stream(
            self._home,
            gang,
            attempt,
            rank=rank,
            tail=tail,
            since_ms=begin,
            ended=(lambda: not is_held(run)) if follow and not previous else None,
        )
        with asyncio.Runner() as runner:

            async def piece() -> bytes | None:
                return await anext(source, None)

            yield iter(lambda: runner.run(piece()), None)

    def attempt(self, ref: str, index: int | None, *, previous: bool = False) -> tuple[str, int]:
        """Return the gang and the attempt that a reference means.

        Raises:
            NotFound: there is none that has logs.
            Conflict: the reference fits several workloads.
        """
        gang = self._gang(self._workload(ref), index)
        found = attempts(self._home, gang)
        if len(found) < (2 if previous else 1):
            what = "attempt before this one" if previous else "log"
            raise NotFound(f"{gang} has no {what}", "it may not have started")
        return gang, found[-2 if previous else -1]

    def ranks(self, ref: str, index: int | None, *, previous: bool = False) -> tuple[int, ...]:
        """Return the ranks that have a log."""
        return ranks(self._home, *self.attempt(ref, index, previous=previous))

    def _workload(self, ref: str) -> str:
        known = sorted({gang.rpartition("/")[0] for gang in self._gangs})
        if ref in known:
            return ref
        named = [each for each in known if each.rpartition("-")[0] == ref]
        if named:
            return max(named, key=_number)
        found = [each for each in known if ref and each.startswith(ref)]
        if not found:
            raise NotFound(
                f"no workload {ref!r} has logs in {self._home}", "start the server: ganglion up"
            )
        if len(found) > 1:
            shown = ", ".join(sorted(found, key=_number, reverse=True)[:5])
            raise Conflict(f"{ref!r} fits several workloads", f"write more of the id: {shown}")
        return found[0]

    def _gang(self, workload: str, index: int | None) -> str:
        """The gang of a number; else the first that runs, else the first."""
        known = [
            int(number)
            for gang, _, number in (each.rpartition("/") for each in self._gangs)
            if gang == workload
        ]
        if index is not None and index not in known:
            listed = ", ".join(map(str, known)) or "none"
            raise NotFound(f"{workload} has no logs of number {index}", f"it has logs of {listed}")
        gangs = [f"{workload}/{n}" for n in (known if index is None else [index])]
        if not gangs:
            raise NotFound(f"{workload} has no log", "it may not have started")
        return next((gang for gang in gangs if self._runs(gang)), gangs[0])

    def _runs(self, gang: str) -> bool:
        found = attempts(self._home, gang)
        return bool(found) and is_held(run_dir(self._home, gang, found[-1]))


def _number(workload: str) -> int:
    number = workload.rpartition("-")[2]
    return int(number) if number.isdecimal() else 0
