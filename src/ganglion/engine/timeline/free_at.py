"""What is free on one node at another time, in plain numbers."""

from collections.abc import Iterable
from typing import Self

from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.store.what_if import shapes_by_set
from ganglion.engine.topology.node_state import UNBOUNDED, NodeState, added
from ganglion.engine.topology.pod_shape import Shape
from ganglion.model.placement import Placement, PodPlacement

Pods = Iterable[tuple[PodPlacement, Shape]]
"""Pods of one node, each with its shape."""


class Room:
    """What is free on a node; less than nothing when too much was taken.

    Args:
        condition: as the node is now.
        tenancies: tenancies of the pods that stay.
    """

    __slots__ = (
        "_cpu",
        "_devices",
        "_extras",
        "_gpu",
        "_memory",
        "_open",
        "_sick",
        "_slots",
        "_tenancies",
    )

    def __init__(self, condition: NodeState, tenancies: Iterable[str]) -> None:
        self._cpu, self._memory, self._slots = condition.cpu, condition.memory, condition.slots
        self._gpu, self._open = [*condition.gpu], condition.open
        self._devices, self._sick = len(self._gpu), condition.sick
        self._tenancies = set(tenancies)
        # What a node has lost since is no debt of those that take nothing of it.
        self._extras = tuple(each for each in condition.extras if each[1] > 0)

    def copy(self) -> Self:
        """Another one to try things on."""
        other = object.__new__(type(self))
        other._cpu, other._memory, other._slots = self._cpu, self._memory, self._slots
        other._gpu, other._open, other._devices = [*self._gpu], self._open, self._devices
        other._sick, other._extras = self._sick, self._extras
        other._tenancies = set(self._tenancies)
        return other

    def give(self, pods: Pods) -> None:
        """Pods leave."""
        self._change(pods, 1)

    def take(self, pods: Pods) -> None:
        """Pods come."""
        self._change(pods, -1)

    def _change(self, pods: Pods, sign: int) -> None:
        for pod, shape in pods:
            self._cpu += sign * shape.request.cpu_milli
            self._memory += sign * shape.request.memory_mib
            self._extras = added(self._extras, shape.request.extras, sign)
            if self._slots != UNBOUNDED:
                self._slots += sign
            for device in pod.devices:
                if device < self._devices:
                    self._gpu[device] += sign * pod.milli
            if sign < 0:
                self._tenancies.add(shape.tenancy)

    def holds(self, devices: Iterable[int]) -> bool:
        """Whether nothing was promised twice, as far as these devices are concerned."""
        return (
            self._open
            and self._cpu >= 0
            and self._memory >= 0
            and self._slots >= 0
            and all(free >= 0 for _, free in self._extras)
            and len(self._tenancies) <= 1
            and all(self._has(each) for each in devices)
        )

    def _has(self, device: int) -> bool:
        return device < self._devices and device not in self._sick and self._gpu[device] >= 0


def fits_into(
    room: Room, record: GangRecord, pods: Iterable[PodPlacement], beside: Iterable[int] = ()
) -> bool:
    """Whether pods of a gang fit into a room, which they then take."""
    shapes = shapes_by_set(record)
    listed = list(pods)
    room.take((pod, shapes[pod.pod_set]) for pod in listed)
    return room.holds({*devices_of(listed), *beside})


def by_node(placement: Placement) -> dict[str, list[PodPlacement]]:
    """Pods of a placement by their node."""
    found: dict[str, list[PodPlacement]] = {}
    for pod in placement.pods:
        found.setdefault(pod.node, []).append(pod)
    return found


def devices_of(pods: Iterable[PodPlacement]) -> list[int]:
    """Devices that pods of one node use."""
    return [device for pod in pods for device in pod.devices]
