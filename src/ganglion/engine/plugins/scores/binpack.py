"""Bin packing: shared devices first, then the node with least free."""

import numpy as np

from ganglion.engine.plugins.protocols import Ints, Rows, Typical
from ganglion.engine.plugins.scores.bestfit import left_on_device
from ganglion.model.resources import WHOLE, PodRequest

BAND = 1 << 40
"""More than the free GPUs or cores of any node make up for."""


class BinpackScore:
    """Fill what is begun.

    A share of a device goes to one that is shared already, a pod without GPUs to a node
    without any; then the node with the fewest free GPUs (or the least free CPU) wins, and on
    it the fullest device.

    Source: the bands of KAI-Scheduler's default node order.
    """

    name = "binpack"
    cacheable = True

    def score(self, pod: PodRequest, rows: Rows, typical: Typical, turn: int) -> Ints:
        """Return int64[R]: a band, less thousandths free on the node x 1000 and on the device."""
        del typical, turn
        if pod.gpu.count:
            before = rows.gpu_free[np.arange(len(rows.device)), rows.device]
            begun: Ints = ((rows.device >= 0) & (before < WHOLE)).astype(np.int64)
            free: Ints = rows.gpu_free.sum(axis=1)
        else:
            bare = np.array([not each.devices for each in rows.classes], dtype=np.int64)
            begun, free = bare[rows.class_of], rows.cpu_free
        return begun * BAND - (free * WHOLE + left_on_device(rows))
