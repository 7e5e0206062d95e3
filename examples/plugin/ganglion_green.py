"""A Score plugin: prefer nodes labelled `power=green`."""

import numpy as np

from ganglion.engine.plugins import Ints, Rows, Typical
from ganglion.model.resources import PodRequest


class GreenScore:
    """A thousand points for every way to place a pod that runs on green power."""

    name = "green"
    cacheable = True

    def score(self, pod: PodRequest, rows: Rows, typical: Typical, turn: int) -> Ints:
        """Return int64[R]: 1000 on green nodes, 0 elsewhere."""
        green = np.array([("power", "green") in each.labels for each in rows.classes], np.int64)
        return 1000 * green[rows.class_of]
