"""GPU packing: devices in use first, then nodes in use, then small nodes."""

import numpy as np

from ganglion.engine.plugins.protocols import Ints, Rows, Typical
from ganglion.model.resources import WHOLE, PodRequest

SHARED, USED_NODE, FREE_NODE = 100, 50, 33
"""Most that a way to place a pod can score, by what it opens."""


class PackingScore:
    """Open as few devices and nodes as can be.

    GpuPacking as in the FGD paper (Weng et al., USENIX ATC'23): on a device in use, 100 less one
    for every tenth of it that is free; on free devices of a node in use, 50 less one for each; on
    a free node, 33 less one for each of its devices. Pods without GPUs score 0 everywhere.
    """

    name = "packing"
    cacheable = True

    def score(self, pod: PodRequest, rows: Rows, typical: Typical, turn: int) -> Ints:
        """Return int64[R], 0 to 100."""
        del typical, turn
        free = rows.gpu_free
        if not pod.gpu.count:
            return np.zeros(len(free), dtype=np.int64)
        devices = np.array([len(each.devices) for each in rows.classes], dtype=np.int64)
        size = devices[rows.class_of]
        free_node = free.sum(axis=1) == WHOLE * size
        before = free[np.arange(len(free)), rows.device]
        opened: Ints = np.where(
            free_node,
            np.maximum(FREE_NODE - size, 0),
            np.maximum(USED_NODE - pod.gpu.count, FREE_NODE),
        )
        shares_used = (rows.device >= 0) & (before < WHOLE)
        return np.where(shares_used, SHARED - before // (WHOLE // 10), opened)
