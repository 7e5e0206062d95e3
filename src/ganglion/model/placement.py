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


class HeldItem(Struct, frozen=True, omit_defaults=True):
    """What a node had of what pods load, when they were placed on it.

    Attributes:
        node: its name.
        item: URI of the model, or name of the image.
        saved_s: about how long fetching it would have taken, in s.
    """

    node: str
    item: str
    saved_s: int

    def __str__(self) -> str:
        """As people read it."""
        return f"{self.node} holds {self.item}: about {self.saved_s} s saved"


class Placement(Struct, frozen=True, omit_defaults=True):
    """A whole gang's place.

    Attributes:
        pods: one entry per pod, in pod set order, then index order.
        level: the lowest level at which one domain holds all pods.
        domain: that domain's path, as `rack=r1`; empty for the fleet.
        held: what its nodes had already of what the pods load, when the gang was started there.
    """

    pods: tuple[PodPlacement, ...]
    level: Level = Level.FLEET
    domain: str = ""
    held: tuple[HeldItem, ...] = ()

    @property
    def gpu_milli(self) -> int:
        """Thousandths of GPUs of all pods."""
        return sum(len(pod.devices) * pod.milli for pod in self.pods)


def same_place(one: Placement | None, other: Placement) -> bool:
    """Whether two placements hold the same devices of the same nodes."""
    return one is not None and _held(one) == _held(other)


def _held(place: Placement) -> dict[str, list[int]]:
    found = dict[str, list[int]]()
    for pod in place.pods:
        found.setdefault(pod.node, []).extend(pod.devices or (-1,))
    return {node: sorted(devices) for node, devices in found.items()}
