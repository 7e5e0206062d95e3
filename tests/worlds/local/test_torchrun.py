"""Workers of a real torchrun, preempted and gone on."""

import os
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.worlds.local.jobs import Jobs, until

import ganglion
from ganglion.model.causes import Cause, CauseKind
from ganglion.model.events import CheckpointCommitted, Outcome
from ganglion.model.plan import SavePoint
from ganglion.model.workload import Checkpoint

TORCH = "GANGLION_FRAMEWORKS_PYTHON"
"""Names a Python with PyTorch, which is too large to be installed for one test."""
TRAINER = """
import os, sys, time
from pathlib import Path
from ganglion import checkpoint

folder, rank = Path(os.environ["GANGLION_CHECKPOINT_DIR"]), int(os.environ["RANK"])
found = checkpoint.resume()
step = found.step if found else 0
print(f"rank {rank} of {os.environ['WORLD_SIZE']} begins at {step}", flush=True)
while step < 1_000:
    time.sleep(0.02)
    step += 1
    stop = checkpoint.should_stop()
    if rank == 0 and (stop or step == 20):
        (folder / str(step)).touch()
        checkpoint.committed(step, str(step))
    if stop:
        break
"""

pytestmark = pytest.mark.skipif(TORCH not in os.environ, reason=f"{TORCH} names no Python")


@pytest.mark.parametrize("name", ["SIGTERM", "SIGUSR1", "SIGURG"])
def test_workers_save_when_they_are_told_and_go_on_from_there(
    jobs: Jobs, tmp_path: Path, name: str
) -> None:
    script = tmp_path / "train.py"
    script.write_text(TRAINER)
    command = (os.environ[TORCH], "-m", "torch.distributed.run", str(script))
    env = {"PYTHONPATH": str(Path(ganglion.__file__).parents[1])}
    contract = Checkpoint(signal=name, grace_ms=25_000)
    start = jobs.start_of(command, pods=2, gpus=2, env=env, checkpoint=contract)
    jobs.execute(start)
    gang = start.gang.id
    until(lambda: saves(jobs), "it has saved")
    jobs.world.stop(gang, 1, Cause(CauseKind.PREEMPTED, gang="urgent-3"))
    end = jobs.end(gang)
    assert (end.outcome, end.killed) == (Outcome.PREEMPTED, False), jobs.log(gang)
    last = saves(jobs)[-1]
    assert last.step > 20
    assert end.at - last.at < contract.grace_ms

    jobs.facts = []
    again = jobs.start_of(command, attempt=2, pods=2, gpus=2, env=env, checkpoint=contract)
    jobs.execute(replace(again, resume=(SavePoint(last.at, last.step, last.path, 1),)))
    for rank in range(4):
        line = f"rank {rank} of 4 begins at {last.step}"
        until(lambda line=line: line in jobs.log(gang, 0, 2) + jobs.log(gang, 1, 2), line)


def saves(jobs: Jobs) -> list[CheckpointCommitted]:
    return [fact for fact in jobs.look() if isinstance(fact, CheckpointCommitted)]
