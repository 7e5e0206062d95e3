"""Which index each device of a node has, and which of them our pods may have.

Kubernetes counts devices and does not number them, so indexes are our own bookkeeping. A device
that a pod of ours holds keeps its index. Devices that others hold, and such as have died, take
the highest free ones: how many they are is known, which they are is not.
"""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from msgspec import Struct

from ganglion.model.fleet.node import Device
from ganglion.model.resources import WHOLE
from ganglion.worlds.kubernetes.gpu_discovery.kinds import GpuUnit


class ResourceDevices(Struct, frozen=True):
    """The devices of one resource on one node.

    Attributes:
        kind: what one of them is.
        present: how many there are, with those that do not work.
        working: how many pods may have, in use or not.
        foreign: how many of those others hold.
    """

    kind: GpuUnit
    present: int
    working: int
    foreign: int = 0


class DeviceLayout(Struct, frozen=True):
    """The devices of a node by index.

    Attributes:
        devices: as the model sees them.
        resources: the resource that each is asked for by.
        deficit: resource -> how many more are in use than work, where there are such.
        parts: thousandths of a GPU that each is, see `Node`; empty = all are whole.
    """

    devices: tuple[Device, ...] = ()
    resources: tuple[str, ...] = ()
    deficit: tuple[tuple[str, int], ...] = ()
    parts: tuple[int, ...] = ()


def lay_out(stocks: Sequence[ResourceDevices], ours: Mapping[int, str]) -> DeviceLayout:
    """Give every device its index.

    Args:
        stocks: the node's resources, in the order their devices are numbered.
        ours: index -> resource of the devices that our pods hold; of a resource that the node
            no longer has, or an empty one, the index is kept by a device of the first.
    """
    if not stocks:
        return DeviceLayout()
    known = {each.kind.resource: each for each in stocks}
    main = stocks[0].kind.resource
    held = {index: name if name in known else main for index, name in ours.items()}
    slots = _slots(stocks, held)
    usable = {name: _usable(each, held) for name, each in known.items()}
    left = {name: max(0, free) for name, free in usable.items()}
    devices = []
    for index, resource in enumerate(slots):
        is_free = index not in held
        devices.append(_device(known[resource].kind, index, not is_free or left[resource] > 0))
        left[resource] -= is_free
    deficit = tuple((name, -free) for name, free in usable.items() if free < 0)
    parts = parts_of([known[resource].kind.part for resource in slots])
    return DeviceLayout(tuple(devices), tuple(slots), deficit, parts)


def parts_of(parts: Sequence[Fraction | None]) -> tuple[int, ...]:
    """Thousandths of a GPU of each part, which add up to those of all parts together.

    What is unknown has 0. Sums are cut to whole thousandths, and each part is the difference of
    two: so seven slices of a GPU are 1000, and each of them is off by less than one.
    """
    if all(part == 1 for part in parts):
        return ()
    found, before = list[int](), Fraction(0)
    for part in parts:
        after = before + (part or 0)
        found.append(int(WHOLE * after) - int(WHOLE * before))
        before = after
    return tuple(found)


def _usable(stock: ResourceDevices, held: Mapping[int, str]) -> int:
    """How many more of its devices our pods may have; negative when too many are in use."""
    return stock.working - stock.foreign - _count(stock, held)


def _count(stock: ResourceDevices, held: Mapping[int, str]) -> int:
    return sum(name == stock.kind.resource for name in held.values())


def _slots(stocks: Sequence[ResourceDevices], held: Mapping[int, str]) -> list[str]:
    """The resource of each index: those in use as they are, the rest in order."""
    rest = _rest(stocks, held)
    total = len(held) + sum(_spare(each, held) for each in stocks)
    most = max(total, max(held, default=-1) + 1)
    return [held[index] if index in held else next(rest) for index in range(most)]


def _rest(stocks: Sequence[ResourceDevices], held: Mapping[int, str]) -> Iterator[str]:
    """The resources of free indexes; without end, for indexes in use may lie far out."""
    for each in stocks:
        yield from (each.kind.resource for _ in range(_spare(each, held)))
    while True:
        yield stocks[0].kind.resource


def _spare(stock: ResourceDevices, held: Mapping[int, str]) -> int:
    return max(0, max(stock.present, stock.working) - _count(stock, held))


def _device(kind: GpuUnit, index: int, healthy: bool) -> Device:
    island = 0 if kind.is_linked else index
    return Device(kind.type, kind.memory_mib, island=island, healthy=healthy)
