"""The GPU resources that a node offers."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping

from msgspec import Struct

from ganglion.worlds.kubernetes.gpu_discovery.devices import ResourceDevices
from ganglion.worlds.kubernetes.gpu_discovery.foreign import ForeignUse
from ganglion.worlds.kubernetes.gpu_discovery.kinds import kind_of
from ganglion.worlds.kubernetes.gpu_discovery.numbers import amount, number
from ganglion.worlds.kubernetes.gpu_discovery.sharing import foreign_sharing, sharing_of
from ganglion.worlds.kubernetes.gpu_discovery.slices import MIG_PREFIX
from ganglion.worlds.kubernetes.gpu_resources import GPU_RESOURCES, is_gpu_resource
from ganglion.worlds.kubernetes.types.bounds import DEVICES, within
from ganglion.worlds.kubernetes.types.node import Node
from ganglion.worlds.kubernetes.types.pod import Quantities

ALIASES: tuple[tuple[str, ...], ...] = (
    ("aws.amazon.com/neuron", "aws.amazon.com/neurondevice", "aws.amazon.com/neuroncore"),
)
"""Resources by which a plugin offers the same devices. The first that a node has is used."""

WHOLE_GPUS = "nvidia.com/gpu"

COUNTS = (
    "nvidia.com/gpu.count",
    "gpu.nvidia.com/count",
    "cloud.google.com/gke-accelerator-count",
    "karpenter.k8s.aws/instance-gpu-count",
    "eks.amazonaws.com/instance-gpu-count",
    "karpenter.azure.com/sku-gpu-count",
)
"""Labels for the number of GPUs that a node offers once its plugin has started, best first."""

GPU_DRIVER = "gpu.nvidia.com"
"""Driver of dynamic resource allocation that publishes the GPUs themselves."""

CHANGING = frozenset({"pending", "rebooting"})
"""States of `nvidia.com/mig.config.state` during which slices come and go."""


class GpuOffer(Struct, frozen=True):
    """What a node offers, and what is odd about it.

    Attributes:
        stocks: whole devices first, then by name.
        troubles: in plain words.
    """

    stocks: tuple[ResourceDevices, ...] = ()
    troubles: tuple[str, ...] = ()

    def unknown_parts(self) -> list[str]:
        """Resources of which it is unknown which part of a GPU one unit is."""
        return [each.kind.resource for each in self.stocks if each.kind.part is None]


def offer_of(
    node: Node, held: ForeignUse, ours: Collection[str] = (), drivers: Collection[str] = ()
) -> GpuOffer:
    """The GPU resources of a node.

    A node that has devices by its labels, and whose plugin offers none yet, has them as
    devices that do not work: it is known what the node will be. GPUs that another scheduler
    shares out are left alone, all of them, as only that scheduler knows what is left of each.

    Args:
        node: as the API server has it.
        held: what pods that are not ours take of it.
        ours: the resource of each device that our pods hold; those are there in any case.
        drivers: of dynamic resource allocation that publish devices of the node.

    Raises:
        InputError: it claims more devices than any machine has.
    """
    foreign = _without_doubles(held.gpus(), _counts(node.status.capacity))
    seen = _seen(node, set(ours), Counter(ours) + Counter(foreign))
    if not seen.present and not seen.working and not _is_handed_out_otherwise(node, drivers):
        seen = _only_announced(node.metadata.labels)
    names = _without_aliases({*seen.present, *seen.working}) | set(ours)
    claimed = sum(max(seen.present.get(e, 0), seen.working.get(e, 0)) for e in names)
    within(f"its devices ({', '.join(sorted(names))})", claimed, DEVICES)
    stocks = [_stock(name, node.metadata.labels, seen, foreign) for name in sorted(names)]
    return GpuOffer(tuple(sorted(stocks, key=_order)), seen.troubles)


class _Seen(Struct, frozen=True):
    """Devices by resource: all, and those that pods may have."""

    present: dict[str, int]
    working: dict[str, int]
    troubles: tuple[str, ...] = ()


def _seen(node: Node, ours: set[str], in_use: Mapping[str, int]) -> _Seen:
    present, working = _counts(node.status.capacity), _counts(node.status.allocatable)
    sharer = foreign_sharing(node.status.allocatable, node.metadata.annotations)
    if sharer:
        trouble = f"{sharer} shows that another scheduler shares out its GPUs"
        return _Seen({}, {name: in_use[name] for name in sorted(ours)}, (trouble,))
    if node.metadata.labels.get("nvidia.com/mig.config.state", "") not in CHANGING:
        return _Seen(present, working, tuple(_broken(present, working)))
    resting = {name: in_use.get(name, 0) for name in working if name.startswith("nvidia.com/")}
    return _Seen(present, working | resting, ("its MIG slices are being changed",))


def _broken(present: Mapping[str, int], working: Mapping[str, int]) -> Iterator[str]:
    for name, count in present.items():
        missing = count - working.get(name, 0)
        if missing > 0:
            yield f"{missing} of {count} {name} do not work"


def _is_handed_out_otherwise(node: Node, drivers: Collection[str]) -> bool:
    """Whether no plugin will ever offer the GPUs of a node.

    Drivers, virtual machines, and schedulers that share GPUs out have them then.
    """
    workloads = node.metadata.labels.get("nvidia.com/gpu.workload.config", "container")
    sharer = foreign_sharing(node.status.allocatable, node.metadata.annotations)
    return GPU_DRIVER in drivers or workloads != "container" or bool(sharer)


def _only_announced(labels: Mapping[str, str]) -> _Seen:
    found = _announced(labels)
    each = (f"{many} {name} are announced, none works yet" for name, many in found.items())
    return _Seen(found, {}, tuple(each))


def _stock(
    name: str, labels: Mapping[str, str], seen: _Seen, foreign: Mapping[str, int]
) -> ResourceDevices:
    count = seen.present.get(name, 0)
    kind = kind_of(name, labels, count)
    return ResourceDevices(kind, count, seen.working.get(name, 0), foreign.get(name, 0))


def _counts(quantities: Quantities) -> dict[str, int]:
    found = {name: amount(each) for name, each in quantities.items() if is_gpu_resource(name)}
    return {name: count for name, count in sorted(found.items()) if count > 0}


def _announced(labels: Mapping[str, str]) -> dict[str, int]:
    """Devices by the labels that describe the machine; times their replicas."""
    slices = {
        key.removesuffix(".count"): number(value)
        for key, value in sorted(labels.items())
        if key.startswith(MIG_PREFIX) and key.endswith(".count")
    }
    found = {name: count for name, count in slices.items() if count}
    if not found:
        count = next((count for key in COUNTS if (count := number(labels.get(key, "")))), 0)
        found = {WHOLE_GPUS: count} if count else {}
    return {name: count * sharing_of(name, labels).replicas for name, count in found.items()}


def _without_aliases(names: set[str]) -> set[str]:
    for group in ALIASES:
        there = [name for name in group if name in names]
        names = names - set(there[1:])
    return names


def _without_doubles(held: Mapping[str, int], present: Mapping[str, int]) -> dict[str, int]:
    """What others hold, with parts of devices counted as the devices that they are of."""
    found = dict(held)
    for group in ALIASES:
        there = [name for name in group if present.get(name)]
        for part in there[1:]:
            whole = there[0]
            devices = -(-found.pop(part, 0) * present[whole] // present[part])
            found[whole] = found.get(whole, 0) + devices
    return found


def _order(stock: ResourceDevices) -> tuple[bool, bool, str]:
    """Whole devices before parts and before shared ones, so that they name the node's flavor."""
    resource = stock.kind.resource
    return resource not in GPU_RESOURCES, not stock.kind.is_whole, resource
