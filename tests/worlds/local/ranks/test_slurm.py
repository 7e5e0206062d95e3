"""Programs that believe they run under Slurm."""

import os
from pathlib import Path
from typing import Any

import pytest
from tests.worlds.local.jobs import Jobs, until

from ganglion.model.causes import Cause, CauseKind
from ganglion.model.events import CheckpointCommitted, Outcome
from ganglion.model.workload import Checkpoint

SLURM = {"GANGLION_SLURM_ENV": "1"}
TRAP = (
    "trap 'echo saved; scontrol requeue $SLURM_JOB_ID; echo said $?' USR1; echo ready;"
    " while :; do sleep 0.05; done"
)
USR1 = Checkpoint(signal="SIGUSR1", grace_ms=60_000)
LIGHTNING = "GANGLION_FRAMEWORKS_PYTHON"
"""Names a Python with PyTorch Lightning, which is too large to be installed for one test."""


def test_who_saves_and_asks_to_be_requeued_is_ended_at_once_and_has_lost_nothing(
    jobs: Jobs,
) -> None:
    gang = jobs.run(TRAP, env=SLURM, checkpoint=USR1)
    jobs.says(gang, "ready")
    told = jobs.world.now()
    jobs.world.stop(gang, 1, Cause(CauseKind.PREEMPTED, gang="urgent-3"))
    end = jobs.end(gang)
    assert (end.outcome, end.killed) == (Outcome.PREEMPTED, False)
    assert end.at - told < 30_000
    (saved,) = [fact for fact in jobs.look() if isinstance(fact, CheckpointCommitted)]
    assert told - 1_000 <= saved.at <= end.at
    assert "saved" in jobs.log(gang)


@pytest.mark.parametrize(
    ("asks", "why"),
    [
        ("scontrol requeue $SLURM_JOB_ID", "not asked to leave"),
        ("echo cancelled > $GANGLION_STOP_FILE; scontrol requeue 1", "cancelled"),
        ("echo timed_out > $GANGLION_STOP_FILE; scontrol requeue 1", "timed_out"),
        ("scontrol show job 1", "scontrol show job 1: only requeue is known here"),
    ],
)
def test_what_cannot_be_done_is_said_and_the_job_goes_on(jobs: Jobs, asks: str, why: str) -> None:
    gang = jobs.run(f"{asks}; echo said $?", env=SLURM)
    assert jobs.end(gang).outcome is Outcome.SUCCEEDED
    assert why in jobs.log(gang)
    assert "said 1" in jobs.log(gang)


def test_the_path_of_the_workload_goes_on_behind_the_command(jobs: Jobs) -> None:
    gang = jobs.run("echo $PATH", env=SLURM | {"PATH": "/opt/mine:/usr/bin:/bin"})
    jobs.end(gang)
    assert jobs.log(gang) == f"{jobs.directory(gang)}/bin:/opt/mine:/usr/bin:/bin\n"


def test_without_slurm_there_is_no_such_command(jobs: Jobs) -> None:
    gang = jobs.run("echo $PATH; ls $GANGLION_RUN_DIR")
    jobs.end(gang)
    assert jobs.log(gang).startswith("/usr/bin:/bin\n")
    assert "bin\n" not in jobs.log(gang).removeprefix("/usr/bin:/bin\n")


@pytest.mark.parametrize("name", ["bash", "interactive"])
def test_a_job_is_not_called_as_interactive_ones_are(jobs: Jobs, name: str) -> None:
    gang = jobs.run("echo $SLURM_JOB_NAME", name=name, env=SLURM)
    jobs.end(gang)
    assert jobs.log(gang) == f"{name}-job\n"


@pytest.mark.skipif(LIGHTNING not in os.environ, reason=f"{LIGHTNING} names no Python")
@pytest.mark.parametrize("tasks", [1, 2])
def test_lightning_saves_when_it_is_preempted_and_goes_on_from_there(
    jobs: Jobs, tmp_path: Path, tasks: int
) -> None:
    script, steps = Path(__file__).with_name("lightning_job.py"), 60
    given: dict[str, Any] = {
        "env": SLURM | {"CUDA_VISIBLE_DEVICES": ""},
        "checkpoint": USR1,
        "procs": tasks,
        "name": "lightning",
    }
    command = (os.environ[LIGHTNING], str(script), str(tmp_path), str(steps), str(tasks))
    start = jobs.start_of(command, attempt=1, **given)
    jobs.execute(start)
    gang, marks = start.gang.id, tmp_path / "marks"
    until(lambda: jobs.look() is not None and marks.exists() and len(done(marks)) > 10 * tasks)
    jobs.world.stop(gang, 1, Cause(CauseKind.PREEMPTED, gang="urgent-3"))
    end = jobs.end(gang)
    assert (end.outcome, end.killed) == (Outcome.PREEMPTED, False)
    before = done(marks)
    (saved,) = tmp_path.glob("hpc_ckpt_*.ckpt")

    jobs.facts = []
    jobs.execute(jobs.start_of(command, attempt=2, **given))
    assert jobs.end(gang).outcome is Outcome.SUCCEEDED, jobs.log(gang, attempt=2)
    after = done(marks)[len(before) :]
    assert min(after) >= max(before) - 1, (saved, before, after)
    assert f"finished at {steps}" in jobs.log(gang, attempt=2)


def done(marks: Path) -> list[int]:
    """The steps that were done, of all ranks."""
    return [int(line.split()[1]) for line in marks.read_text().splitlines()]
