"""What a server finds when it comes back: nothing runs twice, nothing is lost."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.worlds.local.jobs import NODES, Jobs, until

from ganglion.model.causes import Cause, CauseKind
from ganglion.model.errors import EnvironmentFault
from ganglion.model.events import GangEnded, GangStarted, Outcome
from ganglion.model.fleet.node import Device, Node
from ganglion.model.plan import Stop
from ganglion.model.workload import Checkpoint
from ganglion.worlds.local.attempts import tracked as attempts
from ganglion.worlds.local.attempts import watch
from ganglion.worlds.local.attempts.watch import TrackedAttempt
from ganglion.worlds.local.run_files import records
from ganglion.worlds.local.run_files.leftovers import kill_leftovers

COUNT = "echo begun >> marks; echo ready; i=0; while [ ! -e go ]; do sleep 0.02; done; echo done"


def supervisor(jobs: Jobs, gang: str) -> int:
    record = until(lambda: records.read(jobs.directory(gang) / records.START))
    return int(record["pid"])


def kill_supervisor(jobs: Jobs, gang: str) -> None:
    pid = supervisor(jobs, gang)
    os.kill(pid, signal.SIGKILL)
    until(lambda: not records.start_time(pid), "the supervisor is dead")


def runs(jobs: Jobs) -> int:
    marks = jobs.home / "marks"
    return len(marks.read_text().splitlines()) if marks.exists() else 0


def go(jobs: Jobs) -> None:
    (jobs.home / "go").write_text("")


def test_a_running_job_is_adopted_and_ends_once(jobs: Jobs) -> None:
    gang = jobs.run(COUNT)
    jobs.says(gang, "ready")
    found = jobs.restart(running={gang: 1})
    assert found.adopted == (gang,)
    go(jobs)
    assert jobs.end(gang).outcome is Outcome.SUCCEEDED
    assert [type(fact) for fact in jobs.look()] == [GangEnded]
    assert (runs(jobs), jobs.log(gang)) == (1, "ready\ndone\n")


def test_a_job_that_was_starting_reports_its_start_after_adoption(jobs: Jobs) -> None:
    gang = jobs.run(COUNT)
    until((jobs.directory(gang) / records.RUNNING).exists)
    jobs.restart(placed=jobs.starts)
    go(jobs)
    jobs.end(gang)
    assert [type(fact) for fact in jobs.look()] == [GangStarted, GangEnded]


def test_an_end_that_nobody_saw_is_reported_with_its_code_and_time(jobs: Jobs) -> None:
    gang = jobs.run("exit 5")
    ended = until(lambda: records.read(jobs.directory(gang) / records.EXIT))["at"]
    for believed in ({"running": {gang: 1}}, {"placed": jobs.starts}):
        jobs.restart(**believed)
        end = jobs.end(gang)
        assert (end.outcome, end.exit_code) == (Outcome.FAILED, 5)
        assert abs(end.at - ended) <= 20, "the world's clock and the supervisor's are read apart"
    assert jobs.restart().killed == ()


def test_an_order_that_a_dead_server_had_not_carried_out_is_carried_out(jobs: Jobs) -> None:
    start = jobs.start_of("true")
    found = jobs.restart(placed={start.gang.id: start})
    assert found.started == (start.gang.id,)
    assert jobs.end(start.gang.id).outcome is Outcome.SUCCEEDED


def test_a_death_between_writing_the_spec_and_starting_runs_the_job_once(
    jobs: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(TrackedAttempt, "begin", lambda self: None)
        gang = jobs.run("echo begun >> marks")
    assert jobs.restart(placed=jobs.starts).started == ()
    assert jobs.end(gang).outcome is Outcome.SUCCEEDED
    assert runs(jobs) == 1


def test_of_many_supervisors_one_works(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(TrackedAttempt, "begin", lambda self: None)
        gang = jobs.run("echo begun >> marks; sleep 0.2")
    argv = [sys.executable, "-m", "ganglion.worlds.local.supervisor", str(jobs.directory(gang))]
    crowd = [subprocess.Popen(argv) for _ in range(4)]
    assert jobs.end(gang).outcome is Outcome.SUCCEEDED
    assert [each.wait(30) for each in crowd] == [0, 0, 0, 0]
    assert subprocess.run(argv, check=False).returncode == 0  # comes much too late
    assert runs(jobs) == 1


@pytest.mark.parametrize("server", ["up", "down"])
def test_a_vanished_supervisor_is_a_failure_and_leaves_nothing_behind(
    jobs: Jobs, server: str
) -> None:
    gang = jobs.run("setsid sleep 60 & echo $!; sleep 60 & echo $!; echo ready; wait", procs=2)
    for rank in (0, 1):
        jobs.says(gang, "ready", rank)
    pids = [int(w) for r in (0, 1) for w in jobs.log(gang, r).split() if w.isdigit()]
    kill_supervisor(jobs, gang)
    if server == "down":
        jobs.restart(running={gang: 1})
    end = jobs.end(gang)
    assert (end.outcome, end.message) == (Outcome.FAILED, "its supervisor was killed from outside")
    assert len(pids) == 4
    assert not any(map(records.start_time, pids))
    jobs.restart(running={gang: 1})
    assert jobs.end(gang).outcome is Outcome.FAILED


@pytest.mark.parametrize("lost", [[], [records.START]])
def test_an_attempt_of_an_earlier_boot_is_a_lost_node_and_never_runs_again(
    jobs: Jobs, lost: list[str]
) -> None:
    """A loss of power takes the processes, and may take what was written last."""
    gang = jobs.run("echo begun >> marks; echo ready; sleep 60")
    jobs.says(gang, "ready")
    run = jobs.directory(gang)
    kill_supervisor(jobs, gang)
    until(lambda: kill_leftovers(run))
    records.write(run / records.SPEC, (records.read(run / records.SPEC) or {}) | {"boot": "old"})
    for name in lost:
        (run / name).unlink()
    jobs.restart(placed=jobs.starts)
    end = jobs.end(gang)
    assert (end.outcome, end.message) == (Outcome.NODE_LOST, "the machine was restarted")
    assert runs(jobs) == 1


def test_a_supervisor_told_to_end_stops_its_job_in_order(jobs: Jobs) -> None:
    gang = jobs.run("trap 'echo saved; exit 0' TERM; echo ready; while :; do sleep 0.05; done")
    jobs.says(gang, "ready")
    os.kill(supervisor(jobs, gang), signal.SIGTERM)
    assert jobs.end(gang).outcome is Outcome.NODE_LOST
    assert "saved" in jobs.log(gang)


def test_a_supervisor_that_cannot_start_is_given_up(
    jobs: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "_PACKAGES", "/nowhere")
    end = jobs.end(jobs.run("true"))
    assert end.outcome is Outcome.START_FAILED
    assert end.message.startswith("its supervisor did not start: ")
    assert "ganglion" in end.message


def test_what_the_ledger_does_not_know_is_killed_before_anything_starts(jobs: Jobs) -> None:
    gang = jobs.run("trap '' TERM; echo $$; echo ready; while :; do sleep 0.05; done")
    jobs.says(gang, "ready")
    pid = int(jobs.log(gang).split()[0])
    assert jobs.restart().killed == (gang,)
    assert not records.start_time(pid)
    assert jobs.look() == []


def test_an_unknown_attempt_without_supervisor_never_starts(
    jobs: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(TrackedAttempt, "begin", lambda self: None)
        gang = jobs.run("echo begun >> marks")
    assert jobs.restart().killed == (gang,)
    assert runs(jobs) == 0


def test_processes_that_cannot_be_killed_keep_the_server_from_starting(
    jobs: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    gang = jobs.run("echo ready; sleep 60")
    jobs.says(gang, "ready")
    with monkeypatch.context() as patch:
        patch.setattr(attempts, "ORPHANS_S", 0.1)
        patch.setattr(TrackedAttempt, "stop", lambda *args, **given: None)
        with pytest.raises(EnvironmentFault, match="cannot be killed"):
            jobs.restart()
    jobs.restart(running={gang: 1})


def test_a_stop_that_a_dead_server_had_not_carried_out_is_carried_out(jobs: Jobs) -> None:
    gang = jobs.run("echo ready; sleep 60")
    jobs.says(gang, "ready")
    jobs.restart(stopping={gang: Stop(gang, 1, Cause(CauseKind.CANCELLED, user="ada"))})
    assert jobs.end(gang).outcome is Outcome.CANCELLED
    assert [type(fact) for fact in jobs.look()] == [GangEnded]


def test_a_stop_of_what_was_never_started_ends_it_without_running(jobs: Jobs) -> None:
    start = jobs.start_of("echo begun >> marks")
    jobs.restart(stopping={start.gang.id: Stop(start.gang.id, 1, Cause(CauseKind.PREEMPTED))})
    assert jobs.end(start.gang.id).outcome is Outcome.PREEMPTED
    assert runs(jobs) == 0


def test_a_running_job_without_a_trace_is_a_lost_node(jobs: Jobs) -> None:
    found = jobs.restart(running={"gone-1/0": 4})
    end = jobs.end("gone-1/0")
    assert (found.lost, end.attempt, end.outcome) == (("gone-1/0",), 4, Outcome.NODE_LOST)


def test_a_job_whose_devices_are_others_now_is_stopped(jobs: Jobs) -> None:
    stays = jobs.run("echo ready; sleep 60", name="stays", gpus=2)
    moves = jobs.run("echo ready; sleep 60", name="moves", gpus=2, pods=2)
    jobs.says(moves, "ready", 1)
    jobs.says(stays, "ready")
    jobs.nodes = tuple(Node(n.name, 64_000, 65_536, (Device("H100"),) * 3) for n in NODES)
    found = jobs.restart(running={moves: 1, stays: 1})
    assert found.moved == (moves,)
    assert jobs.end(moves).outcome is Outcome.NODE_LOST
    assert not jobs.ends(stays)


def test_a_pid_that_was_used_again_is_never_signalled(jobs: Jobs) -> None:
    gang = jobs.run("echo ready; sleep 60", checkpoint=Checkpoint(grace_ms=0))
    jobs.says(gang, "ready")
    run = jobs.directory(gang)
    innocent = subprocess.Popen(["sleep", "60"], start_new_session=True)
    try:
        start = records.read(run / records.START) or {}
        records.write(run / records.START, start | {"pid": innocent.pid})
        (run / records.PIDS).write_text(f"{innocent.pid} {start['start_time']}\n4711")
        jobs.world.stop(gang, 1, Cause(CauseKind.CANCELLED), force=True)
        assert jobs.end(gang).outcome is Outcome.CANCELLED
        until(lambda: kill_leftovers(run))
        assert innocent.poll() is None
    finally:
        innocent.kill()
        innocent.wait()


def test_a_recorded_group_is_killed_although_it_hides_its_environment(tmp_path: Path) -> None:
    hidden = subprocess.Popen(["sleep", "60"], env={}, start_new_session=True)
    (tmp_path / records.PIDS).write_text(f"{hidden.pid} {records.start_time(hidden.pid)}\n")
    assert kill_leftovers(tmp_path) is False
    assert hidden.wait(10) == -signal.SIGKILL
    assert kill_leftovers(tmp_path) is True


def test_a_record_cut_short_by_a_crash_counts_as_absent(tmp_path: Path) -> None:
    for text in ("", "{", "[1]"):
        (tmp_path / "exit.json").write_text(text)
        assert records.read(tmp_path / "exit.json") is None
    assert records.read(tmp_path / "exit.json" / "below") is None


@pytest.mark.parametrize("server", ["up", "down"])
def test_a_job_whose_run_directory_was_removed_ends_and_says_so(jobs: Jobs, server: str) -> None:
    gang = jobs.run("echo $$; echo ready; sleep 60")
    jobs.says(gang, "ready")
    pids = [supervisor(jobs, gang), int(jobs.log(gang).split()[0])]
    shutil.rmtree(jobs.directory(gang))
    if server == "up":
        end = jobs.end(gang)
        assert end.outcome is Outcome.FAILED
        assert end.message == f"its run directory {jobs.directory(gang)} was removed"
    else:
        os.kill(pids[1], signal.SIGKILL)
    until(lambda: not any(map(records.start_time, pids)), "nothing is left")
    jobs.restart()


def test_a_machine_that_refuses_is_asked_again(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    gang = jobs.run("echo ready; sleep 60")
    jobs.says(gang, "ready")
    kill_supervisor(jobs, gang)
    with monkeypatch.context() as patch:
        patch.setattr(watch, "LOOK_S", 0.0)
        patch.setattr(records, "write", refuse)
        until(lambda: jobs.ends(gang) == [] and jobs.world._attempts._troubles, "it is noticed")
        jobs.world.stop(gang, 1, Cause(CauseKind.CANCELLED))
    assert jobs.end(gang).outcome is Outcome.FAILED
    assert not jobs.world._attempts._troubles


def refuse(path: Path, record: records.Record, *, durable: bool = False) -> None:
    raise OSError(28, "No space left on device")
