"""Conditions as arrays, and the rows that Score plugins see."""

from collections.abc import Mapping, Sequence

import numpy as np

from ganglion.engine.plugins.protocols import Ints, NodeClass, Rows
from ganglion.engine.topology.node_state import NodeState
from ganglion.model.resources import PodRequest


class Columns:
    """One row per condition, by its number.

    Attributes:
        fixed: int64[N, 3]: class, CPU and memory free.
        gpu: int64[N, D]: thousandths free of each device that may be given out.
    """

    def __init__(self) -> None:
        self.fixed: Ints = np.zeros((64, 3), dtype=np.int64)
        self.gpu: Ints = np.zeros((64, 8), dtype=np.int64)

    def write(self, row: int, condition: NodeState) -> None:
        """Set the row of a condition."""
        width = max(self.gpu.shape[1], len(condition.gpu))
        if row >= len(self.gpu) or width > self.gpu.shape[1]:
            self.fixed = _grown(self.fixed, row, 3)
            self.gpu = _grown(self.gpu, row, width)
        self.fixed[row] = (condition.node_class, condition.cpu, condition.memory)
        self.gpu[row] = 0  # a condition that was forgotten may have had more devices
        self.gpu[row, : len(condition.gpu)] = condition.usable

    def rows(
        self,
        of: Ints,
        after: Ints,
        request: PodRequest,
        *,
        node: Ints,
        device: Ints,
        classes: Sequence[NodeClass],
        supply: Mapping[str, int],
    ) -> Rows:
        """The rows for conditions `of`, int64[R], whose devices are `after`, int64[R, D]."""
        fixed = self.fixed[of]
        cpu, memory = fixed[:, 1], fixed[:, 2]
        return Rows(
            classes,
            fixed[:, 0],
            node,
            cpu,
            memory,
            self.gpu[of],
            cpu - request.cpu_milli,
            memory - request.memory_mib,
            after,
            device,
            supply,
        )


def _grown(table: Ints, row: int, width: int) -> Ints:
    height = max(len(table), 2 * row, 64)
    larger = np.zeros((height, width), dtype=np.int64)
    larger[: table.shape[0], : table.shape[1]] = table
    return larger
