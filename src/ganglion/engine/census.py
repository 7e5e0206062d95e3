"""The typical workload, learnt from what is submitted.

Fragmentation is measured against the pods that people ask for (Weng et al., USENIX ATC'23,
call it the target workload). It is learnt anew each time the number of pods seen has doubled,
so that scores change rarely and ever more rarely.
"""

from ganglion.engine.plugins import Typical
from ganglion.model.resources import PodRequest
from ganglion.model.workload import Gang

FIRST = 256
"""Pods to see before anything is learnt."""

KEPT = 64
"""Most distinct requests in the typical workload."""

COVERED_PCT = 95
"""Share of the pods that the typical workload covers."""

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
        found, covered = [], 0
        for request, count in self._ranked()[:KEPT]:
            if covered * 100 >= self._seen * COVERED_PCT:
                break
            covered += count
            found.append((request, count))
        return tuple(found)

    def _ranked(self) -> list[tuple[PodRequest, int]]:
        """The most frequent first; ties by the request itself, so that order never matters."""
        return sorted(self._counts.items(), key=lambda item: (-item[1], str(item[0])))
