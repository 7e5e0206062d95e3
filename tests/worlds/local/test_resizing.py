"""Elastic gangs with real processes: pods come and go while the others run."""

import os
import signal
from pathlib import Path

import pytest
from tests.worlds.local.jobs import Jobs, until

from ganglion.model.causes import Cause, CauseKind
from ganglion.model.events import GangEnded, GangStarted, Outcome, PodsLeft
from ganglion.model.plan import Stop
from ganglion.model.workload import Checkpoint
from ganglion.worlds.local.attempts.watch import TrackedAttempt
from ganglion.worlds.local.run_files import records

# Every rank tells where it sits, waits for a word to finish, and tells when it is asked to leave.
MEMBER = (
    "trap 'echo told; exit 0' TERM; echo begun $RANK >> begun; "
    "echo ready $RANK of $WORLD_SIZE on $GANGLION_NODE; "
    "while [ ! -e go ]; do sleep 0.02; done; echo done"
)
DEAF = "trap '' TERM; echo ready; while [ ! -e go ]; do sleep 0.05; done"


def lives(pid: int) -> bool:
    return records.start_time(pid) > 0


def pids(jobs: Jobs, gang: str, count: int) -> list[int]:
    """Of this number of processes, in the order in which they were started."""
    path = jobs.directory(gang) / records.PIDS
    until(lambda: path.read_text().count("\n") >= count, "they are written down")
    return [int(line.split()[0]) for line in path.read_text().splitlines()]


def begun(jobs: Jobs) -> list[str]:
    path = jobs.home / "begun"
    return sorted(path.read_text().split()[1::2]) if path.exists() else []


def go(jobs: Jobs) -> None:
    (jobs.home / "go").write_text("")


def left(jobs: Jobs, times: int = 1) -> None:
    """Wait until this number of departures has been reported."""
    until(lambda: len(jobs.seen(PodsLeft)) >= times, "the pods have left")
    assert len(jobs.seen(PodsLeft)) == times


def test_a_gang_grows_and_the_processes_that_run_do_not_notice(jobs: Jobs) -> None:
    gang = jobs.run(MEMBER, pods=2, most=4)
    for rank in (0, 1):
        jobs.says(gang, f"ready {rank} of 2", rank)
    jobs.resize(gang, 0, 1, 2, 3)
    jobs.says(gang, "ready 2 of 4 on node-0", 2)
    jobs.says(gang, "ready 3 of 4 on node-1", 3)
    go(jobs)
    assert jobs.end(gang).outcome is Outcome.SUCCEEDED
    assert begun(jobs) == ["0", "1", "2", "3"]
    assert "told" not in jobs.log(gang)
    assert [type(fact) for fact in jobs.facts if isinstance(fact, GangStarted | GangEnded)] == [
        GangStarted,
        GangEnded,
    ]


def test_a_gang_shrinks_and_says_when_the_dropped_pods_are_gone(jobs: Jobs) -> None:
    gang = jobs.run(MEMBER, pods=3, most=4)
    for rank in range(3):
        jobs.says(gang, "ready", rank)
    dropped = pids(jobs, gang, 3)[1]
    jobs.resize(gang, 0, 2)
    left(jobs)
    assert not lives(dropped)
    assert jobs.log(gang, 1).endswith("told\n")
    assert "told" not in jobs.log(gang, 0) + jobs.log(gang, 2)
    go(jobs)
    assert jobs.end(gang).outcome is Outcome.SUCCEEDED


def test_a_pod_that_comes_back_gets_the_rank_that_is_free(jobs: Jobs) -> None:
    gang = jobs.run(MEMBER, pods=3, most=4, procs=2)
    for rank in range(6):
        jobs.says(gang, "ready", rank)
    jobs.resize(gang, 0, 2)
    left(jobs)
    jobs.resize(gang, 0, 1, 2)
    until(lambda: begun(jobs).count("2") == 2, "rank 2 begins again")
    until(lambda: begun(jobs).count("3") == 2, "rank 3 begins again")
    assert [begun(jobs).count(str(rank)) for rank in (0, 1, 4, 5)] == [1, 1, 1, 1]
    hosts = (jobs.directory(gang) / records.HOSTFILE).read_text()
    assert hosts == "127.0.0.1 slots=2\n" * 3
    go(jobs)
    assert jobs.end(gang).outcome is Outcome.SUCCEEDED


def test_dropped_pods_that_ignore_their_signal_are_killed_after_the_grace(jobs: Jobs) -> None:
    gang = jobs.run(DEAF, pods=2, most=2, checkpoint=Checkpoint(grace_ms=300))
    for rank in (0, 1):
        jobs.says(gang, "ready", rank)
    jobs.resize(gang, 0)
    left(jobs)
    assert not jobs.ends(gang)
    go(jobs)
    assert jobs.end(gang).outcome is Outcome.SUCCEEDED


def test_what_has_left_its_group_leaves_with_its_pod(jobs: Jobs) -> None:
    daemon = "setsid sh -c 'echo $$ > daemon-$RANK; exec sleep 60' & "
    gang = jobs.run(daemon + MEMBER, pods=2, most=2, checkpoint=Checkpoint(grace_ms=2_000))
    files = [jobs.home / f"daemon-{rank}" for rank in (0, 1)]
    until(lambda: all(path.exists() and path.read_text() for path in files))
    for rank in (0, 1):
        jobs.says(gang, "ready", rank)
    stays, leaves = (int(path.read_text()) for path in files)
    jobs.resize(gang, 0)
    left(jobs)
    assert (lives(stays), lives(leaves)) == (True, False)


def test_the_failure_of_a_dropped_pod_is_no_failure_of_the_gang(jobs: Jobs) -> None:
    fails = MEMBER.replace("echo told; exit 0", "exit 9")
    gang = jobs.run(fails, pods=2, most=2)
    for rank in (0, 1):
        jobs.says(gang, "ready", rank)
    jobs.resize(gang, 0)
    left(jobs)
    go(jobs)
    assert jobs.end(gang).outcome is Outcome.SUCCEEDED


def test_the_failure_of_a_new_pod_is_one(jobs: Jobs) -> None:
    gang = jobs.run(f"test $RANK = 1 && exit 7; {MEMBER}", pods=1, most=2)
    jobs.says(gang, "ready")
    jobs.resize(gang, 0, 1)
    end = jobs.end(gang)
    assert (end.outcome, end.exit_code) == (Outcome.FAILED, 7)


def test_a_new_pod_runs_its_setup_first(jobs: Jobs) -> None:
    gang = jobs.run(MEMBER, pods=1, most=2, setup="echo setup $NODE_RANK")
    jobs.says(gang, "ready")
    jobs.resize(gang, 0, 1)
    jobs.says(gang, "ready 1 of 2", 1)
    assert jobs.log(gang, 1).startswith("setup 1\nready")
    assert jobs.log(gang, 0).count("setup") == 1
    go(jobs)
    assert jobs.end(gang).outcome is Outcome.SUCCEEDED


def test_pods_dropped_while_the_setups_run_never_run_a_rank(jobs: Jobs) -> None:
    waits = "touch setup-$NODE_RANK; while [ ! -e set ]; do sleep 0.02; done"
    gang = jobs.run(MEMBER, pods=2, most=3, setup=waits)
    until(lambda: all((jobs.home / f"setup-{number}").exists() for number in (0, 1)))
    jobs.resize(gang, 0, 2)
    left(jobs)
    (jobs.home / "set").touch()
    jobs.says(gang, "ready", 0)
    jobs.says(gang, "ready", 1)  # the new pod takes the number that became free
    assert (jobs.home / "setup-1").exists()
    go(jobs)
    assert jobs.end(gang).outcome is Outcome.SUCCEEDED
    assert begun(jobs) == ["0", "1"]


def test_repeating_an_order_starts_and_stops_nothing(jobs: Jobs) -> None:
    gang = jobs.run(MEMBER, pods=2, most=3)
    jobs.says(gang, "ready", 1)
    for _ in range(3):
        jobs.resize(gang, 0, 2)
        jobs.look()
    left(jobs)
    jobs.says(gang, "ready", 1)
    jobs.resize(gang, 0, 2)
    go(jobs)
    assert jobs.end(gang).outcome is Outcome.SUCCEEDED
    assert begun(jobs) == ["0", "1", "1"]
    assert len(jobs.seen(PodsLeft)) == 1


def test_a_stop_takes_pods_that_are_leaving_with_it(jobs: Jobs) -> None:
    gang = jobs.run(DEAF, pods=2, most=2, checkpoint=Checkpoint(grace_ms=3_600_000))
    for rank in (0, 1):
        jobs.says(gang, "ready", rank)
    both = pids(jobs, gang, 2)
    jobs.resize(gang, 0)
    jobs.world.stop(gang, 1, Cause(CauseKind.CANCELLED, user="ada"), force=True)
    assert jobs.end(gang).outcome is Outcome.CANCELLED
    assert not any(map(lives, both))


def test_orders_for_what_is_over_or_never_began_do_nothing(jobs: Jobs) -> None:
    gang = jobs.run("true", most=2)
    jobs.end(gang)
    jobs.resize(gang, 0, 1)
    assert not jobs.seen(PodsLeft)
    start = jobs.start_of(MEMBER, name="later", pods=2, most=2)
    jobs.resize(start.gang.id, 0)
    left(jobs)  # its pods were never there
    jobs.world.stop(start.gang.id, 1, Cause(CauseKind.CANCELLED))


def test_an_order_that_cannot_be_carried_out_ends_the_attempt(jobs: Jobs) -> None:
    gang = jobs.run(MEMBER, pods=1, most=2)
    jobs.says(gang, "ready")
    jobs.resize(gang, 0, 1, gpus=9)
    end = jobs.end(gang)
    assert end.outcome is Outcome.NODE_LOST
    assert "node node-0 has 4 devices, not 9" in end.message


# --- a server that dies ---------------------------------------------------------------------


def test_a_new_server_knows_what_was_resized(jobs: Jobs) -> None:
    gang = jobs.run(MEMBER, pods=2, most=3)
    jobs.says(gang, "ready", 1)
    first = jobs.resize(gang, 0, 2)
    left(jobs)
    jobs.restart(running={gang: 1}, resized={gang: first})
    jobs.resize(gang, 0, 1, 2)
    until(lambda: len(begun(jobs)) == 4, "the third pod begins")
    assert begun(jobs) == ["0", "1", "1", "2"]
    go(jobs)
    assert jobs.end(gang).outcome is Outcome.SUCCEEDED


def test_an_order_that_a_dead_server_had_not_given_is_given(jobs: Jobs) -> None:
    gang = jobs.run(DEAF, pods=2, most=2, checkpoint=Checkpoint(grace_ms=100))
    for rank in (0, 1):
        jobs.says(gang, "ready", rank)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TrackedAttempt, "resize", lambda self, pods: None)
        lost = jobs.resize(gang, 0)
    jobs.restart(running={gang: 1}, resized={gang: lost})
    left(jobs)
    assert [lives(pid) for pid in pids(jobs, gang, 2)] == [True, False]


def test_a_departure_that_nobody_saw_is_reported(jobs: Jobs) -> None:
    gang = jobs.run(MEMBER, pods=2, most=2)
    jobs.says(gang, "ready", 1)
    resize = jobs.resize(gang, 0)
    until((jobs.directory(gang) / records.LEFT).exists)
    jobs.restart(running={gang: 1}, resized={gang: resize})
    left(jobs)


def test_a_departure_is_not_reported_while_a_later_order_is_under_way(jobs: Jobs) -> None:
    gang = jobs.run(DEAF, pods=3, most=3, checkpoint=Checkpoint(grace_ms=800))
    for rank in range(3):
        jobs.says(gang, "ready", rank)
    jobs.resize(gang, 0, 1)
    until((jobs.directory(gang) / records.LEFT).exists)
    jobs.resize(gang, 0)
    assert not jobs.seen(PodsLeft)
    left(jobs)
    assert [lives(pid) for pid in pids(jobs, gang, 3)] == [True, False, False]


def test_a_start_that_was_resized_before_it_was_carried_out_has_the_last_pods(jobs: Jobs) -> None:
    start = jobs.start_of(MEMBER, pods=1, most=3)
    jobs.execute(start)
    resize = jobs.resize(start.gang.id, 0, 1)
    jobs.restart(placed={start.gang.id: start}, resized={start.gang.id: resize})
    jobs.says(start.gang.id, "ready", 1)
    jobs.execute(stops=(Stop(start.gang.id, 1, Cause(CauseKind.CANCELLED, user="ada")),))
    assert jobs.end(start.gang.id).outcome is Outcome.CANCELLED


def test_a_full_disk_delays_an_order_and_loses_none(
    jobs: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    gang = jobs.run(MEMBER, pods=2, most=2)
    jobs.says(gang, "ready", 1)
    with monkeypatch.context() as patch:
        patch.setattr(records, "write", refuse)
        jobs.resize(gang, 0)
        jobs.look()
    left(jobs)


def refuse(path: Path, record: records.Record, *, durable: bool = False) -> None:
    raise OSError(28, "No space left on device")


def test_a_vanished_supervisor_leaves_no_pod_that_came_later_behind(jobs: Jobs) -> None:
    gang = jobs.run(MEMBER, pods=1, most=2)
    jobs.says(gang, "ready")
    jobs.resize(gang, 0, 1)
    jobs.says(gang, "ready", 1)
    both = pids(jobs, gang, 2)
    start = records.read(jobs.directory(gang) / records.START) or {}
    os.kill(start["pid"], signal.SIGKILL)
    assert jobs.end(gang).outcome is Outcome.FAILED
    assert len(both) == 2
    assert not any(map(lives, both))
