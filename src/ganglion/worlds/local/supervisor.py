"""One small process per attempt that starts its ranks, watches them and records their end.

Run as `python -S -P -m ganglion.worlds.local.supervisor RUN_DIRECTORY`. It leads its own
session, so it outlives the server and the terminal; whatever happens to the server, the
exit record is written. It runs at most once per attempt: it holds the directory's lock for
life and gives way when a `start.json` shows that an earlier one had begun.

Only the standard library is imported, to start quickly and stay small.
"""

import contextlib
import os
import resource
import signal
import sys
import time
from pathlib import Path

from ganglion.lifecycle.failures.causes import NODE
from ganglion.lifecycle.failures.oom import ran_out, sentence
from ganglion.worlds.local.machine import host
from ganglion.worlds.local.run_files import records
from ganglion.worlds.local.run_files.fence import Fence
from ganglion.worlds.local.run_files.records import Record
from ganglion.worlds.local.run_files.resume import Missing, settle
from ganglion.worlds.local.run_files.withheld import SecretsGone, credentials_of, scrubbed
from ganglion.worlds.local.supervision.callers import SessionCallers
from ganglion.worlds.local.supervision.children import HELPER, adopt_orphans, children_of
from ganglion.worlds.local.supervision.hook import Hook
from ganglion.worlds.local.supervision.members import Members
from ganglion.worlds.local.supervision.processes import (
    Process,
    StartError,
    end_leftovers,
    last_line,
)
from ganglion.worlds.local.supervision.wakeups import Wakeups

POLL_S = 2.0
"""How often orders are looked for when no signal announces them."""
SETTLE_S = 0.05
"""How often a stopping group is looked at."""
PEER_GRACE_S = 10.0
"""Most grace for the other ranks once one has failed: they only wait for it in vain."""
LEFTOVER_GRACE_S = 2.0
"""Least time that processes which outlive every rank have to leave after SIGTERM."""
MARK_S = 20.0
"""How often the length of every log is noted, so that readers can ask for recent output."""

NEVER = float("inf")


class JobEnd:
    """How the attempt ends.

    Args:
        outcome: a value of `ganglion.model.events.Outcome`.
        message: one sentence for the user.
        code: exit code that the workload reports; None = there is none.
        grace_s: time between the signal and SIGKILL.
        cause: what the outcome does not say: `oom`, `node`.
    """

    def __init__(
        self, outcome: str, message: str, code: int | None, grace_s: float, cause: str = ""
    ) -> None:
        self.outcome, self.message, self.code, self.grace_s = outcome, message, code, grace_s
        self.cause = cause


class JobAttempt:
    """One attempt of a gang, from its spec to its end.

    Args:
        run: the run directory.
        spec: the decoded `spec.json`, as `launch.spec_of` wrote it.
        wakeups: signals to wait for.

    Attributes:
        killed: whether it was asked to stop and was still there when its grace was over.
        secrets: values that no message may contain.
    """

    def __init__(self, run: Path, spec: Record, wakeups: Wakeups) -> None:
        self.killed = False
        self._run, self._spec, self._wakeups = run, spec, wakeups
        self._children = children_of(spec.get(HELPER))
        self._members = Members(run, spec, self._children)
        self.secrets = _secrets_of(spec)
        self._hook, self._fence = Hook(spec, self._children), Fence(spec)
        self._callers = SessionCallers(run, self._members, spec, self._children)
        self._unsaid: JobEnd | None = None
        self._ranks_run = False
        self._limit_s: float = spec["time_limit_ms"] / 1000
        self._began = time.monotonic()
        self._marked = self._began
        self._first_failure: Process | None = None
        self._kills = host.memory_kills()
        self._running_since: Record = {}
        self._replaced = 0
        self._ending = False
        self._told_to_end = False
        self._kill_at = NEVER
        self._least_grace = 0.0

    def carry_out(self) -> JobEnd:
        """Run setups, then ranks; return when no process of the attempt is left."""
        try:
            self._members.resume(settle(self._run, self._spec))
            end = self._setups() or self._ranks()
        except Missing as error:
            end = JobEnd("failed", f"its checkpoints are missing: {error.message}", None, 0.0)
        except StartError as error:
            outcome = "start_failed" if error.passing else "failed"
            cause = NODE if error.passing and not error.is_helper else ""
            end = JobEnd(outcome, error.message, error.code, 0.0, cause)
            self._signal(signal.SIGKILL)
        except OSError as error:
            end = JobEnd("failed", f"its supervisor could not go on: {error}", None, 0.0)
            self._signal(signal.SIGKILL)
        self._callers.close()
        self._least_grace = time.monotonic() + LEFTOVER_GRACE_S
        present, wait = self._members.present, self._wakeups.wait
        end_leftovers(present, self._children, wait, self._leftovers_until)
        self._mark_sometimes()
        if self.killed and end.grace_s and end.outcome != "failed":
            end.message += f"; killed, as it was still there after its grace of {end.grace_s:g} s"
        return end

    def codes(self) -> dict[str, int]:
        """Exit code of every rank that ended."""
        return {str(p.rank): p.code for p in self._members.processes if p.code is not None}

    def _setups(self) -> JobEnd | None:
        self._members.begin_setups()
        end = self._watch()
        if end and end.outcome == "failed":
            end.outcome, end.message = "start_failed", f"setup failed: {end.message}"
        self._members.end_setups()
        return end

    def _ranks(self) -> JobEnd:
        early = self._order()
        if early:
            return early
        self._members.heed()
        self._members.fill()
        self._ranks_run = True
        self._running_since = records.stamp()
        self._say_running()
        return self._watch() or JobEnd("succeeded", "", 0, 0.0)

    def _watch(self) -> JobEnd | None:
        """Wait for all processes; None when each ended with 0 and no stop was asked for."""
        end: JobEnd | None = None
        while self._busy(stopping=end is not None):
            woken = self._callers.wait(self._wakeups, SETTLE_S if end else self._pause())
            self._told_to_end |= bool(woken & {signal.SIGTERM, signal.SIGINT})
            self._ending = end is not None
            self._say_running()
            self._reap()
            self._mark_sometimes()
            self._resize(end)
            self._after_hook()
            change = self._change(end)
            if change:
                self._kill_at = min(self._kill_at, time.monotonic() + change.grace_s)
                self._ask_to_stop(change, first=end is None)
                end = change
            if end:
                self._kill_when_due()
            else:
                self._kills = host.memory_kills()
        self._say_running()
        return self._with_code(end)

    def _say_running(self) -> None:
        """Record that all ranks run; on a full disk it is tried again."""
        if self._running_since:
            with contextlib.suppress(OSError):
                records.write(self._run / records.RUNNING, self._running_since)
                self._running_since = {}

    def _kill_when_due(self) -> None:
        """Kill what is left when the grace is over, or when the job says that it has saved."""
        late = time.monotonic() >= self._kill_at
        self.killed |= late and self._busy(stopping=True)
        if late or self._may_leave():
            self._signal(signal.SIGKILL)

    def _may_leave(self) -> bool:
        """Whether the job says that it need not be waited for."""
        with contextlib.suppress(OSError):  # it is looked for again
            return host.exists(records.exchange(self._run, self._spec) / records.LEAVE)
        return False

    def _resize(self, end: JobEnd | None) -> None:
        """Let pods come and go, unless the attempt is about to end anyway."""
        if end is None and not self._over():
            self._members.heed()
            if self._ranks_run:
                self._members.fill()
        self._members.tend(hurry=end is not None and time.monotonic() >= self._kill_at)

    def _over(self) -> bool:
        """Whether every rank ended and no pod is about to be started again."""
        awaited = self._ranks_run and not self._members.filled
        return not awaited and all(p.code is not None for p in self._members.processes)

    def _busy(self, *, stopping: bool) -> bool:
        """Whether to go on waiting: for the ranks, and once stopping for all they started."""
        if not stopping:
            return not self._over()
        return self._members.leaving or any(p.group_lives() for p in self._members.processes)

    def _change(self, end: JobEnd | None) -> JobEnd | None:
        """A reason to stop that was not known yet, orders before failures."""
        if end is None:
            finished = all(p.code == 0 for p in self._members.processes)
            return None if finished else self._order() or self._over_limit() or self._failed()
        order = self._order()
        if order and order.outcome == "cancelled" != end.outcome:
            return order
        if order and order.grace_s < end.grace_s:
            return JobEnd(end.outcome, end.message, end.code, order.grace_s)
        return None

    def _leftovers_until(self) -> float:
        """When leftovers are killed: those of a job being stopped have its whole grace."""
        order = self._order()
        if order and order.grace_s == 0:
            return 0.0
        kill_at = self._kill_at if self._kill_at < NEVER else 0.0
        return max(self._least_grace, kill_at, self._members.last_kill)

    def _order(self) -> JobEnd | None:
        grace_s = self._spec["grace_ms"] / 1000
        stop = records.glance(self._run / records.STOP)
        if stop:
            return JobEnd(stop["outcome"], stop["message"], None, 0.0 if stop["force"] else grace_s)
        if self._fence.closed:
            return JobEnd("node_lost", "another home executes its ledger now", None, grace_s)
        if self._told_to_end:
            return JobEnd("node_lost", "the machine ordered the attempt to end", None, grace_s)
        return None

    def _over_limit(self) -> JobEnd | None:
        changed = records.glance(self._run / records.LIMIT)
        if changed:
            self._limit_s = changed["time_limit_ms"] / 1000
        if not self._limit_s or time.monotonic() - self._began < self._limit_s:
            return None
        said = f"it ran longer than its time limit of {self._limit_s:g} s"
        return JobEnd("timed_out", said, None, self._spec["grace_ms"] / 1000)

    def _failed(self) -> JobEnd | None:
        return self._failure(self._first_failure) if self._first_failure else None

    def _failure(self, process: Process) -> JobEnd:
        grace_s = min(PEER_GRACE_S, self._spec["grace_ms"] / 1000)
        memory = ran_out(process.code, last_line(process.log), host.memory_kills() - self._kills)
        story = scrubbed(process.story(), self.secrets)
        said = f"{sentence(memory)}; {story}" if memory else story
        return JobEnd("failed", said, process.code, grace_s, "oom" if memory else "")

    def _ask_to_stop(self, end: JobEnd, *, first: bool) -> None:
        note = records.exchange(self._run, self._spec) / records.STOP_NOTE
        with contextlib.suppress(OSError):  # a full disk must not keep a job from being stopped
            host.publish(note, f"{end.outcome}\n{end.message}\n".encode())
        if first and end.grace_s and end.outcome != "failed" and self._hook.begin():
            self._unsaid = end
        elif first:
            self._ask(end)

    def _after_hook(self) -> None:
        """Ask the ranks to stop once what had to be saved before is saved."""
        if self._unsaid and not self._hook.running:
            self._ask(self._unsaid)
            self._unsaid = None

    def _ask(self, end: JobEnd) -> None:
        asked = signal.SIGTERM if end.outcome == "failed" else self._spec["signal"]
        self._signal(asked)
        self._signal(signal.SIGCONT)

    def _signal(self, number: int) -> None:
        for process in self._members.processes:
            process.signal(number)

    def _with_code(self, end: JobEnd | None) -> JobEnd | None:
        """An order to stop has no exit code of its own; the first rank's is reported."""
        if end and end.code is None:
            failed = self._first_failure
            end.code = failed.code if failed else 0 if self._members.processes else None
        return end

    def _reap(self) -> None:
        present = self._members.present
        ours = {process.pid: process for process in present}
        heard = set(self._members.processes)
        for pid, status in self._children.reap():
            self._hook.ended(pid, status)
            if process := ours.get(pid):
                process.ended(status)
                if process.code and process in heard and not self._replace(process):
                    self._first_failure = self._first_failure or process
        for process in present:
            process.group_lives()  # notices when its group's number becomes free

    def _replace(self, process: Process) -> bool:
        """Have the pod of a rank that failed started again beside the others, if it may be."""
        if self._ending or not self._ranks_run or self._replaced >= self._spec.get("again", 0):
            return False
        self._replaced += 1
        self._members.replace(process)
        message = scrubbed(process.story(), self.secrets)
        said = {"count": self._replaced, "message": message} | records.stamp()
        with contextlib.suppress(OSError):  # a full disk must not keep it from going on
            records.write(self._run / records.REPLACED, said)
        return True

    def _pause(self) -> float:
        poll = SETTLE_S if self._members.leaving else POLL_S
        rest = self._limit_s - (time.monotonic() - self._began) if self._limit_s else poll
        return max(0.0, min(poll, rest))

    def _mark_sometimes(self) -> None:
        if time.monotonic() - self._marked >= MARK_S:
            self._mark()

    def _mark(self) -> None:
        self._marked = time.monotonic()
        for process in self._members.present:
            process.mark()


def supervise(run: Path) -> None:
    """Run the attempt of this directory unless another supervisor does or did."""
    lock = records.RunLock(run / records.LOCK)
    if not lock.take(patience_s=1.0):
        return
    spec = records.read(run / records.SPEC)
    if spec is None or host.exists(run / records.START) or host.exists(run / records.EXIT):
        return
    if Fence(spec).closed:  # its writer checks the lock afterwards, so none slips through
        return
    _limit_files(spec.get("open_files", 0))
    wakeups = Wakeups()
    adopt_orphans()
    me = {"pid": os.getpid(), "start_time": records.start_time(os.getpid())}
    records.write(run / records.START, me | records.stamp())
    attempt = JobAttempt(run, spec, wakeups)
    end = attempt.carry_out()
    message = scrubbed(end.message, attempt.secrets)
    record = {"outcome": end.outcome, "exit_code": end.code, "message": message}
    record |= {"cause": end.cause}
    record |= {"killed": attempt.killed}
    _write_for_sure(run / records.EXIT, record | records.stamp() | {"codes": attempt.codes()})


def _secrets_of(spec: Record) -> list[str]:
    try:
        return [*credentials_of(spec).values()]
    except SecretsGone:
        return []  # the first process says so as it is started


def _limit_files(most: int) -> None:
    """Give ranks the soft limit of open files that the user had: the server has raised its own."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most and (hard == resource.RLIM_INFINITY or most <= hard):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def _write_for_sure(path: Path, record: Record) -> None:
    """Write the exit record, waiting as long as it takes for a full disk to be emptied.

    Gives up when the run directory was removed: then no server asks any more.
    """
    while not _is_removed(path.parent):
        try:
            records.write(path, record, durable=True)
        except OSError as error:
            print(f"cannot write {path}: {error}", file=sys.stderr, flush=True)  # noqa: T201 - own log
            time.sleep(1.0)
        else:
            return


def _is_removed(folder: Path) -> bool:
    """Whether a folder is gone; a file system that does not answer proves nothing."""
    with contextlib.suppress(OSError):
        return not host.exists(folder)
    return False


if __name__ == "__main__":
    with contextlib.suppress(OSError):  # it leads a group already: a shell with job control
        os.setsid()
    supervise(Path(sys.argv[1]))
