"""Whose pods count on which node, and until when they are expected to stay."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, repeat

from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.runtimes.estimates import Estimates
from ganglion.model.placement import PodPlacement
from ganglion.model.plan import Phase
from ganglion.model.policy import Future
from ganglion.model.workload import Gang

OVERDUE_MS = 10_000
"""A gang that is past its time limit is being stopped, and gone after this."""

_NOBODY: Mapping[str, Sequence[PodPlacement]] = {}


class Occupants:
    """Pods that count in the tree, by gang and by node; notified of every one that comes or goes.

    Attributes:
        records: gangs that hold pods.
        version: grows with every change.
    """

    def __init__(self) -> None:
        self.records: dict[str, GangRecord] = {}
        self.version = 0
        # A tentative seat may be equal to a pod that counts already: shares of one GPU, before
        # the pods get their numbers. So pods are counted.
        self._pods: dict[str, dict[PodPlacement, int]] = {}
        self._on: dict[str, dict[str, list[PodPlacement]]] = {}

    def join(self, record: GangRecord, pods: Sequence[PodPlacement]) -> None:
        """Count the pods of a gang."""
        self.version += 1
        gang = record.gang.id
        # A record made up to try out more pods of the gang must not take its place.
        self.records.setdefault(gang, record)
        held = self._pods.setdefault(gang, {})
        for pod in pods:
            held[pod] = held.get(pod, 0) + 1
            self._on.setdefault(pod.node, {}).setdefault(gang, []).append(pod)

    def part(self, record: GangRecord, pods: Sequence[PodPlacement]) -> None:
        """Pods of a gang count no more."""
        self.version += 1
        gang = record.gang.id
        held = self._pods[gang]
        for pod in pods:
            held[pod] -= 1
            if not held[pod]:
                del held[pod]
            here = self._on[pod.node]
            here[gang].remove(pod)
            if not here[gang]:
                del here[gang]
        if not held:
            del self._pods[gang], self.records[gang]

    def on(self, node: str) -> Mapping[str, Sequence[PodPlacement]]:
        """Pods on a node by gang."""
        return self._on.get(node, _NOBODY)

    def pods(self, gang: str) -> Iterable[PodPlacement]:
        """Pods of a gang that holds some."""
        return chain.from_iterable(repeat(*each) for each in self._pods[gang].items())

    def counted(self) -> Mapping[str, Mapping[PodPlacement, int]]:
        """How often each pod counts, by gang."""
        return self._pods


class RunningTimes:
    """When gangs end: by their time limit, which is kept, else by what is learnt or assumed.

    Args:
        estimates: learnt run times.
        policy: what is assumed where nothing is known.
    """

    def __init__(self, estimates: Estimates, policy: Future) -> None:
        self._estimates, self._assumed = estimates, policy.assumed_ms

    def length(self, gang: Gang) -> int:
        """The most that a gang runs, in ms."""
        if gang.time_limit_ms:
            return gang.time_limit_ms
        found = self._estimates.estimate(gang)
        return found.p90_ms if found.samples else self._assumed

    def end(self, record: GangRecord, now: int) -> int:
        """The latest time at which a gang that holds pods ends, after `now`."""
        gang = record.gang
        if record.phase is Phase.RESERVED:
            return now + self.length(gang)
        began = record.started or record.placed_at
        if gang.time_limit_ms:
            end = began + gang.time_limit_ms
            return end if end > now else now + OVERDUE_MS
        ran = max(now - began, 0)
        left = self._estimates.remaining(gang, ran)
        if left.samples:
            return now + left.p90_ms
        return max(began + self._assumed, now + max(ran, 1))
