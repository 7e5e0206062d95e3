"""One attempt as the world sees it: started once, watched through its run records."""

import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import ganglion
from ganglion.lifecycle.failures.causes import NODE
from ganglion.lifecycle.failures.causes import SUPERVISOR as SUPERVISOR_LOST
from ganglion.lifecycle.reports.hearing import REPLACED, Activity
from ganglion.model.events import (
    AlarmSet,
    Event,
    GangEnded,
    GangStarted,
    Outcome,
    PodsLeft,
)
from ganglion.seams.effects import SYSTEM, Effects
from ganglion.seams.processes import SYSTEM_PROCESSES, Processes
from ganglion.worlds.local.attempts.helping import end_left
from ganglion.worlds.local.machine import host
from ganglion.worlds.local.run_files import records
from ganglion.worlds.local.run_files.paths import RUNS
from ganglion.worlds.local.run_files.records import Record
from ganglion.worlds.local.run_files.reports import ReportFiles
from ganglion.worlds.local.supervision.processes import last_line

LOOK_S = 1.0
"""How often an attempt without news is checked for a living supervisor."""
END_S, END_LOOK_S = 2.0, 0.002
"""How long a supervisor that has written the end may take to end, and how often that is looked at;
later it is collected beside."""
TRIES = 3
"""Most supervisors started for an attempt of which none came so far as to begin."""
SUPERVISOR = "ganglion.worlds.local.supervisor"
SUPERVISOR_LOG = "supervisor.log"
_PACKAGES = str(Path(ganglion.__file__).parents[1])


class TrackedAttempt:
    """A tracked attempt.

    Args:
        run: its run directory, in which `spec.json` exists.
        spec: the decoded spec.
        started: whether its start was reported before.
        effects: the steady clock says when to look again; processes.

    Attributes:
        pods: those of its last order to run.
    """

    def __init__(
        self, run: Path, spec: Record, *, started: bool = False, effects: Effects = SYSTEM
    ) -> None:
        self.run, self.spec, self._started = run, spec, started
        self._clock, self._processes = effects.clock, effects.processes
        self._child = self._tries = self._up = 0
        self._looked, self._refusal = 0.0, ""
        self._order: Record | None = None
        resize = records.read(run / records.RESIZE)
        self.pods: list[Record] = resize["pods"] if resize else spec["pods"]
        self._resized, self._left = resize["seq"] if resize else 0, 0
        self._undelivered: Record | None = None
        self._replaced = 0
        self._reports = ReportFiles(run, spec, effects.clock)
        self._facts: list[Event] = []

    def begin(self) -> None:
        """Start its supervisor now; `look` does so too, wherever it finds that none came to work.

        Raises:
            OSError: the machine cannot start another process.
        """
        self._spawn()

    def stop(self, outcome: Outcome, message: str, *, force: bool) -> None:
        """Order the attempt to stop; harmless when repeated or too late."""
        self._order = {"outcome": outcome.value, "message": message, "force": force}
        self._deliver()

    def resize(self, pods: list[Record]) -> None:
        """Order the attempt to run on these pods; on a full disk it is tried again."""
        self._resized += 1
        self.pods, self._undelivered = pods, {"seq": self._resized, "pods": pods}
        self._hand_over()

    def limit(self, time_limit_ms: int) -> None:
        """Change its time limit.

        Raises:
            OSError: the run directory cannot be written.
        """
        records.write(self.run / records.LIMIT, {"time_limit_ms": time_limit_ms})
        wake(self.run, self._processes)

    def look(self, now: int, up: int | None = None) -> list[Event]:
        """What happened since the last look; the last fact is a `GangEnded`.

        Args:
            now: the time in ms.
            up: the time since boot in ms at that moment; None = it is now.

        Raises:
            OSError: the machine does not say; what was found by then comes with the next look.
        """
        self._up = host.uptime_ms() if up is None else up
        if self._order:
            self._deliver()
        if self._undelivered:
            self._hand_over()
        end = records.read(self.run / records.EXIT) or self._missing()
        for fact in self._news(end, now):
            self._facts.append(fact)
        facts, self._facts = self._facts, []
        return facts

    def _news(self, end: Record | None, now: int) -> Iterator[Event]:
        """What happened, fact by fact: what is read after one may fail."""
        gang, attempt = self.spec["gang"], self.spec["attempt"]
        if not self._started and (running := records.read(self.run / records.RUNNING)):
            began = GangStarted(self._at(running, now), gang, attempt)
            self._started = True
            yield began
        if end:
            self._await_end()
            last = _ended(end, gang, attempt, self._at(end, now))
            yield from self._reports.look(self.pods, last.at, over=True)
            yield last
            return
        yield from self._reports.look(self.pods, now)
        yield from self._departures(now)
        yield from self._replacements(now)

    def _replacements(self, now: int) -> Iterator[Event]:
        """That pods were started again in place, each time once."""
        found = records.read(self.run / records.REPLACED)
        if found and found["count"] > self._replaced:
            times = "once" if found["count"] == 1 else f"{found['count']} times"
            message = f"ranks were started again in place {times}; the last: {found['message']}"
            alarm = AlarmSet(self._at(found, now), self.spec["gang"], REPLACED, message)
            self._replaced = found["count"]
            yield alarm

    @property
    def activity(self) -> Activity:
        """Whether its programs work, by their own reports."""
        return self._reports.activity

    def _departures(self, now: int) -> Iterator[Event]:
        """That all pods are gone which any order so far left out, once."""
        if self._left == self._resized or self._undelivered:
            return
        left = records.read(self.run / records.LEFT)
        if left and left["seq"] == self._resized:
            fact = PodsLeft(self._at(left, now), self.spec["gang"], self.spec["attempt"])
            self._left = self._resized
            yield fact

    def _at(self, record: Record, now: int) -> int:
        """When something was recorded, by the clock that says `now`."""
        return records.moment(record, now, self._up, self.spec["boot"])

    def _has(self, name: str) -> bool:
        return host.exists(self.run / name)

    def _deliver(self) -> None:
        """Write the order; on a full disk it is tried again at the next look."""
        with contextlib.suppress(OSError):
            records.write(self.run / records.STOP, self._order or {})
            self._order = None
        wake(self.run, self._processes)

    def _hand_over(self) -> None:
        with contextlib.suppress(OSError):
            records.write(self.run / records.RESIZE, self._undelivered or {})
            self._undelivered = None
        wake(self.run, self._processes)

    def _spawn(self) -> None:
        """Start a supervisor; when two are started, the lock lets one of them work."""
        self._tries += 1
        argv = [sys.executable, "-S", "-P", "-m", SUPERVISOR, str(self.run)]
        env = {"PYTHONPATH": _PACKAGES, "PYTHONUTF8": "1"}
        env |= {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}
        log = str(self.run / SUPERVISOR_LOG)
        try:
            self._child = self._processes.spawn(argv, env, log)
        except OSError as error:
            self._refusal = f": {error}"
            raise

    def _missing(self) -> Record | None:
        """The end of an attempt whose supervisor is gone; None while there is one."""
        gone = bool(self._child) and self.collected()
        if not gone and self._clock.monotonic() - self._looked < LOOK_S:
            return None
        self._looked = self._clock.monotonic()
        if not host.exists(self.run):
            # Without the folder above it the disk may be away, which says nothing about the job.
            return self._removed() if host.exists(_runs_above(self.run)) else None
        if records.is_held(self.run) or (self._child and not gone):
            return None
        lock = records.RunLock(self.run / records.LOCK)
        try:
            return self._settle() if lock.take() else None
        finally:
            lock.close()

    def _removed(self) -> Record | None:
        """No process gets orders any more, so the ranks end; their supervisor follows."""
        if not end_left(self.run, self.spec, self._processes):
            self._looked = 0.0
            return None
        message = f"its run directory {self.run} was removed"
        return _record(Outcome.FAILED, message)

    def _settle(self) -> Record | None:
        """With the lock held, so that no supervisor begins meanwhile."""
        end = records.read(self.run / records.EXIT)
        if end:
            return end
        boot = records.boot_id()
        if self.spec["boot"] and boot and self.spec["boot"] != boot:
            return self._end(Outcome.NODE_LOST, "the machine was restarted")
        if self._has(records.START):
            if end_left(self.run, self.spec, self._processes):
                return self._end(
                    Outcome.FAILED, "its supervisor was killed from outside", SUPERVISOR_LOST
                )
            self._looked = 0.0  # look again at the next call, not after a while
            return None
        if self._tries >= TRIES:
            said = f"its supervisor did not start{self._refusal}"
            return self._end(Outcome.START_FAILED, said, NODE)
        self._spawn()
        return None

    def _end(self, outcome: Outcome, message: str, cause: str = "") -> Record:
        line = last_line(self.run / SUPERVISOR_LOG)
        message = f"{message}: {line}" if line else message
        end = _record(outcome, message) | {"cause": cause}
        records.write(self.run / records.EXIT, end, durable=True)
        return end

    def collected(self) -> bool:
        """Collect the supervisor if it is our child and has ended; False while it has not."""
        if self._child and self._processes.collect(self._child):
            self._child = 0
        return not self._child

    def _await_end(self) -> None:
        """Wait for a supervisor that has written the end: it ends itself, unless it hangs."""
        give_up = self._clock.monotonic() + END_S
        while not self.collected() and self._clock.monotonic() < give_up:
            self._clock.sleep(END_LOOK_S)


def _runs_above(run: Path) -> Path:
    """The folder of all runs, in this layout and in the older one."""
    return next(folder for folder in run.parents if folder.name == RUNS)


def wake(run: Path, processes: Processes = SYSTEM_PROCESSES) -> None:
    """Have the supervisor of a run directory look for orders now, if it lives."""
    start = records.read(run / records.START)
    if start:
        pid, started = start["pid"], start["start_time"]
        with contextlib.suppress(ProcessLookupError, PermissionError):
            processes.signal_same(pid, signal.SIGUSR1, lambda: records.start_time(pid) == started)


def _record(outcome: Outcome, message: str) -> Record:
    return {"outcome": outcome.value, "message": message, "exit_code": None} | records.stamp()


def _ended(end: Record, gang: str, attempt: int, at: int) -> GangEnded:
    return GangEnded(
        at,
        gang,
        attempt,
        Outcome(end["outcome"]),
        exit_code=end["exit_code"],
        message=end["message"],
        cause=end.get("cause", ""),
        killed=end.get("killed", False),
    )
