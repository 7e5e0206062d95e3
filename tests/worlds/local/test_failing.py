"""Pretend nodes that are lost, programs for which memory runs out."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.worlds.local.jobs import NODES, Jobs, until

from ganglion.model.events import NodeAdded, NodeLost, Outcome
from ganglion.worlds.local.discover import PRETEND
from ganglion.worlds.local.outages import bring_back, take_away


class PretendJobs(Jobs):
    """The same world; its nodes are pretend ones."""

    nodes = tuple(replace(node, labels={PRETEND: "true"}) for node in NODES)


@pytest.fixture
def pretend(tmp_path: Path) -> Iterator[PretendJobs]:
    made = PretendJobs(tmp_path / "home")
    yield made
    made.stop_all()


def test_a_pretend_node_that_is_taken_away_is_lost_with_what_runs_there(
    pretend: PretendJobs,
) -> None:
    both = pretend.run("echo up; sleep 60", name="both", pods=2)
    other = pretend.run("echo up; sleep 60", name="other", pods=1)
    pretend.says(both, "up", rank=1)
    pretend.says(other, "up")

    take_away(pretend.home, "node-1")
    end = pretend.end(both)

    assert (end.outcome, end.message) == (Outcome.NODE_LOST, "lost node-1")
    assert [each.name for each in pretend.facts if isinstance(each, NodeLost)] == ["node-1"]
    assert not pretend.ends(other)

    bring_back(pretend.home, "node-1")
    (back,) = until(lambda: pretend.seen(NodeAdded), "the node is back")
    assert back.node == pretend.nodes[1]


def test_a_real_node_cannot_be_taken_away(jobs: Jobs) -> None:
    gang = jobs.run("sleep 0.5", pods=2)
    take_away(jobs.home, "node-1")
    assert jobs.end(gang).outcome is Outcome.SUCCEEDED
    assert not [each for each in jobs.facts if isinstance(each, NodeLost)]


def test_a_program_for_which_memory_ran_out_is_told_so(jobs: Jobs) -> None:
    end = jobs.end(jobs.run("echo 'torch.OutOfMemoryError: CUDA out of memory.'; exit 1"))
    assert (end.outcome, end.cause, end.exit_code) == (Outcome.FAILED, "oom", 1)
    assert end.message.startswith("out of memory: the memory of a GPU did not suffice; rank 0")


def test_a_program_that_somebody_killed_is_not_said_to_have_run_out_of_memory(jobs: Jobs) -> None:
    end = jobs.end(jobs.run("kill -9 $$"))
    assert (end.outcome, end.cause, end.exit_code) == (Outcome.FAILED, "", 137)


def test_other_failures_have_no_cause(jobs: Jobs) -> None:
    assert jobs.end(jobs.run("exit 3")).cause == ""
