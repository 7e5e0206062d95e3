"""The record on a pod of the devices that were chosen for it.

Two annotations, written together with the binding so that no bound pod lacks them:

- `ganglion.dev/devices`: indexes on the node in ascending order, as `0,1`. What part of each
  device the pod may use is on the pod already (`ganglion.dev/gpu-fraction`, `gpu-memory`).
- `ganglion.dev/cdi-devices`: the same as qualified names of the Container Device Interface,
  `VENDOR/CLASS=NAME` joined by commas, as `nvidia.com/gpu=0,nvidia.com/gpu=1`: the form of the
  values of `cdi.k8s.io/...` annotations, so that an agent on the node copies it unread. Written
  only for resources of which the vendor's generator of CDI specifications numbers the devices
  alike.
"""

from collections.abc import Collection

from ganglion.worlds.kubernetes.names import DEVICES, GROUP
from ganglion.worlds.kubernetes.types.pod import Pod

CDI_DEVICES = f"{GROUP}/cdi-devices"

LONGEST = 9
"""Most digits of an index."""

_NUMBERED = frozenset({"nvidia.com/gpu", "amd.com/gpu"})
"""Resources whose name is also the CDI kind under which devices are numbered from 0."""


def record(indexes: Collection[int], resource: str = "nvidia.com/gpu") -> dict[str, str]:
    """Return the annotations for chosen devices; nothing chosen, nothing recorded.

    Args:
        indexes: of the devices on their node.
        resource: extended resource the devices are counted as.
    """
    if not indexes:
        return {}
    chosen = sorted(indexes)
    notes = {DEVICES: ",".join(map(str, chosen))}
    if resource in _NUMBERED:
        notes[CDI_DEVICES] = ",".join(f"{resource}={index}" for index in chosen)
    return notes


def recorded(pod: Pod) -> tuple[int, ...]:
    """Return the indexes recorded on a pod; a record that is not ours to read counts as none."""
    parts = pod.metadata.annotations.get(DEVICES, "").split(",")
    if not all(part.isascii() and part.isdecimal() and len(part) <= LONGEST for part in parts):
        return ()
    return tuple(sorted({int(part) for part in parts}))
