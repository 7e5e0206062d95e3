"""Memory packing: the node with the least free GPU memory that still holds the pod."""

import numpy as np

from ganglion.engine.plugins.protocols import Ints, Rows, Typical
from ganglion.model.resources import WHOLE, PodRequest


class MemoryScore:
    """Use the node with the least free GPU memory, and on it the device with the least.

    Model servers are bound by memory, and devices differ in it: a replica goes to the smallest
    device that holds it, beside others. For pods without GPUs host memory counts.
    """

    name = "memory"
    cacheable = True

    def score(self, pod: PodRequest, rows: Rows, typical: Typical, turn: int) -> Ints:
        """Return int64[R]: less the MiB free on the node x 1000 and the GiB free on the device."""
        del typical, turn
        if not pod.gpu.count:
            return -WHOLE * rows.memory_free
        sizes = np.zeros((len(rows.classes), rows.gpu_free.shape[1]), dtype=np.int64)
        for number, each in enumerate(rows.classes):
            sizes[number, : len(each.devices)] = [memory for _, memory, _, _ in each.devices]
        free = rows.gpu_free * sizes[rows.class_of] // WHOLE
        each_row = np.arange(len(rows.device))
        device: Ints = np.where(rows.device >= 0, free[each_row, rows.device] >> 10, 0)
        total: Ints = free.sum(axis=1)
        return -WHOLE * total - device
