"""A classifier small enough to train in seconds: one hidden layer, in numpy."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]

CLASSES, INPUTS = 10, 32
NOISE = 1.9
"""Spread of the points around their class; large enough that some cannot be distinguished."""


class ExampleBatch(NamedTuple):
    """Examples.

    Attributes:
        inputs: float64[N, INPUTS].
        labels: int64[N], 0..CLASSES - 1.
    """

    inputs: Floats
    labels: Labels


def examples(count: int, seed: int) -> ExampleBatch:
    """Return `count` examples; every seed draws others from the same ten clouds of points."""
    centres = np.random.default_rng(0).normal(0.0, 1.0, (CLASSES, INPUTS))
    chance = np.random.default_rng(seed + 1)
    labels = chance.integers(0, CLASSES, count)
    return ExampleBatch(centres[labels] + chance.normal(0.0, NOISE, (count, INPUTS)), labels)


class Classifier:
    """A network of one hidden layer whose weights are one flat vector.

    Args:
        hidden: units of the hidden layer.
        seed: of the weights it starts with.
    """

    def __init__(self, hidden: int, seed: int = 0) -> None:
        self.hidden = hidden
        chance = np.random.default_rng(seed)
        first = chance.normal(0.0, INPUTS**-0.5, (INPUTS + 1, hidden))
        second = chance.normal(0.0, hidden**-0.5, (hidden + 1, CLASSES))
        self.weights: Floats = np.concatenate([first.ravel(), second.ravel()])

    def probabilities(self, inputs: Floats) -> Floats:
        """Return float64[N, CLASSES] for float64[N, INPUTS]; rows sum to 1."""
        return self._forward(inputs)[1]

    def gradient(self, batch: ExampleBatch) -> tuple[float, Floats]:
        """Return the mean cross-entropy of a batch and its gradient, shaped like `weights`."""
        active, chances = self._forward(batch.inputs)
        count = len(batch.labels)
        rows = np.arange(count)
        loss = float(-np.log(chances[rows, batch.labels] + 1e-12).mean())
        error = chances.copy()
        error[rows, batch.labels] -= 1.0
        error /= count
        _, second = self._layers()
        behind = (error @ second[:-1].T) * (active > 0.0)
        parts = [_with_bias(batch.inputs).T @ behind, _with_bias(active).T @ error]
        return loss, np.concatenate([part.ravel() for part in parts])

    def accuracy(self, batch: ExampleBatch) -> float:
        """Return the part of a batch that is classified rightly, 0..1."""
        guesses = self.probabilities(batch.inputs).argmax(axis=1)
        return float((guesses == batch.labels).mean())

    def _layers(self) -> tuple[Floats, Floats]:
        cut = (INPUTS + 1) * self.hidden
        first, second = self.weights[:cut], self.weights[cut:]
        return first.reshape(INPUTS + 1, self.hidden), second.reshape(self.hidden + 1, CLASSES)

    def _forward(self, inputs: Floats) -> tuple[Floats, Floats]:
        first, second = self._layers()
        active = np.maximum(_with_bias(inputs) @ first, 0.0)
        scores = _with_bias(active) @ second
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        return active, powers / powers.sum(axis=1, keepdims=True)


def _with_bias(inputs: Floats) -> Floats:
    return np.hstack([inputs, np.ones((len(inputs), 1))])
