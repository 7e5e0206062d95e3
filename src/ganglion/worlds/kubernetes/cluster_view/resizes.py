"""Pods that take more or less than before: resizes in place, seen in specs and statuses."""

from ganglion.worlds.kubernetes import names
from ganglion.worlds.kubernetes.gpu_discovery.stock import WHOLE_GPUS
from ganglion.worlds.kubernetes.requests import PENDING, Ask
from ganglion.worlds.kubernetes.types.bounds import DEVICES
from ganglion.worlds.kubernetes.types.pod import Pod, PodStatus


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


def asks_otherwise(before: Pod, now: Pod) -> bool:
    """Whether anything has changed that what a pod takes is read from, resizes included."""
    one, other = before.spec, now.spec
    return (
        one.containers != other.containers
        or one.init_containers != other.init_containers
        or one.resources != other.resources
        or _resizing(before.status) != _resizing(now.status)
    )


def _resizing(status: PodStatus) -> tuple[object, ...]:
    pending = next((each for each in status.conditions if each.type == PENDING), None)
    statuses = (*status.container_statuses, *status.init_container_statuses)
    return (
        pending and pending.reason,
        status.allocated_resources,
        status.resources,
        [(each.name, each.allocated_resources, each.resources) for each in statuses],
    )
