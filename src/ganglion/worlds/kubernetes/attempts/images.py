"""What the containers of attempts run, as kubelets report it: tags move, digests do not."""

from collections.abc import Iterable, Iterator

from ganglion.model.events import ImagesReported, ReportedImage
from ganglion.worlds.kubernetes.cluster_view.attempt import Attempt
from ganglion.worlds.kubernetes.controller_state.controller_state import ControllerState
from ganglion.worlds.kubernetes.types.pod import Pod

SCHEMES = ("docker-pullable://", "docker://")
"""How runtimes begin an image id that is a reference."""


def look_at(scene: ControllerState, pods: Iterable[Pod], now: int) -> None:
    """Report what is new in the statuses of pods, those of attempts that have a place there."""
    found = dict[str, list[ReportedImage]]()
    for pod in pods:
        attempt = scene.attempts.of_pod(pod.metadata.uid)
        for each in images_of(pod, attempt) if attempt else ():
            if attempt and each not in attempt.images:
                attempt.images.add(each)
                found.setdefault(attempt.gang, []).append(each)
    for gang, images in found.items():
        number = scene.attempts.by_gang[gang].number
        scene.facts.note(ImagesReported(now, gang, number, tuple(images)))


def look_at_all(scene: ControllerState, attempts: Iterable[Attempt], now: int) -> None:
    """Report what attempts run that were found running."""
    for each in attempts:
        known = scene.sites[each.cluster].pods
        look_at(scene, (known[uid] for uid in each.pods.values() if uid in known), now)


def images_of(pod: Pod, attempt: Attempt) -> Iterator[ReportedImage]:
    """What the kubelet says that the containers of a pod run, ephemeral ones too."""
    status, spec = pod.status, pod.spec
    said = (
        *status.init_container_statuses,
        *status.container_statuses,
        *status.ephemeral_container_statuses,
    )
    ids = {each.name: each.image_id for each in said if each.image_id}
    if not ids:
        return
    uid = pod.metadata.uid
    pod_set = next((place[0] for place, other in attempt.pods.items() if other == uid), "")
    for one in (*spec.init_containers, *spec.containers, *spec.ephemeral_containers):
        if one.name in ids:
            yield ReportedImage(pod_set, one.name, one.image, _reference(ids[one.name]))


def _reference(image_id: str) -> str:
    for each in SCHEMES:
        image_id = image_id.removeprefix(each)
    return image_id
