"""Spread: the emptiest node first."""

import numpy as np

from ganglion.engine.plugins.protocols import Ints, Rows, Typical
from ganglion.engine.plugins.scores.bestfit import left_on_device
from ganglion.model.resources import WHOLE, PodRequest

PARTS = 1000
"""Parts of a node that are distinguished."""


class SpreadScore:
    """Use the node of which the largest part is free, and on it the emptiest device.

    The part is of its GPUs for pods that ask for any, of its CPU for the others.
    """

    name = "spread"
    cacheable = True

    def score(self, pod: PodRequest, rows: Rows, typical: Typical, turn: int) -> Ints:
        """Return int64[R]: thousandths free of the node x 1000, plus those left of the device."""
        del typical, turn
        if pod.gpu.count:
            sizes = [len(each.devices) * WHOLE for each in rows.classes]
            free = rows.gpu_free.sum(axis=1)
        else:
            sizes = [each.cpu_milli for each in rows.classes]
            free = rows.cpu_free
        total = np.maximum(np.array(sizes, dtype=np.int64)[rows.class_of], 1)
        part: Ints = free * PARTS // total
        return part * WHOLE + left_on_device(rows)
