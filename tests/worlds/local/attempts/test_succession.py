"""What one home runs ends before another home starts it."""

import errno
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.faults.files import FaultyFiles
from tests.faults.plan import Nth
from tests.worlds.local.jobs import NODES, Jobs, until

from ganglion.model.errors import EnvironmentFault
from ganglion.model.events import GangEnded, Outcome
from ganglion.model.executor import Executor, Term
from ganglion.model.workload import Checkpoint
from ganglion.worlds.local.attempts.succession import end_all
from ganglion.worlds.local.attempts.watch import TrackedAttempt
from ganglion.worlds.local.machine import host
from ganglion.worlds.local.run_files import fence, records
from ganglion.worlds.local.run_files.identity import identify
from ganglion.worlds.local.world import LocalWorld

HERE = Executor("a", "/a")
SAVES = "trap 'echo saved; exit 0' TERM; echo $$; echo ready; while :; do sleep 0.05; done"


def term(generation: int = 1, ledger: str = "L") -> Term:
    return Term(ledger, generation, HERE, 0)


class Terms(Jobs):
    """A world that executes generation 1 of ledger L."""

    def again(self, of: Term, *, inherits: bool = False, **believed: object) -> object:
        """Serve another term in the same home."""
        self.world.close()
        self.facts = []
        environ = {"PATH": "/usr/bin:/bin"}
        self.world = LocalWorld(self.home, NODES, environ=environ, term=of, inherits=inherits)
        return self.reconcile(**believed)


@pytest.fixture
def terms(tmp_path: Path) -> Iterator[Terms]:
    made = Terms(tmp_path / "home")
    made.again(term())
    yield made
    made.stop_all()


def pid_of(jobs: Jobs, gang: str) -> int:
    jobs.says(gang, "ready")
    return int(jobs.log(gang).split()[0])


def test_a_job_has_its_grace_and_is_gone_when_the_call_returns(terms: Terms) -> None:
    gang = terms.run(SAVES, procs=2)
    pids = [pid_of(terms, gang)]
    terms.says(gang, "ready", 1)
    pids.append(int(terms.log(gang, 1).split()[0]))
    found = end_all(terms.home, "L", 2)
    assert found.attempts == 1
    assert not any(map(records.start_time, pids))
    assert "saved" in terms.log(gang)
    assert "saved" in terms.log(gang, 1)
    end = terms.end(gang)
    assert (end.outcome, end.message) == (
        Outcome.NODE_LOST,
        "another home executes its ledger now",
    )


def test_a_job_that_ends_by_the_fence_alone_is_counted(
    terms: Terms, monkeypatch: pytest.MonkeyPatch
) -> None:
    gang = terms.run(SAVES)
    pid_of(terms, gang)
    run, raised = terms.directory(gang), fence.raise_to

    def raise_to(home: Path, ledger: str, generation: int) -> None:
        raised(home, ledger, generation)
        until(lambda: (run / records.EXIT).exists() and not records.is_held(run))

    monkeypatch.setattr(fence, "raise_to", raise_to)
    assert end_all(terms.home, "L", 2).attempts == 1


def test_a_job_that_stays_is_killed_when_its_grace_is_over(terms: Terms) -> None:
    stays = "trap '' TERM; echo $$; echo ready; while :; do sleep 0.05; done"
    gang = terms.run(stays, checkpoint=Checkpoint(grace_ms=300))
    pid = pid_of(terms, gang)
    end_all(terms.home, "L", 2)
    assert not records.start_time(pid)


def test_what_a_killed_supervisor_left_is_killed(terms: Terms) -> None:
    gang = terms.run(SAVES)
    pid = pid_of(terms, gang)
    start = records.read(terms.directory(gang) / records.START) or {}
    os.kill(start["pid"], signal.SIGKILL)
    until(lambda: not records.start_time(start["pid"]))
    assert end_all(terms.home, "L", 2).attempts == 1
    assert not records.start_time(pid)


def test_processes_of_a_home_that_was_removed_are_found_and_killed(terms: Terms) -> None:
    gang = terms.run(SAVES)
    pid = pid_of(terms, gang)
    away = terms.home.with_name("away")
    terms.home.rename(away)
    assert end_all(terms.home, "L", 2).attempts == 1
    assert not records.start_time(pid)
    away.rename(terms.home)


def test_the_fence_alone_stops_a_supervisor(terms: Terms) -> None:
    gang = terms.run(SAVES)
    pid = pid_of(terms, gang)
    fence.raise_to(terms.home, "L", 2)
    assert terms.end(gang).outcome is Outcome.NODE_LOST
    assert not records.start_time(pid)


def test_a_supervisor_that_comes_up_behind_the_fence_starts_nothing(
    terms: Terms, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(TrackedAttempt, "begin", lambda self: None)
        gang = terms.run("echo begun >> marks")
    assert end_all(terms.home, "L", 2).attempts == 0
    run = terms.directory(gang)
    argv = [sys.executable, "-m", "ganglion.worlds.local.supervisor", str(run)]
    assert subprocess.run(argv, check=False, timeout=30).returncode == 0
    assert not (terms.home / "marks").exists()
    assert not (run / records.START).exists()
    shutil.rmtree(run)


def test_other_ledgers_and_later_generations_run_on(terms: Terms) -> None:
    gang = terms.run(SAVES)
    pid = pid_of(terms, gang)
    assert end_all(terms.home, "other", 9).attempts == 0
    assert end_all(terms.home, "L", 1).attempts == 0
    assert records.start_time(pid)
    assert terms.ends(gang) == []


def test_a_home_that_may_not_be_looked_into_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "runs").mkdir()

    def refuse(path: str) -> list[str]:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(host.files, "names", refuse)
    with pytest.raises(EnvironmentFault, match=f"cannot look into {tmp_path}"):
        end_all(tmp_path, "L", 2)


def test_who_inherits_a_ledger_starts_none_of_its_attempts_again(terms: Terms) -> None:
    start = terms.start_of("echo begun >> marks")
    terms.again(term(2), inherits=True, placed={start.gang.id: start}, running={"job-9/0": 3})
    ends = [fact for fact in terms.look() if isinstance(fact, GangEnded)]
    assert [(end.gang, end.attempt, end.outcome) for end in ends] == [
        ("job-1/0", 1, Outcome.NODE_LOST),
        ("job-9/0", 3, Outcome.NODE_LOST),
    ]
    assert not (terms.home / "marks").exists()


def test_a_run_of_another_ledger_is_not_taken_for_one_of_the_same_name(terms: Terms) -> None:
    gang = terms.run("echo old; exit 5")
    assert terms.end(gang).exit_code == 5
    terms.again(term(ledger="other"))
    terms.execute(terms.start_of("echo new"))
    assert terms.end(gang).outcome is Outcome.SUCCEEDED
    assert terms.log(gang) == "new\n"


def test_a_run_of_another_ledger_that_still_goes_on_is_killed_first(terms: Terms) -> None:
    gang = terms.run(SAVES)
    pid = pid_of(terms, gang)
    terms.again(term(ledger="other"), placed={gang: terms.start_of("echo new")})
    assert not records.start_time(pid)
    assert terms.end(gang).outcome is Outcome.SUCCEEDED
    assert terms.log(gang) == "new\n"


def test_a_home_keeps_its_id_and_a_copy_has_its_own(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    first = identify(home)
    (tmp_path / "link").symlink_to(home)
    assert identify(home) == identify(tmp_path / "link") == first
    shutil.copytree(home, tmp_path / "copy")
    assert identify(tmp_path / "copy").home != first.home
    assert identify(home) == first
    moved = home.rename(tmp_path / "moved")
    assert (identify(moved).home, identify(moved).path) == (first.home, str(moved))


@pytest.mark.parametrize("call", ["unlink", "remove_tree"])
def test_what_cannot_be_removed_of_another_ledger_stops_only_the_start_that_has_its_name(
    terms: Terms, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    gang = terms.run(SAVES)
    pid_of(terms, gang)
    terms.again(term(ledger="M"))
    assert "ready" in terms.log(gang)
    run, plan = terms.directory(gang), Nth(1, call, stays=True)
    with monkeypatch.context() as patch:
        patch.setattr(host, "files", FaultyFiles(plan, errno.EACCES, among=str(run)))
        starts = [terms.start_of("true"), terms.start_of("true", name="other")]
        terms.execute(*starts)
        end, other = terms.end(gang), terms.end("other-1/0")
    assert (end.outcome, other.outcome) == (Outcome.START_FAILED, Outcome.SUCCEEDED)
    assert end.message.startswith("cannot prepare the run: [Errno 13] Permission denied: ")
    assert str(run) in end.message
    terms.again(term(ledger="M"))  # it is of another ledger still: nothing takes it for its own
    terms.run("echo mine", attempt=1)
    assert terms.end(gang).outcome is Outcome.SUCCEEDED
    assert terms.log(gang) == "mine\n"
