"""Seats in a gang: pods, and the ranks of their processes."""

from collections.abc import Iterator, Mapping
from itertools import count

from msgspec import Struct

from ganglion.model.placement import Placement, PodPlacement
from ganglion.model.workload import Gang


class RankSeat(Struct, frozen=True):
    """Where in its gang a rank sits."""

    rank: int
    node_rank: int
    local_rank: int
    procs: int
    pod: PodPlacement


Table = tuple[RankSeat, ...]
"""All ranks of a gang, pod by pod in the placement's order."""


def pod_id(pod: PodPlacement) -> str:
    """Identity of a pod among all that its gang ever had: its number and its place."""
    devices = ",".join(map(str, pod.devices))
    return f"{pod.pod_set}/{pod.index}@{pod.node}[{devices}]"


def seats(
    gang: Gang, placement: Placement, kept: Mapping[str, tuple[int, int]] | None = None
) -> Table:
    """The seats of a placed gang.

    Ranks are counted pod by pod. When an elastic gang changes its size, the processes that run
    keep their ranks, and new pods take the lowest numbers that are free: `RANK` stays what the
    process got at its start, but after a pod has left there may be gaps.

    Args:
        gang: the gang.
        placement: its place.
        kept: id of a pod that runs already -> (its number in the gang, rank of its first
            process).
    """
    procs = {pods.name: pods.procs for pods in gang.pod_sets}
    free = _Free(kept or {}, {pod_id(pod): procs[pod.pod_set] for pod in placement.pods})
    return tuple(seat for pod in placement.pods for seat in free.seat(pod, procs[pod.pod_set]))


class _Free:
    """Numbers that no process of the gang has."""

    def __init__(self, kept: Mapping[str, tuple[int, int]], procs: Mapping[str, int]) -> None:
        self._kept = {pod: kept[pod] for pod in procs if pod in kept}
        self._pods = {number for number, _ in self._kept.values()}
        self._ranks = {
            first + local for pod, (_, first) in self._kept.items() for local in range(procs[pod])
        }

    def seat(self, pod: PodPlacement, procs: int) -> Iterator[RankSeat]:
        number, first = self._kept.get(pod_id(pod)) or self._take(procs)
        return (RankSeat(first + local, number, local, procs, pod) for local in range(procs))

    def _take(self, procs: int) -> tuple[int, int]:
        number = next(each for each in count() if each not in self._pods)
        first = next(each for each in count() if self._ranks.isdisjoint(range(each, each + procs)))
        self._pods.add(number)
        self._ranks.update(range(first, first + procs))
        return number, first
