"""The gangs of a workload in a cluster, and which pod sits in which seat."""

from collections.abc import Iterable

from msgspec import Struct

from ganglion.worlds.kubernetes import names
from ganglion.worlds.kubernetes.submit.finding import SeenWorkload
from ganglion.worlds.kubernetes.submit.manifests import marks
from ganglion.worlds.kubernetes.submit.objects import Main, SeenPod, indexes, seat_of


class ClusterGang(Struct, frozen=True):
    """One gang as it lies in a cluster.

    Attributes:
        index: its number.
        wanted: pods it is to have.
        least: fewest pods that are useful.
        mains: the objects that make its pods.
        pods: all that are there, by seat, oldest first.
        alone: whether its pod is one of many that one object makes.
    """

    index: int
    wanted: int
    least: int
    mains: tuple[Main, ...]
    pods: tuple[SeenPod, ...]
    alone: bool = False

    def seats(self) -> dict[int, list[SeenPod]]:
        """Node rank -> the pods that had it, oldest first."""
        found: dict[int, list[SeenPod]] = {}
        for pod in self.pods:
            found.setdefault(0 if self.alone else seat_of(pod.metadata) or 0, []).append(pod)
        return dict(sorted(found.items()))

    def present(self) -> list[SeenPod]:
        """The newest pod of each seat."""
        return [pods[-1] for pods in self.seats().values()]

    def ended(self) -> bool | None:
        """Whether it has ended well (True) or not (False); None = it has not ended."""
        if self.alone and self.mains[0].kind == "Job":
            return _trial(self.mains[0], self.index)
        if any(main.is_so("Failed") for main in self.mains):
            return False
        over = all(main.kind == "Job" and main.is_so("Complete") for main in self.mains)
        return True if over else None


def _trial(main: Main, index: int) -> bool | None:
    if index in indexes(main.status.completed_indexes):
        return True
    if index in indexes(main.status.failed_indexes) or main.is_so("Failed"):
        return False
    return None


def crowds(seen: SeenWorkload) -> list[ClusterGang]:
    """All gangs of a workload, by number."""
    first = seen.mains[0]
    if marks.GANG_INDEX not in first.metadata.labels:
        return _each_alone(seen, first)
    by_index: dict[int, list[Main]] = {}
    for main in seen.mains:
        by_index.setdefault(int(main.metadata.labels[marks.GANG_INDEX]), []).append(main)
    return [_gang(seen, index, mains) for index, mains in sorted(by_index.items())]


def _gang(seen: SeenWorkload, index: int, mains: list[Main]) -> ClusterGang:
    wanted = sum(_count(main) for main in mains)
    notes = mains[0].spec.template.metadata.annotations
    mine = (p for p in seen.pods if p.metadata.labels.get(marks.GANG_INDEX) == str(index))
    least = int(notes.get(names.GANG_MIN, wanted))
    return ClusterGang(index, wanted, least, tuple(mains), _by_age(mine))


def _each_alone(seen: SeenWorkload, main: Main) -> list[ClusterGang]:
    """Trials have their numbers; replicas of a Deployment are counted by age."""
    if main.kind == "Job":
        by_index: dict[int, list[SeenPod]] = {}
        for pod in seen.pods:
            by_index.setdefault(seat_of(pod.metadata) or 0, []).append(pod)
        pods = [by_index.get(index, []) for index in range(_count(main))]
    else:
        pods = [[pod] for pod in _by_age(seen.pods)]
        pods += [[] for _ in range(_count(main) - len(pods))]
    return [
        ClusterGang(index, 1, 1, (main,), _by_age(mine), alone=True)
        for index, mine in enumerate(pods)
    ]


def _count(main: Main) -> int:
    if main.kind == "Job":
        return main.spec.completions or 1
    return 1 if main.spec.replicas is None else main.spec.replicas


def _by_age(pods: Iterable[SeenPod]) -> tuple[SeenPod, ...]:
    """Oldest first; a pod that is over is older than one made in the same second."""

    def age(pod: SeenPod) -> tuple[str, bool, str]:
        living = pod.status.phase not in ("Succeeded", "Failed")
        return (pod.metadata.creation_timestamp, living, pod.metadata.name)

    return tuple(sorted(pods, key=age))
