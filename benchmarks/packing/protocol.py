"""The packing protocol of FGD: what arrives in which order, and what is measured.

Weng et al., "Beware of Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation
Gradient Descent", USENIX ATC'23, and its simulator. Pods come one by one, never leave and get
one attempt each. See docs/benchmarks/pack-openb.md.
"""

from collections import Counter
from collections.abc import Sequence
from random import Random

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from ganglion.engine.plugins.protocols import Ints, Typical
from ganglion.model.fleet.node import Node
from ganglion.model.resources import WHOLE, PodRequest
from ganglion.model.workload import Gang

OVERLOAD_PCT = 130
"""Demand that arrives in the end, as a percentage of all GPUs."""

TYPICAL_PCT = 95
"""Per cent of the pods that the typical ones represent."""


def gpu_milli(request: PodRequest) -> int:
    """Thousandths of GPUs that a pod takes in all."""
    return request.gpu.count * request.gpu.milli


def capacity_milli(nodes: Sequence[Node]) -> int:
    """Thousandths of GPUs of all nodes."""
    return WHOLE * sum(len(node.devices) for node in nodes)


def arrivals(pods: Sequence[Gang], capacity: int, rng: Random) -> list[Gang]:
    """All pods in random order, made more or fewer until they ask for 130 % of the capacity.

    Pods are drawn with replacement while the demand plus the share that the candidate takes of one
    device (published so) stays within bounds; where there is too much, random pods are left out.

    Args:
        pods: one-pod gangs, in order of name; some ask for GPUs.
        capacity: thousandths of all GPUs.
        rng: source of the order.
    """
    order = list(pods)
    rng.shuffle(order)
    most = capacity * OVERLOAD_PCT // 100
    asked = sum(gpu_milli(_request(each)) for each in order)
    fit = _thinned if asked > most else _inflated
    return [_numbered(each, number) for number, each in enumerate(fit(order, asked, most, rng))]


def _thinned(order: list[Gang], asked: int, most: int, rng: Random) -> list[Gang]:
    kept = list(order)
    while asked > most:
        asked -= gpu_milli(_request(kept.pop(rng.randrange(len(kept)))))
    return kept


def _inflated(order: list[Gang], asked: int, most: int, rng: Random) -> list[Gang]:
    extras: list[Gang] = []
    while True:
        extra = rng.choice(order)
        gpu = _request(extra).gpu
        if asked + (gpu.milli if gpu.count else 0) > most:
            return order + extras
        extras.append(extra)
        asked += gpu_milli(_request(extra))


def _request(gang: Gang) -> PodRequest:
    return gang.pod_sets[0].request


def _numbered(gang: Gang, number: int) -> Gang:
    return replace(gang, id=f"pod-{number}/0", workload=f"pod-{number}")


def shuffled_names(nodes: Sequence[Node], rng: Random) -> list[Node]:
    """The nodes with a random number before each name: ties go to the first name."""
    numbers = list(range(len(nodes)))
    rng.shuffle(numbers)
    named = zip(nodes, numbers, strict=True)
    return [replace(node, name=f"{number:06d}-{node.name}") for node, number in named]


def typical_pods(pods: Sequence[Gang]) -> Typical:
    """The most frequent pods until they are 95 % of all; memory plays no part (published so)."""
    counts = Counter(replace(_request(each), memory_mib=0) for each in pods)
    chosen: list[tuple[PodRequest, int]] = []
    covered = 0
    for request, often in counts.most_common():
        if covered * 100 >= TYPICAL_PCT * len(pods):
            break
        chosen.append((request, often))
        covered += often
    return tuple(chosen)


class Curve(Struct):
    """What is measured after every pod, N in all.

    Attributes:
        capacity: thousandths of all GPUs.
        arrived: int64[N], thousandths asked for so far.
        used: int64[N], thousandths in use.
        fragment: float64[N], free thousandths that an average typical pod cannot use.
    """

    capacity: int
    arrived: Ints
    used: Ints
    fragment: NDArray[np.float64]

    def allocated_pct(self) -> dict[int, float]:
        """GPUs in use, as a percentage of all, by arrived percentage."""
        return self._mean(100 * self.used / self.capacity)

    def allocated_in_the_end(self) -> float:
        """The same in the last bucket up to 130 %; small clusters may never reach that one."""
        buckets = self.allocated_pct()
        return buckets[max(each for each in buckets if each <= OVERLOAD_PCT)]

    def frag_amount_pct(self) -> dict[int, float]:
        """Unusable free GPUs, as a percentage of all, by arrived percentage."""
        return self._mean(100 * self.fragment / self.capacity)

    def frag_ratio_pct(self) -> dict[int, float]:
        """Unusable free GPUs, as a percentage of the free ones, by arrived percentage."""
        free = self.capacity - self.used
        return self._mean(100 * self.fragment / np.maximum(free, 1))

    def _mean(self, values: NDArray[np.float64]) -> dict[int, float]:
        """The mean over all pods of a bucket; a bucket is the rounded arrived percentage."""
        buckets = (200 * self.arrived + self.capacity) // (2 * self.capacity)
        sums, counts = np.bincount(buckets, values), np.bincount(buckets)
        return {each: float(sums[each] / counts[each]) for each in np.flatnonzero(counts).tolist()}
