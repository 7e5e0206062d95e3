"""Nodes that are lost, programs for which memory runs out."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.worlds.local.jobs import NODES, Jobs, python, until

from ganglion.model.events import AlarmSet, NodeAdded, NodeLost, Outcome
from ganglion.model.workload import Retry
from ganglion.worlds.local.machine.outages import bring_back, take_away
from ganglion.worlds.local.run_files.records import START, read, start_time


class RealJobs(Jobs):
    """The same world; its GPUs are real ones, as far as the world can see."""

    nodes = tuple(
        replace(
            node, devices=tuple(replace(each, uuid=f"GPU-{node.name}") for each in node.devices)
        )
        for node in NODES
    )


@pytest.fixture
def real(tmp_path: Path) -> Iterator[RealJobs]:
    made = RealJobs(tmp_path / "home")
    yield made
    made.stop_all()


def test_a_node_that_is_taken_away_is_lost_with_what_runs_there(jobs: Jobs) -> None:
    both = jobs.run("echo up; sleep 60", name="both", pods=2)
    other = jobs.run("echo up; sleep 60", name="other", pods=1)
    jobs.says(both, "up", rank=1)
    jobs.says(other, "up")

    take_away(jobs.home, "node-1")
    end = jobs.end(both)

    assert (end.outcome, end.message) == (Outcome.NODE_LOST, "lost node-1")
    assert [each.name for each in jobs.facts if isinstance(each, NodeLost)] == ["node-1"]
    assert not jobs.ends(other)

    bring_back(jobs.home, "node-1")
    (back,) = until(lambda: jobs.seen(NodeAdded), "the node is back")
    assert back.node == jobs.nodes[1]


def test_a_node_with_real_gpus_cannot_be_taken_away(real: RealJobs) -> None:
    gang = real.run("sleep 0.5", pods=2)
    take_away(real.home, "node-1")
    assert real.end(gang).outcome is Outcome.SUCCEEDED
    assert not [each for each in real.facts if isinstance(each, NodeLost)]


def test_a_program_for_which_memory_ran_out_is_told_so(jobs: Jobs) -> None:
    end = jobs.end(jobs.run("echo 'torch.OutOfMemoryError: CUDA out of memory.'; exit 1"))
    assert (end.outcome, end.cause, end.exit_code) == (Outcome.FAILED, "oom", 1)
    assert end.message.startswith("out of memory: the memory of a GPU did not suffice; rank 0")


def test_a_program_that_somebody_killed_is_not_said_to_have_run_out_of_memory(jobs: Jobs) -> None:
    end = jobs.end(jobs.run("kill -9 $$"))
    assert (end.outcome, end.cause, end.exit_code) == (Outcome.FAILED, "", 137)


def test_other_failures_have_no_cause(jobs: Jobs) -> None:
    assert jobs.end(jobs.run("exit 3")).cause == ""


DIES_ONCE = """
import os, pathlib, time
rank, home = os.environ["RANK"], pathlib.Path(os.environ["HOME_OF_TEST"])
print("began", rank, os.getpid(), flush=True)
mark = home / "died"
if rank == "1" and not mark.exists():
    mark.touch()
    os._exit(7)
while not (home / "enough").exists():
    time.sleep(0.02)
"""


def in_place(jobs: Jobs, limit: int, source: str = DIES_ONCE, **more: Any) -> str:
    """A gang of two pods whose program can take it that lost ranks are started again."""
    env = {"HOME_OF_TEST": str(jobs.home)}
    start = jobs.start_of(python(source), pods=2, env=env, **more)
    start = replace(start, gang=replace(start.gang, replace=True))
    retry = Retry(limit=limit, replace=True)
    workload = jobs.workloads[start.gang.workload]
    jobs.workloads[start.gang.workload] = replace(workload, retry=retry)
    jobs.starts[start.gang.id] = start
    jobs.execute(start)
    return start.gang.id


def test_only_the_rank_that_failed_is_started_again_beside_the_others(jobs: Jobs) -> None:
    gang = in_place(jobs, limit=2)
    until(lambda: jobs.look() is not None and jobs.log(gang, 1).count("began 1") == 2)
    (jobs.home / "enough").touch()
    end = jobs.end(gang)
    assert (end.outcome, end.attempt) == (Outcome.SUCCEEDED, 1)
    assert jobs.log(gang, 0).count("began 0") == 1
    (alarm,) = [each for each in jobs.facts if isinstance(each, AlarmSet)]
    assert (alarm.subject, alarm.alarm) == (gang, "ranks.replaced")
    assert "once; the last: rank 1 ended with exit code 7" in alarm.message


def test_in_place_too_a_gang_fails_once_its_retries_are_used_up(jobs: Jobs) -> None:
    gang = in_place(jobs, 2, 'import os; print("began", flush=True); os._exit(7)')
    end = jobs.end(gang)
    assert (end.outcome, end.exit_code) == (Outcome.FAILED, 7)
    begun = sum(jobs.log(gang, rank).count("began") for rank in (0, 1))
    assert 3 <= begun <= 4


ALL_DIE_ONCE = """
import os, pathlib, time
rank, home = os.environ["RANK"], pathlib.Path(os.environ["HOME_OF_TEST"])
print("began", rank, os.getpid(), flush=True)
mark = home / ("died" + rank)
if not mark.exists():
    while not (home / "die").exists():
        time.sleep(0.02)
    mark.touch()
    os._exit(7)
"""


def test_ranks_that_all_fail_in_one_moment_are_all_started_again(jobs: Jobs) -> None:
    gang = in_place(jobs, 2, ALL_DIE_ONCE)
    for rank in (0, 1):
        jobs.says(gang, f"began {rank}", rank)
    supervisor = read(jobs.directory(gang) / START)["pid"]
    os.kill(supervisor, signal.SIGSTOP)
    (jobs.home / "die").touch()
    for rank in (0, 1):
        pid = int(jobs.log(gang, rank).split()[2])
        until(lambda pid=pid: not start_time(pid), "the rank is dead")
    os.kill(supervisor, signal.SIGCONT)
    assert jobs.end(gang).outcome is Outcome.SUCCEEDED
    assert [jobs.log(gang, rank).count("began") for rank in (0, 1)] == [2, 2]


def test_without_retries_of_its_own_failures_nothing_is_started_again_in_place(jobs: Jobs) -> None:
    gang = in_place(jobs, limit=0)
    assert jobs.end(gang).outcome is Outcome.FAILED
    assert jobs.log(gang, 1).count("began") == 1
