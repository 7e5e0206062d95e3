"""Jobs that do not leave when asked to."""

import pytest
from tests.worlds.local.jobs import Jobs

from ganglion.model.causes import Cause, CauseKind
from ganglion.model.events import Outcome
from ganglion.model.workload import Checkpoint

DEAF = "trap '' TERM; echo ready; while :; do sleep 0.05; done"
SAVES = "trap 'touch $GANGLION_RUN_DIR/leave' TERM; echo ready; while :; do sleep 0.05; done"


def test_who_ignores_the_signal_is_killed_when_the_grace_is_over_and_the_end_says_so(
    jobs: Jobs,
) -> None:
    gang = jobs.run(DEAF, checkpoint=Checkpoint(grace_ms=300))
    jobs.says(gang, "ready")
    told = jobs.world.now()
    jobs.world.stop(gang, 1, Cause(CauseKind.PREEMPTED, gang="urgent-3"))
    end = jobs.end(gang)
    assert (end.outcome, end.killed) == (Outcome.PREEMPTED, True)
    assert end.at >= told + 300
    assert end.message == (
        "preempted for urgent-3; killed, as it was still there after its grace of 0.3 s"
    )


def test_who_leaves_in_time_was_not_killed(jobs: Jobs) -> None:
    gang = jobs.run("echo ready; sleep 60", checkpoint=Checkpoint(grace_ms=20_000))
    jobs.says(gang, "ready")
    jobs.world.stop(gang, 1, Cause(CauseKind.PREEMPTED, gang="urgent-3"))
    end = jobs.end(gang)
    assert (end.killed, end.message) == (False, "preempted for urgent-3")


@pytest.mark.parametrize("grace_ms", [60_000])
def test_who_says_that_it_has_saved_is_not_waited_for(jobs: Jobs, grace_ms: int) -> None:
    gang = jobs.run(SAVES, checkpoint=Checkpoint(grace_ms=grace_ms))
    jobs.says(gang, "ready")
    told = jobs.world.now()
    jobs.world.stop(gang, 1, Cause(CauseKind.PREEMPTED, gang="urgent-3"))
    end = jobs.end(gang)
    assert (end.outcome, end.killed) == (Outcome.PREEMPTED, False)
    assert end.at < told + grace_ms // 2
