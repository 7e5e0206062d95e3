"""Where a gang runs."""

from msgspec import Struct

from ganglion.model.fleet.levels import Level


class PodPlacement(Struct, frozen=True, omit_defaults=True):
    """One pod's place.

    Attributes:
        pod_set: name of its pod set.
        index: its number within the pod set.
        node: node name.
        devices: indexes of the node's devices it uses, ascending.
        milli: share of each device in thousandths; 0 without devices.
    """

    pod_set: str
    index: int
    node: str
    devices: tuple[int, ...] = ()
    milli: int = 0


class Placement(Struct, frozen=True, omit_defaults=True):
    """A whole gang's place.

    Attributes:
        pods: one entry per pod, in pod set order, then index order.
        level: the lowest level at which one domain holds all pods.
        domain: that domain's path, as `rack=r1`; empty for the fleet.
    """

    pods: tuple[PodPlacement, ...]
    level: Level = Level.FLEET
    domain: str = ""


def same_place(one: Placement | None, other: Placement) -> bool:
    """Whether two placements hold the same devices of the same nodes."""
    return one is not None and _held(one) == _held(other)


def _held(place: Placement) -> dict[str, list[int]]:
    found = dict[str, list[int]]()
    for pod in place.pods:
        found.setdefault(pod.node, []).extend(pod.devices or (-1,))
    return {node: sorted(devices) for node, devices in found.items()}
