"""What one node has, and what keeps its devices from being used."""

from collections.abc import Collection

from msgspec import Struct, field

from ganglion.metering.intervals import SupplyInterval
from ganglion.model.fleet.node import Node, milli_of, part_of
from ganglion.model.placement import PodPlacement
from ganglion.model.resources import WHOLE, GpuRequest


class MeteredNode(Struct):
    """A node, with everything that its supply follows from.

    Attributes:
        name: of the node.
        flavor: kind of node.
        healthy: whether each of its devices is, by index; devices that are gone are not in it.
        parts: thousandths of a GPU that each counts as, by index, those that are gone included;
            none = 1000.
        types: model of each device, by index; none = unknown.
        guessed: whether that is unknown of some, which count as 1000.
        cordoned: whether nothing new may start there.
        lost: whether it is gone.
        shrunk: whether it ever came back with fewer devices, so that some may be held and gone.
        pods: gang -> its pods that are there, those that leave included.
        since: since when it has what it has, in ms.
        gpu_milli, unavailable_milli: what it has; see `SupplyInterval`.
    """

    name: str
    flavor: str
    healthy: tuple[bool, ...] = ()
    cordoned: bool = False
    lost: bool = False
    shrunk: bool = False
    pods: dict[str, tuple[PodPlacement, ...]] = field(default_factory=dict)
    since: int = 0
    gpu_milli: int = 0
    unavailable_milli: int = 0
    parts: tuple[int, ...] = ()
    guessed: bool = False
    types: tuple[str, ...] = ()

    def describe(self, node: Node) -> None:
        """The node joined, came back, or is another one."""
        self.shrunk = self.shrunk or len(node.devices) < len(self.healthy)
        self.flavor, self.lost = node.kind, False
        self.healthy = tuple(device.healthy for device in node.devices)
        self.types = tuple(device.type for device in node.devices)
        self.cordoned = bool(node.cordoned)
        count = len(node.devices)
        parts = tuple(map(node.part, range(count)))
        if self.parts or node.parts:
            self.parts = parts + self.parts[count:]
        self.guessed = 0 in node.parts

    def held(self, pod: PodPlacement) -> int:
        """Thousandths of GPUs that a pod keeps from others."""
        return milli_of(pod, self.parts)

    def most(self, gpu: GpuRequest) -> int:
        """The most that a pod would hold of each device it asks for; 0 = there is none for it."""
        asked = WHOLE if gpu.share_mib else gpu.milli
        mine = (
            part_of(self.parts, device) * asked // WHOLE
            for device in range(len(self.healthy))
            if not self.types or gpu.takes(self.types[device], gpu.min_memory_mib)
        )
        return max(mine, default=0)

    def holds_what_is_gone(self) -> bool:
        """Whether attempts hold devices that it has no more."""
        return any(device >= len(self.healthy) for device in self._held())

    @property
    def open(self) -> bool:
        """Whether all of it is there to be used, whatever is held."""
        return not (self.lost or self.cordoned or self.shrunk) and all(self.healthy)

    def terms(self) -> tuple[int, int]:
        """Thousandths of all of its GPUs, and of those that neither are held nor can be."""
        if self.open:
            return self._whole(range(len(self.healthy))), 0
        if self.lost and not self.pods:
            return 0, 0
        held, devices = self._held(), dict(enumerate(self.healthy))
        devices |= dict.fromkeys((each for each in held if each >= len(devices)), False)
        closed = self.lost or self.cordoned
        shut = [i for i, healthy in devices.items() if closed or not healthy]
        return self._whole(devices), self._whole(shut) - sum(held.get(i, 0) for i in shut)

    def _whole(self, devices: Collection[int]) -> int:
        """Thousandths of GPUs that these devices are."""
        if not self.parts:
            return WHOLE * len(devices)
        return sum(part_of(self.parts, each) for each in devices)

    def _held(self) -> dict[int, int]:
        """Device -> thousandths that attempts hold of it; those that none holds are left out."""
        found: dict[int, int] = {}
        for pods in self.pods.values():
            for pod in pods:
                for device in pod.devices:
                    milli = part_of(self.parts, device) * pod.milli // WHOLE
                    found[device] = found.get(device, 0) + milli
        return found

    def interval(self, end: int) -> SupplyInterval | None:
        """What it has had until now; None = nothing, or for no time."""
        if end <= self.since or not self.gpu_milli:
            return None
        terms = (self.flavor, self.gpu_milli, self.unavailable_milli)
        return SupplyInterval(self.since, end, self.name, *terms)
