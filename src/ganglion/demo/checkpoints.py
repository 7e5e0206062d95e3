"""Checkpoints that are either whole or absent, whenever the process dies."""

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

NAME = "checkpoint.npz"


class TrainingCheckpoint(NamedTuple):
    """What it takes to go on.

    Attributes:
        step: steps done.
        weights: the model's, float64[W].
    """

    step: int
    weights: NDArray[np.float64]


def save(folder: Path, checkpoint: TrainingCheckpoint) -> Path:
    """Write a checkpoint beside the old one, then put it in its place in one move."""
    folder.mkdir(parents=True, exist_ok=True)
    fresh = folder / f".{NAME}.{os.getpid()}"
    with fresh.open("wb") as file:
        np.savez(file, step=checkpoint.step, weights=checkpoint.weights)
        file.flush()
        os.fsync(file.fileno())
    return fresh.replace(folder / NAME)


def load(folder: Path) -> TrainingCheckpoint | None:
    """Return the last checkpoint saved to `folder`; None when there is none."""
    path = folder / NAME
    if not path.exists():
        return None
    with np.load(path) as saved:
        return TrainingCheckpoint(int(saved["step"]), saved["weights"])
