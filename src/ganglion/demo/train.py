"""Data-parallel training: every process learns from its own data, all share one model.

Started by Ganglion once per process; `RANK`, `WORLD_SIZE`, `MASTER_ADDR`, `MASTER_PORT` and
`GANGLION_CHECKPOINT_DIR` say the rest. What it has saved it reports. SIGTERM makes it save and
leave with exit code 143.
"""

import argparse
import hashlib
import os
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ganglion import checkpoint
from ganglion.demo.checkpoints import TrainingCheckpoint, load, save
from ganglion.demo.model import Classifier, ExampleBatch, Floats, examples
from ganglion.demo.ring import Ring

TERMINATED = 128 + signal.SIGTERM
LEARNING_RATE = 0.2
TEST_SEED = 999_983


class Training:
    """One rank of a training run.

    Args:
        ring: the other ranks.
        folder: where checkpoints go; None = nowhere.
        seed: of the data; equal on all ranks.
    """

    def __init__(self, ring: Ring, folder: Path | None, seed: int = 1) -> None:
        self.ring, self.folder = ring, folder
        self.model = Classifier(hidden=32, seed=seed)
        self.data = examples(512, seed=1_000 * seed + ring.rank)
        self.step = 0
        self.loss = float("nan")
        self.told_to_stop = False

    def resume(self) -> None:
        """Go on where rank 0 finds a checkpoint; the other ranks get its content sent."""
        saved = load(self.folder) if self.folder and self.ring.rank == 0 else None
        step = saved.step if saved else 0
        weights = saved.weights if saved else self.model.weights
        self.step = int(self.ring.broadcast(np.array([float(step)]))[0])
        self.model.weights = self.ring.broadcast(weights)

    def advance(self) -> bool:
        """Do one step on all ranks; return whether any rank was asked to stop."""
        loss, gradient = self.model.gradient(self._batch())
        told = float(self.told_to_stop)
        total = self.ring.all_reduce(np.concatenate([gradient, [loss, told]]))
        self.model.weights = self.model.weights - LEARNING_RATE * total[:-2] / self.ring.size
        self.loss = float(total[-2]) / self.ring.size
        self.step += 1
        return bool(total[-1] > 0)

    def save(self) -> None:
        """Write a checkpoint; rank 0 does so for all."""
        if self.folder and self.ring.rank == 0:
            path = save(self.folder, TrainingCheckpoint(self.step, self.model.weights))
            checkpoint.committed(self.step, path)

    def checksum(self) -> str:
        """Return eight hex digits that differ when a single bit of the weights does."""
        return hashlib.sha256(_bytes(self.model.weights)).hexdigest()[:8]

    def ranks_agree(self) -> bool:
        """Whether all ranks hold exactly the same weights."""
        sums = self.ring.all_gather(float(int(self.checksum(), 16)))
        return bool((sums == sums[0]).all())

    def _batch(self) -> ExampleBatch:
        rows = (np.arange(64) + 64 * self.step) % len(self.data.labels)
        return ExampleBatch(self.data.inputs[rows], self.data.labels[rows])


def run(training: Training, steps: int, every: int, pace_s: float) -> int:
    """Train to `steps`, saving after `every` ones; return the exit code."""
    training.resume()
    _say(training, f"starts at step {training.step} of {steps}, {training.ring.size} ranks")
    while training.step < steps:
        begun = time.monotonic()
        stop = training.advance()
        if stop or training.step % every == 0 or training.step == steps:
            training.save()
            _say(training, f"step {training.step} loss {training.loss:.3f}")
        if stop:
            _say(training, f"stopped on request and saved at step {training.step}")
            return TERMINATED
        # The time that a step of a real model would take on its GPU.
        time.sleep(max(0.0, pace_s - (time.monotonic() - begun)))
    return _finish(training)


def _finish(training: Training) -> int:
    agree = training.ranks_agree()
    accuracy = training.model.accuracy(examples(2_000, seed=TEST_SEED))
    print(f"finished: accuracy {accuracy:.3f} weights {training.checksum()}", flush=True)
    if not agree:
        print("the ranks do not hold the same weights", file=sys.stderr)
    return 0 if agree else 1


def _say(training: Training, text: str) -> None:
    if training.ring.rank == 0:
        print(text, flush=True)


def _bytes(weights: Floats) -> bytes:
    return weights.astype("<f8").tobytes()


def main(argv: Sequence[str] | None = None) -> int:
    """Parse the command line, join the ring and train; return the exit code."""
    parser = argparse.ArgumentParser(description="Data-parallel training on pretend GPUs.")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--every", type=int, default=20, help="steps between checkpoints")
    parser.add_argument("--pace", type=float, default=0.0, help="least seconds per step")
    args = parser.parse_args(argv)
    folder = os.environ.get("GANGLION_CHECKPOINT_DIR")
    with Ring.from_env() as ring:
        training = Training(ring, Path(folder) if folder else None)
        signal.signal(signal.SIGTERM, lambda *_: setattr(training, "told_to_stop", True))
        return run(training, args.steps, args.every, args.pace)


if __name__ == "__main__":
    sys.exit(main())
