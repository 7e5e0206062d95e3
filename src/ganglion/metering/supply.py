"""What one node has, and what keeps its devices from being used."""

from msgspec import Struct, field

from ganglion.metering.intervals import SupplyInterval
from ganglion.model.fleet.node import Node
from ganglion.model.placement import PodPlacement
from ganglion.model.resources import WHOLE


class MeteredNode(Struct):
    """A node, with everything that its supply follows from.

    Attributes:
        name: of the node.
        flavor: kind of node.
        healthy: whether each of its devices is, by index; devices that are gone are not in it.
        cordoned: whether nothing new may start there.
        lost: whether it is gone.
        held: device -> thousandths that attempts hold of it; those that nothing holds are left out.
        gangs: gangs with pods there, those without devices included.
        since: since when it has what it has, in ms.
        gpu_milli, unavailable_milli: what it has; see `SupplyInterval`.
    """

    name: str
    flavor: str
    healthy: tuple[bool, ...] = ()
    cordoned: bool = False
    lost: bool = False
    held: dict[int, int] = field(default_factory=dict)
    gangs: dict[str, None] = field(default_factory=dict)
    since: int = 0
    gpu_milli: int = 0
    unavailable_milli: int = 0

    def describe(self, node: Node) -> None:
        """The node joined, came back, or is another one."""
        self.flavor, self.lost = node.kind, False
        self.healthy = tuple(device.healthy for device in node.devices)
        self.cordoned = bool(node.cordoned)

    def take(self, pod: PodPlacement, sign: int) -> None:
        """Count what a pod holds; `sign` -1 = it holds it no more."""
        for device in pod.devices:
            milli = self.held.get(device, 0) + sign * pod.milli
            if milli:
                self.held[device] = milli
            else:
                self.held.pop(device, None)

    def terms(self) -> tuple[int, int]:
        """Thousandths of all of its GPUs, and of those that neither are held nor can be."""
        if self.lost and not self.gangs:
            return 0, 0
        devices = len(self.healthy)
        gone = [held for index, held in self.held.items() if index >= devices]
        whole = WHOLE * (devices + len(gone))
        if self.lost or self.cordoned:
            return whole, whole - sum(self.held.values())
        shut = sum(WHOLE - held for held in gone)
        if not all(self.healthy):
            sick = (index for index, healthy in enumerate(self.healthy) if not healthy)
            shut += sum(WHOLE - self.held.get(index, 0) for index in sick)
        return whole, shut

    def interval(self, end: int) -> SupplyInterval | None:
        """What it has had until now; None = nothing, or for no time."""
        if end <= self.since or not self.gpu_milli:
            return None
        terms = (self.flavor, self.gpu_milli, self.unavailable_milli)
        return SupplyInterval(self.since, end, self.name, *terms)
