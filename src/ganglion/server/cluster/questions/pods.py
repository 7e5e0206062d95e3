"""Which pod of a gang a rank means, and which of its containers is read."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from ganglion.model.errors import Conflict, NotFound
from ganglion.worlds.kubernetes.controller import ClusterController
from ganglion.worlds.kubernetes.http.client import Api
from ganglion.worlds.kubernetes.submit.manifests.pod import CONTAINER
from ganglion.worlds.kubernetes.submit.objects import seat_of
from ganglion.worlds.kubernetes.types.pod import ContainerStatus, Pod

DEFAULT = "kubectl.kubernetes.io/default-container"
"""Annotation that names the container of which logs are meant."""
GPU = "/gpu"
SELECTORS = {
    "Job": "batch.kubernetes.io/job-name",
    "gang": "ganglion.dev/gang",
    "JobSet": "jobset.sigs.k8s.io/jobset-name",
    "PyTorchJob": "training.kubeflow.org/job-name",
}
"""Part of a gang's id -> the label that its pods have, with the name behind it in the id."""


class GangSeat(Struct, frozen=True):
    """What is known of a rank of a gang.

    Attributes:
        cluster: where it is, as the scheduler names it.
        gang: id of the gang within that cluster.
        pod: that has the rank now; None = none has, or it has ended.
    """

    cluster: str
    gang: str
    pod: Pod | None = None


def seat(controller: ClusterController, gang: str, rank: int) -> GangSeat:
    """The seat of a rank, by what a scheduler knows; nothing is asked.

    Raises:
        NotFound: no cluster has gangs of such a name, or the gang has no such rank.
    """
    found = controller.scene.gangs.founds.get(gang)
    if found is None:
        sites = sorted(controller.sites.values(), key=lambda each: -len(each.prefix))
        site = next((each for each in sites if gang.startswith(each.prefix)), None)
        if site is None:
            raise NotFound(f"there is no cluster of gang {gang!r}")
        return GangSeat(site.name, gang.removeprefix(site.prefix))
    site, first, ranks = controller.scene.site_of(gang), 0, dict[tuple[str, int], int]()
    for each in found.sets:
        width = max(each.count, each.seats)
        ranks |= {(each.name, index): first + index for index in range(width)}
        first += width
    if rank >= first:
        raise NotFound(f"{found.name} has no rank {rank}", f"its ranks are 0 to {first - 1}")
    members = (each.pod for each in found.members if ranks.get((each.pod_set, each.index)) == rank)
    return GangSeat(site.name, gang.removeprefix(site.prefix), next(members, None))


async def pods_of(api: Api, namespace: str, gang: str, rank: int) -> list[Pod]:
    """Pods of a rank that are there, those that have ended too, the oldest first.

    Args:
        api: the cluster.
        namespace: of the pods.
        gang: its id in the cluster, as `lab/Job/train/uid`.
        rank: of the pods.

    Raises:
        ApiError: the cluster does not say.
    """
    label, uid = _selector(gang)
    if not label:
        return []
    path = f"/api/v1/namespaces/{namespace}/pods"
    listed = await api.list(path, Pod, params={"labelSelector": label})
    own = [each for each in listed.items if not uid or uid in _owners(each)]
    return _in_seat(own, rank)


def _selector(gang: str) -> tuple[str, str]:
    """The label of the pods of a gang, and the UID of what owns them; empty = unknown."""
    parts = gang.split("/")
    for at, each in enumerate(parts[:-1]):
        if each in SELECTORS:
            direct = each in ("Job", "PyTorchJob") and len(parts) > at + 2
            return f"{SELECTORS[each]}={parts[at + 1]}", parts[at + 2] if direct else ""
    return "", ""


def _owners(pod: Pod) -> Iterable[str]:
    return [each.uid for each in pod.metadata.owner_references]


def _in_seat(pods: Sequence[Pod], rank: int) -> list[Pod]:
    """Those of a rank: by the numbers that they have, else by their names."""
    numbers = [seat_of(each.metadata) for each in pods]
    if any(each is None for each in numbers):
        numbers = [*range(len(pods))]
        pods = sorted(pods, key=lambda each: each.metadata.name)
    found = [pod for pod, number in zip(pods, numbers, strict=True) if number == rank]
    return sorted(
        found, key=lambda each: (each.metadata.creation_timestamp, not each.is_over, each.key)
    )


def container_of(pod: Pod) -> str:
    """The container whose log is meant: ours, that of the usual annotation, one with GPUs."""
    names = [each.name for each in pod.spec.containers]
    chosen = (CONTAINER, pod.metadata.annotations.get(DEFAULT, ""))
    named = next((each for each in chosen if each in names), "")
    gpus = (
        each.name
        for each in pod.spec.containers
        if any(key.endswith(GPU) for key in {**each.resources.requests, **each.resources.limits})
    )
    return named or next(gpus, names[0] if names else "")


def status_of(pod: Pod, container: str) -> ContainerStatus:
    """What became of a container; one that is not named has not begun."""
    found = (each for each in pod.status.container_statuses if each.name == container)
    return next(found, ContainerStatus(container))


def check_begun(pod: Pod, container: str) -> None:
    """Raises Conflict where a container has not begun, with what it waits for."""
    status = status_of(pod, container)
    waiting = status.state.waiting
    if pod.status.phase != "Pending" or status.restart_count or status.state.terminated:
        return
    why = f": {waiting.reason} {waiting.message}".rstrip() if waiting and waiting.reason else ""
    raise Conflict(
        f"container {container} of pod {pod.metadata.name} has not started yet{why}",
        "to wait for it, follow the log",
    )


def is_over(pod: Pod, container: str) -> bool:
    """Whether a container of a pod writes no more."""
    status = status_of(pod, container)
    return pod.is_over or (bool(status.state.terminated) and pod.is_leaving)
