"""Best fit: the fullest node that has room."""

from ganglion.engine.plugins.protocols import Ints, Rows, Typical
from ganglion.model.resources import WHOLE, PodRequest

CPU_SCALE = 128_000
GPU_SCALE = 8_000
"""What counts as a node full of free CPU, or of free GPUs: the largest of the published cluster."""


def fit(rows: Rows) -> Ints:
    """How full the node is afterwards: 100 = nothing is left, half of it each for CPU and GPU.

    BestFit as in the FGD paper (Weng et al., USENIX ATC'23), rounded down. Below 0 where more is
    left than two nodes of the published size have.

    Returns:
        int64[R].
    """
    gpu_left = rows.gpu_after.sum(axis=1)
    left: Ints = rows.cpu_after + gpu_left * (CPU_SCALE // GPU_SCALE)
    return (2 * CPU_SCALE - left) // (2 * CPU_SCALE // 100)


class BestFitScore:
    """Leave as little as can be on the node, then as little as can be on the device."""

    name = "bestfit"
    cacheable = True

    def score(self, pod: PodRequest, rows: Rows, typical: Typical, turn: int) -> Ints:
        """Return int64[R]: published score x 1000, less the thousandths left on a shared device."""
        del pod, typical, turn
        return fit(rows) * WHOLE - left_on_device(rows)


def left_on_device(rows: Rows) -> Ints:
    """Thousandths left on the device that the pod would share; 0 where it shares none.

    Returns:
        int64[R].
    """
    left: Ints = rows.gpu_after[range(len(rows.device)), rows.device]
    left[rows.device < 0] = 0
    return left
