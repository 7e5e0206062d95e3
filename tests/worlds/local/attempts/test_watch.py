"""Supervisors that cannot be started, that hang, or that vanish between two looks."""

import errno
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.faults.clock import HandClock
from tests.faults.files import FaultyFiles
from tests.faults.plan import Nth
from tests.faults.processes import FaultyProcesses
from tests.worlds.local.jobs import Jobs, until

from ganglion.model.events import Outcome
from ganglion.seams.effects import SYSTEM
from ganglion.seams.processes import SYSTEM_PROCESSES
from ganglion.worlds.local.attempts.watch import END_S, TrackedAttempt, wake
from ganglion.worlds.local.machine import host
from ganglion.worlds.local.run_files import records
from ganglion.worlds.local.run_files.leftovers import MARK, kill_leftovers, processes_of

STAYS = "echo ready; sleep 600"


def on(jobs: Jobs, processes: FaultyProcesses) -> None:
    """Have the world of jobs watch them through these processes from now on."""
    jobs.restart(effects=SYSTEM._replace(processes=processes))


def test_a_machine_that_starts_no_process_is_named_and_stops_only_that_start(jobs: Jobs) -> None:
    on(jobs, FaultyProcesses(Nth(1, "spawn"), errno.EAGAIN))
    jobs.execute(jobs.start_of("true", name="first"), jobs.start_of("true", name="second"))
    first, second = jobs.end("first-1/0"), jobs.end("second-1/0")
    assert (first.outcome, second.outcome) == (Outcome.START_FAILED, Outcome.SUCCEEDED)
    assert first.message == f"cannot prepare the run: [Errno 11] {os.strerror(errno.EAGAIN)}"


def test_a_supervisor_that_is_never_started_again_is_given_up_with_the_reason(
    jobs: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(TrackedAttempt, "begin", lambda self: None)
        gang = jobs.run("true")
    processes = FaultyProcesses(Nth(1, "spawn", stays=True), errno.ENOMEM)
    jobs.restart(effects=SYSTEM._replace(processes=processes), placed=jobs.starts)
    end = jobs.end(gang)
    said = f"its supervisor did not start: [Errno 12] {os.strerror(errno.ENOMEM)}"
    assert (end.outcome, end.message) == (Outcome.START_FAILED, said)


def test_a_supervisor_that_hangs_at_its_end_holds_up_no_other_attempt(jobs: Jobs) -> None:
    plan = Nth(1, "collect", stays=True)
    processes, clock = FaultyProcesses(plan), HandClock()
    jobs.restart(effects=SYSTEM._replace(processes=processes, clock=clock))
    gangs = [jobs.run("true", name=name) for name in ("first", "second")]
    children = [watched._child for watched in jobs.world._attempts.live.values()]
    run = [jobs.directory(gang) for gang in gangs]
    until(lambda: all((each / records.EXIT).exists() for each in run), "both have written the end")
    began = clock.steady_s
    assert [jobs.end(gang).outcome for gang in gangs] == [Outcome.SUCCEEDED] * 2
    assert END_S <= clock.steady_s - began < 3 * END_S
    attempts = jobs.world._attempts
    assert len(attempts._ending) == 2
    attempts._ending[0]._processes = attempts._ending[1]._processes = SYSTEM_PROCESSES
    at = jobs.world.now()
    until(lambda: not attempts.look(at) and not attempts._ending, "both are collected")
    for child in children:
        with pytest.raises(ChildProcessError):
            os.waitpid(child, os.WNOHANG)


@pytest.mark.parametrize("number", [errno.ESRCH, errno.EPERM])
def test_an_order_to_a_supervisor_that_vanishes_is_kept_on_disk(jobs: Jobs, number: int) -> None:
    gang = jobs.run(STAYS)
    jobs.says(gang, "ready")
    on_disk = jobs.directory(gang) / records.STOP
    wake(jobs.directory(gang), FaultyProcesses(Nth(1, "signal_same", stays=True), number))
    processes = FaultyProcesses(Nth(1, "signal_same", stays=True), number)
    jobs.restart(effects=SYSTEM._replace(processes=processes), running={gang: 1})
    for watched in jobs.world._attempts.of(gang):
        watched.stop(Outcome.CANCELLED, "by a test", force=True)
    assert on_disk.exists()
    assert jobs.end(gang).outcome is Outcome.CANCELLED


Marked = Callable[[], "subprocess.Popen[bytes]"]


@pytest.fixture
def marked(tmp_path: Path) -> Iterator[Marked]:
    """Makes processes that belong to a run directory; none outlives the test."""
    made: list[subprocess.Popen[bytes]] = []

    def make() -> "subprocess.Popen[bytes]":
        made.append(subprocess.Popen(["/bin/sleep", "600"], env={MARK: str(tmp_path)}))
        return made[-1]

    yield make
    for each in made:
        each.kill()
        each.wait()


def test_another_process_that_got_the_id_meanwhile_is_not_signalled(marked: Marked) -> None:
    other = marked()
    SYSTEM_PROCESSES.signal_same(other.pid, signal.SIGKILL, lambda: False)
    with pytest.raises(subprocess.TimeoutExpired):
        other.wait(0.2)
    SYSTEM_PROCESSES.signal_same(other.pid, signal.SIGKILL, lambda: True)
    assert other.wait() == -signal.SIGKILL


@pytest.mark.parametrize("number", [errno.ESRCH, errno.EPERM])
def test_a_process_that_vanishes_or_may_not_be_killed_keeps_no_other_one(
    tmp_path: Path, marked: Marked, number: int
) -> None:
    both = {marked().pid, marked().pid}
    until(lambda: processes_of(tmp_path) == both, "both run")
    assert not kill_leftovers(tmp_path, FaultyProcesses(Nth(1, "signal"), number))
    until(lambda: len(processes_of(tmp_path)) == 1, "the other one is killed")
    assert not kill_leftovers(tmp_path)
    until(lambda: kill_leftovers(tmp_path), "none is left")


def test_a_process_that_ends_before_its_signal_is_no_error(tmp_path: Path, marked: Marked) -> None:
    one = marked()
    until(lambda: processes_of(tmp_path) == {one.pid}, "it runs")

    def ends(_pid: int) -> None:
        one.kill()
        one.wait()

    assert not kill_leftovers(tmp_path, FaultyProcesses(Nth(9), vanishes=ends))
    assert kill_leftovers(tmp_path)


def test_a_process_whose_entry_vanishes_while_all_are_listed_hides_no_other(
    tmp_path: Path, marked: Marked, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = marked().pid, marked().pid
    until(lambda: processes_of(tmp_path) == {one, two}, "both run")

    def without(number: int) -> None:
        files = FaultyFiles(Nth(1, "read", stays=True), number, among=f"/{one}/")
        monkeypatch.setattr(host, "files", files)

    for number in (errno.ENOENT, errno.ESRCH):
        without(number)
        assert processes_of(tmp_path) == {two}
    without(errno.EIO)  # what the machine does not say proves nothing
    with pytest.raises(OSError, match=f"/proc/{one}/"):
        kill_leftovers(tmp_path)
