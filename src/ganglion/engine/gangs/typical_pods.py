"""The typical workload, learnt from what is submitted.

Fragmentation is measured against the pods that people ask for (Weng et al., USENIX ATC'23,
call it the target workload). It is learnt anew each time the number of pods seen has doubled,
so that scores change rarely and ever more rarely.
"""

from collections.abc import Iterable, Sequence

from ganglion.engine.plugins.protocols import Typical
from ganglion.model.resources import GpuRequest, PodRequest
from ganglion.model.workload import Gang

FIRST = 64
"""Pods to see before anything is learnt."""

KEPT = 64
"""Most distinct requests that the typical workload lists as they are, and most merged ones."""

COVERED_PCT = 95
"""Share of the pods that these requests cover."""

REMEMBERED = 4096
"""Distinct requests counted before the rarest are dropped."""


class Census:
    """Counts the requests of submitted pods."""

    def __init__(self) -> None:
        self._counts: dict[PodRequest, int] = {}
        self._seen = 0
        self._next = FIRST
        self._told = False

    def add(self, gang: Gang) -> None:
        """A gang was submitted."""
        counts = self._counts
        for each in gang.pod_sets:
            request = each.request
            counts[request] = counts.get(request, 0) + each.count
            self._seen += each.count
        if len(self._counts) > REMEMBERED:
            self._counts = dict(self._ranked()[: REMEMBERED // 2])

    def told(self, learnt: bool) -> None:
        """A typical workload was set: learnt here, or by decree, which ends the learning."""
        self._told = not learnt
        if learnt:
            self._next = 2 * self._seen

    def due(self) -> Typical | None:
        """The typical workload, when it is time to learn it anew."""
        if self._told or self._seen < self._next:
            return None
        ranked = self._ranked()
        covered = kept = 0
        for _, count in ranked[:KEPT]:
            if covered * 100 >= self._seen * COVERED_PCT:
                break
            covered += count
            kept += 1
        return (*ranked[:kept], *_merged(ranked[kept:]))

    def _ranked(self) -> list[tuple[PodRequest, int]]:
        return _by_count(self._counts.items())


def _merged(rare: Sequence[tuple[PodRequest, int]]) -> list[tuple[PodRequest, int]]:
    """One for all rare ones that name the same types and size, with their mean CPU and memory.

    Requests that name a device type are spread over many sizes: each is rare, and without them
    the price of the type (`scores/scarcity.py`) is too low. Others stay out, as published: means of
    CPU cost 0.6 points where pods ask for much of it.
    """
    sums: dict[GpuRequest, tuple[int, int, int]] = {}
    for request, count in rare:
        if request.gpu.count and request.gpu.types:
            cpu, memory, pods = sums.get(request.gpu, (0, 0, 0))
            cpu, memory = cpu + request.cpu_milli * count, memory + request.memory_mib * count
            sums[request.gpu] = (cpu, memory, pods + count)
    found = [
        (PodRequest(cpu_milli=cpu // pods, memory_mib=memory // pods, gpu=gpu), pods)
        for gpu, (cpu, memory, pods) in sums.items()
    ]
    return _by_count(found)[:KEPT]


def _by_count(requests: Iterable[tuple[PodRequest, int]]) -> list[tuple[PodRequest, int]]:
    """The most frequent first; ties by the request itself, so that order never matters."""
    return sorted(requests, key=lambda item: (-item[1], str(item[0])))
