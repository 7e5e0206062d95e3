"""What pods take and need, remembered; what resizes in place change about it."""

from collections.abc import Mapping

from ganglion.worlds.kubernetes import names
from ganglion.worlds.kubernetes.feasibility.needs import Needs
from ganglion.worlds.kubernetes.feasibility.reading import needs_of
from ganglion.worlds.kubernetes.gpu_discovery.stock import WHOLE_GPUS
from ganglion.worlds.kubernetes.pod_index.pods import PodIndex
from ganglion.worlds.kubernetes.requests import Ask, ask_of
from ganglion.worlds.kubernetes.types.bounds import DEVICES
from ganglion.worlds.kubernetes.types.pod import Pod


class Asks:
    """Works out once what a pod takes, as long as it is as it was seen last.

    Args:
        pods: as they were seen last, by UID.
        crowd: those of them that are on nodes.
    """

    def __init__(self, pods: Mapping[str, Pod], crowd: PodIndex) -> None:
        self._pods, self._crowd = pods, crowd
        self._known: dict[str, Ask] = {}
        self._needs: dict[str, tuple[Pod, Needs]] = {}

    def of(self, pod: Pod) -> Ask:
        """What one pod takes.

        Raises:
            InputError: a quantity is none.
        """
        uid = pod.metadata.uid
        if self._pods.get(uid) is not pod:
            return ask_of(pod)
        if uid not in self._known:
            self._known[uid] = ask_of(pod)
        return self._known[uid]

    def needs(self, pod: Pod) -> Needs:
        """What a pod needs of its node and of those around it.

        Raises:
            InputError: a quantity is none.
        """
        uid = pod.metadata.uid
        if self._pods.get(uid) is not pod:
            return needs_of(pod)
        known = self._crowd.needs(uid)
        if known is not None:
            return known
        before = self._needs.get(uid)
        if before is None or (before[0] is not pod and _needs_otherwise(before[0], pod)):
            before = (pod, needs_of(pod))
        self._needs[uid] = (pod, before[1])
        return before[1]

    def forget(self, uid: str) -> None:
        """It takes something else, or is gone."""
        self._known.pop(uid, None)
        self._needs.pop(uid, None)


def _needs_otherwise(before: Pod, now: Pod) -> bool:
    """Whether anything has changed that needs are read from."""
    return before.metadata.labels != now.metadata.labels or before.spec != now.spec


def grown(before: Ask, now: Ask) -> Ask:
    """What a pod takes by a resize in place beyond what the engine has counted."""
    return Ask(max(0, now.cpu_milli - before.cpu_milli), max(0, now.memory_mib - before.memory_mib))


def given(pod: Pod) -> Ask:
    """Devices that we gave to a pod that takes parts of them and that are not counted otherwise.

    How much it takes of them is not known any more, so others get nothing of them.
    """
    notes = pod.metadata.annotations
    if names.GPU_FRACTION not in notes and names.GPU_MEMORY not in notes:
        return Ask()
    devices = notes.get(names.DEVICES, "").split(",")
    return Ask(gpu_resource=WHOLE_GPUS, gpus=min(len(devices), DEVICES))
