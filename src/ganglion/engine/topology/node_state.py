"""The state a node can be in, and what one shape knows about all of them."""

from typing import NamedTuple

import numpy as np

from ganglion.engine.plugins.protocols import Ints, Rank
from ganglion.engine.topology.pod_shape import Shape, View
from ganglion.model.resources import WHOLE

UNBOUNDED = 1 << 30
"""Pod slots of a node that does not limit them; such slots are not counted."""


Extras = tuple[tuple[str, int], ...]
"""Sorted (resource, amount) of what a node only counts."""


class NodeState(NamedTuple):
    """What is free on a node, and who may use it.

    Attributes:
        node_class: index of its class.
        open: whether new pods may start (not cordoned, not lost).
        tenancy: empty while the node is empty, else whose it is (see `Shape.tenancy`).
        cpu, memory, slots: what is free.
        sick: indexes of devices that must not be given out.
        gpu: thousandths free of each device. A node that came back with fewer devices still has
            those that pods hold, as sick ones at the end.
        extras: sorted (resource, amount free) of what is only counted, without zeros; less than
            nothing where a node has lost what pods hold.
    """

    node_class: int
    open: bool
    tenancy: str
    cpu: int
    memory: int
    slots: int
    sick: tuple[int, ...]
    gpu: tuple[int, ...]
    extras: Extras = ()

    @property
    def usable(self) -> tuple[int, ...]:
        """Thousandths free of each device that may be given out."""
        if not self.sick:
            return self.gpu
        return tuple(0 if i in self.sick else free for i, free in enumerate(self.gpu))


Visible = tuple[tuple[int, ...], ...]
"""Indexes of devices, by node class."""


class ShapeView:
    """One shape's cached answers, by condition.

    Attributes:
        shape: the shape.
        least: devices that have to be wholly free for one pod.
        views: by class.
        rooms: how many pods of the shape fit.
        scores: best score, or None where no pod fits.
        devices: devices of the best way to place one pod.
        needs: int64[C, D], thousandths a pod takes of each device of each class.
        visible: indexes of the devices that the shape may use, by class.
        ranks: those of the nodes that it may use, among the first `ranked` classes.
        joined, left: the condition after a pod came or went, by condition and devices.
    """

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.least = 0 if shape.shares_a_device else shape.request.gpu.count
        self.views: list[View] = []
        self.visible: Visible = ()
        self.rooms: dict[int, int] = {}
        self.scores: dict[int, int | None] = {}
        self.devices: dict[int, tuple[int, ...]] = {}
        self.needs: Ints = np.zeros((0, 0), dtype=np.int64)
        self.ranks: dict[Rank, None] = {}
        self.ranked = 0
        self.joined: dict[tuple[int, tuple[int, ...], int], int] = {}
        self.left: dict[tuple[int, tuple[int, ...], int, bool], int] = {}


def may_join(shape: Shape, condition: NodeState) -> bool:
    """Whether isolation lets pods of the shape onto a node in this condition."""
    return not condition.tenancy or condition.tenancy == shape.tenancy


def changed(
    condition: NodeState, shape: Shape, devices: tuple[int, ...], milli: int, sign: int
) -> NodeState:
    """The condition when a pod has come (`sign` 1) or gone (`sign` -1)."""
    request = shape.request
    gpu = condition.gpu
    if devices:
        condition = widened(condition, devices[-1] + 1)
        free = list(condition.gpu)
        for index in devices:
            free[index] -= sign * milli
        gpu = tuple(free)
    slots = condition.slots
    return condition._replace(
        tenancy=shape.tenancy if sign > 0 else condition.tenancy,
        cpu=condition.cpu - sign * request.cpu_milli,
        memory=condition.memory - sign * request.memory_mib,
        slots=slots if slots == UNBOUNDED else slots - sign,
        gpu=gpu,
        extras=added(condition.extras, request.extras, -sign),
    )


def added(free: Extras, amounts: Extras, sign: int) -> Extras:
    """What is free of counted resources with some more (`sign` 1) or less (`sign` -1)."""
    if not amounts:
        return free
    total = dict(free)
    for name, amount in amounts:
        total[name] = total.get(name, 0) + sign * amount
    return tuple(sorted((name, left) for name, left in total.items() if left))


def room_by_extras(free: Extras, amounts: Extras, most: int) -> int:
    """How many pods, at most `most`, a node's counted resources suffice for."""
    there = dict(free)
    return min((most, *(there.get(name, 0) // amount for name, amount in amounts)))


def widened(condition: NodeState, devices: int) -> NodeState:
    """The condition with at least `devices` devices; those that the node has not got are sick."""
    missing = tuple(range(len(condition.gpu), devices))
    if not missing:
        return condition
    gpu = condition.gpu + (WHOLE,) * len(missing)
    return condition._replace(sick=condition.sick + missing, gpu=gpu)


def trimmed(condition: NodeState, devices: int) -> NodeState:
    """The condition without those beyond `devices` devices at its end that no pod holds."""
    last = len(condition.gpu)
    while last > devices and condition.gpu[last - 1] == WHOLE:
        last -= 1
    if last == len(condition.gpu):
        return condition
    sick = tuple(each for each in condition.sick if each < last)
    return condition._replace(sick=sick, gpu=condition.gpu[:last])
