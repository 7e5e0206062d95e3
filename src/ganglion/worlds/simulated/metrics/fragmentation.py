"""How much of the free capacity the typical pod cannot use (FGD, USENIX ATC'23)."""

from enum import StrEnum

from ganglion.engine.plugins.protocols import Typical
from ganglion.model.fleet.node import Node
from ganglion.model.resources import WHOLE, PodRequest


class CapacityUnit(StrEnum):
    """What capacity is counted in: CPU cores only where a cluster has no GPU at all."""

    GPU = "GPU"
    CPU = "CPU core"


class NodeRoom:
    """What is free on one node.

    Args:
        node: the node, empty.
        unit: what its capacity is counted in.

    Attributes:
        node: the same.
        cpu: free thousandths of a core.
        memory: free MiB.
        free: free thousandths per device; 0 for failed ones.
        sick: indexes of failed devices.
    """

    __slots__ = ("_by_cpu", "cpu", "free", "memory", "node", "sick")

    def __init__(self, node: Node, unit: CapacityUnit = CapacityUnit.GPU) -> None:
        self.node = node
        self._by_cpu = unit is CapacityUnit.CPU
        self.cpu, self.memory = node.cpu_milli, node.memory_mib
        self.sick = {i for i, device in enumerate(node.devices) if not device.healthy}
        self.free = [0 if i in self.sick else WHOLE for i in range(len(node.devices))]

    def take(self, request: PodRequest, devices: tuple[int, ...], milli: int, sign: int) -> int:
        """A pod comes (`sign` 1) or goes (-1). Returns the thousandths it takes."""
        self.cpu -= sign * request.cpu_milli
        self.memory -= sign * request.memory_mib
        for device in devices:
            if device not in self.sick:
                self.free[device] -= sign * milli
        return request.cpu_milli if self._by_cpu else len(devices) * milli

    def heal(self, device: int, healthy: bool) -> None:
        """A device failed, with nothing on it, or is usable again."""
        (self.sick.discard if healthy else self.sick.add)(device)
        self.free[device] = WHOLE if healthy else 0

    @property
    def size_milli(self) -> int:
        """Usable thousandths, free or not."""
        if self._by_cpu:
            return self.node.cpu_milli
        return WHOLE * (len(self.free) - len(self.sick))

    @property
    def free_milli(self) -> int:
        """Thousandths that are free in all."""
        return self.cpu if self._by_cpu else sum(self.free)

    @property
    def whole_free(self) -> int:
        """Wholly free devices, or whole free cores."""
        return self.cpu // WHOLE if self._by_cpu else self.free.count(WHOLE)

    @property
    def untouched(self) -> bool:
        """Whether all of it is free; False for a node without capacity or with failed devices."""
        whole = self.node.cpu_milli if self._by_cpu else WHOLE * len(self.free)
        return whole > 0 and self.free_milli == whole


class Fragments:
    """The fragmentation measure of FGD, over the GPU pods of the typical workload.

    In a cluster without GPUs the same is counted in CPU, over all typical pods.

    For one typical pod the unusable part of a node's free GPU capacity is all of it where the
    node cannot host the pod, else what lies on devices with less free than the pod takes of
    each. A node's fragment is the average of that over the typical pods, weighted by how
    frequent they are. Pods without GPUs, for which the published measure counts everything
    free as fragment, are left out: so 0 means that every typical GPU pod could use every free GPU.

    Args:
        typical: (request, how many); without pods that have no GPUs where GPUs are counted.
    """

    def __init__(self, typical: Typical) -> None:
        self._typical = typical
        self.weight = sum(count for _, count in self._typical) or 1
        self._classes: dict[tuple[object, ...], dict[tuple[int, ...], int]] = {}
        self._most_cpu = max((request.cpu_milli for request, _ in self._typical), default=0)
        self._most_memory = max((request.memory_mib for request, _ in self._typical), default=0)

    def of(self, room: NodeRoom) -> int:
        """Unusable thousandths on a node, times `weight`."""
        known = self._classes.setdefault(_class(room.node), {})
        # beyond what any typical pod asks for, more CPU or memory changes nothing
        key = (
            min(room.cpu, self._most_cpu),
            min(room.memory, self._most_memory),
            *(sorted(room.free)),
        )
        found = known.get(key)
        if found is None:
            found = known[key] = sum(
                count * _unusable(room, request) for request, count in self._typical
            )
        return found


def _class(node: Node) -> tuple[object, ...]:
    return tuple((device.type, device.memory_mib) for device in node.devices)


def _unusable(room: NodeRoom, request: PodRequest) -> int:
    gpu = request.gpu
    enough = room.cpu >= request.cpu_milli and room.memory >= request.memory_mib
    if not gpu.count:
        return 0 if enough else room.free_milli
    fitting = 0
    usable = 0
    for device, free in zip(room.node.devices, room.free, strict=True):
        if gpu.takes(device.type, device.memory_mib) and free >= (
            milli := gpu.milli_on(device.memory_mib)
        ):
            fitting += milli <= WHOLE
            usable += free
    return room.free_milli - usable if enough and fitting >= gpu.count else room.free_milli
