"""One trial of a sweep: trains a classifier with the parameters of its point.

Ganglion gives them as `GANGLION_PARAM_LR` and `GANGLION_PARAM_HIDDEN`. The last line is the
result as JSON.
"""

import json
import os
import sys
import time
from collections.abc import Mapping

import numpy as np

from ganglion.demo.model import Classifier, ExampleBatch, examples

STEPS = 200


def fit(rate: float, hidden: int, pace_s: float = 0.0) -> Classifier:
    """Return a classifier of this width, trained at this learning rate."""
    model, data = Classifier(hidden, seed=7), examples(1_024, seed=11)
    for step in range(STEPS):
        rows = (np.arange(64) + 64 * step) % len(data.labels)
        _, gradient = model.gradient(ExampleBatch(data.inputs[rows], data.labels[rows]))
        model.weights = model.weights - rate * gradient
        time.sleep(pace_s / STEPS)
    return model


def evaluate(rate: float, hidden: int, pace_s: float = 0.0) -> float:
    """Return the accuracy, 0..1, reached with this learning rate and width."""
    return fit(rate, hidden, pace_s).accuracy(examples(2_000, seed=13))


def main(env: Mapping[str, str] = os.environ) -> int:
    """Evaluate the point named by the environment and print the result."""
    rate, hidden = float(env["GANGLION_PARAM_LR"]), int(env["GANGLION_PARAM_HIDDEN"])
    accuracy = evaluate(rate, hidden, pace_s=float(env.get("DEMO_SECONDS", "0")))
    print(json.dumps({"lr": rate, "hidden": hidden, "accuracy": round(accuracy, 4)}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
