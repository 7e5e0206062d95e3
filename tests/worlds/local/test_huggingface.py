"""The callback for Hugging Face's Trainer that the documentation shows."""

import os
import re
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.worlds.local.jobs import Jobs, until

import ganglion
from ganglion.model.causes import Cause, CauseKind
from ganglion.model.events import CheckpointCommitted, MetricReported, Outcome
from ganglion.model.plan import SavePoint
from ganglion.model.workload import Checkpoint

PYTHON = "GANGLION_FRAMEWORKS_PYTHON"
"""Names a Python with PyTorch and transformers, too large to be installed for one test."""
PAGE = Path(__file__).parents[3] / "docs" / "checkpoints.md"
PROGRAM = """
import os, sys, time
import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

class Slow(GPT2LMHeadModel):
    def forward(self, *args, **kwargs):
        time.sleep(0.02)
        return super().forward(*args, **kwargs)

model = Slow(GPT2Config(vocab_size=8, n_positions=8, n_embd=8, n_layer=1, n_head=1))
row = {"input_ids": torch.ones(8, dtype=torch.long), "labels": torch.ones(8, dtype=torch.long)}
data = [row] * 10_000
args = TrainingArguments(
    output_dir=os.environ["GANGLION_CHECKPOINT_DIR"], max_steps=int(sys.argv[1]), save_steps=10,
    logging_steps=5, per_device_train_batch_size=1, report_to=[], use_cpu=True,
    disable_tqdm=True, save_total_limit=1, remove_unused_columns=False,
)
"""


def blocks() -> list[str]:
    """The pieces of Python on the page that are about the Trainer."""
    found = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    return [block for block in found if "Trainer" in block]


@pytest.mark.skipif(PYTHON not in os.environ, reason=f"{PYTHON} names no Python")
def test_the_trainer_saves_when_it_is_told_and_goes_on_from_there(
    jobs: Jobs, tmp_path: Path
) -> None:
    callback, use = blocks()
    script = tmp_path / "train.py"
    script.write_text(f"{callback}\n{PROGRAM}\n{use}\nprint('at', trainer.state.global_step)")
    env = {"PYTHONPATH": str(Path(ganglion.__file__).parents[1]), "HF_HUB_OFFLINE": "1"}
    contract = Checkpoint(grace_ms=25_000)
    start = jobs.start_of((os.environ[PYTHON], str(script), "100000"), env=env, checkpoint=contract)
    jobs.execute(start)
    gang = start.gang.id
    until(lambda: saves(jobs) or jobs.ends(gang), "it has saved")
    jobs.world.stop(gang, 1, Cause(CauseKind.PREEMPTED, gang="urgent-3"))
    end = jobs.end(gang)
    assert (end.outcome, end.killed) == (Outcome.PREEMPTED, False), jobs.log(gang)
    assert {fact.name for fact in jobs.look() if isinstance(fact, MetricReported)} >= {"loss"}
    last = saves(jobs)[-1]
    assert Path(last.path).is_dir()

    steps = str(last.step + 20)
    again = jobs.start_of(
        (os.environ[PYTHON], str(script), steps), attempt=2, env=env, checkpoint=contract
    )
    jobs.facts = []
    jobs.execute(replace(again, resume=(SavePoint(last.at, last.step, last.path, 1),)))
    assert jobs.end(gang).outcome is Outcome.SUCCEEDED, jobs.log(gang, attempt=2)
    assert f"at {steps}" in jobs.log(gang, attempt=2)
    assert min(fact.step for fact in saves(jobs)) > last.step


def saves(jobs: Jobs) -> list[CheckpointCommitted]:
    return [fact for fact in jobs.look() if isinstance(fact, CheckpointCommitted)]
