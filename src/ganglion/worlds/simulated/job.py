"""What a trace says of a job, and the gang that the engine gets for it."""

from collections.abc import Callable

from msgspec import Struct

from ganglion.model.events import Outcome
from ganglion.model.resources import GpuRequest, PodRequest
from ganglion.model.workload import Gang, PodSet


class SimJob(Struct, frozen=True):
    """One gang and what only the world knows of it.

    Attributes:
        gang: what is submitted, at `gang.submitted`.
        duration_ms: work it needs in ms of running; None = it runs until the run is over.
        outcome: how it ends once that work is done.
        cancelled_ms: when its user takes it back, unless it has ended before; 0 = never.
    """

    gang: Gang
    duration_ms: int | None
    outcome: Outcome = Outcome.SUCCEEDED
    cancelled_ms: int = 0


class Shapes:
    """Pod sets for a number of GPUs or CPUs, one shared object per distinct size.

    A job of up to one node's worth is one pod. A larger one is a gang of pods that fill whole
    nodes; what is left over is one smaller pod of the same gang, in the pod set `rest`. That
    is the consolidated placement of the published replays (Philly ATC'19, Muri SIGCOMM'22).

    Args:
        per_node: GPUs (or CPUs) of one node.
    """

    def __init__(self, per_node: int = 8) -> None:
        self.per_node = per_node
        self._known: dict[tuple[str, int, str], tuple[PodSet, ...]] = {}

    def gpus(self, count: int, types: str = "") -> tuple[PodSet, ...]:
        """Pod sets of a job of `count` GPUs; 0 GPUs is one pod of one CPU core.

        Args:
            count: whole GPUs of the job.
            types: allowed device types, separated by `|`; empty = any.
        """
        key = ("gpu", count, types)
        if key not in self._known:
            self._known[key] = self._split(count, lambda n: _gpu_pod(n, types))
        return self._known[key]

    def cpus(self, count: int) -> tuple[PodSet, ...]:
        """Pod sets of a job of `count` CPU cores without GPUs."""
        key = ("cpu", count, "")
        if key not in self._known:
            self._known[key] = self._split(count, lambda n: PodRequest(cpu_milli=n * 1000))
        return self._known[key]

    def _split(self, count: int, pod: Callable[[int], PodRequest]) -> tuple[PodSet, ...]:
        whole, rest = divmod(count, self.per_node)
        if whole == 0 or count == self.per_node:
            return (PodSet(request=pod(count)),)
        sets = (PodSet(count=whole, request=pod(self.per_node)),)
        return (*sets, PodSet(name="rest", request=pod(rest))) if rest else sets


def _gpu_pod(count: int, types: str) -> PodRequest:
    if not count:
        return PodRequest(cpu_milli=1000)
    return PodRequest(gpu=GpuRequest(count=count, types=tuple(types.split("|")) if types else ()))


def gpu_milli(gang: Gang) -> int:
    """Thousandths of GPUs that the whole gang asks for, with all its pods.

    A share given as device memory counts as whole devices, since its size depends on the device.
    """
    return sum(
        pods.count * pods.request.gpu.count * pods.request.gpu.milli for pods in gang.pod_sets
    )


def cpu_milli(gang: Gang) -> int:
    """Thousandths of CPU cores that the whole gang asks for, with all its pods."""
    return sum(pods.count * pods.request.cpu_milli for pods in gang.pod_sets)
