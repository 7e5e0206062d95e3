"""What one unit of a node's GPU resource is: model, memory, how it is linked and shared."""

from collections.abc import Mapping
from fractions import Fraction

from msgspec import Struct

from ganglion.model.resources import WHOLE
from ganglion.worlds.kubernetes.gpu_discovery.numbers import number
from ganglion.worlds.kubernetes.gpu_discovery.products import Product, product_of
from ganglion.worlds.kubernetes.gpu_discovery.sharing import (
    MPS,
    SHARED_RESOURCE,
    Sharing,
    sharing_of,
)
from ganglion.worlds.kubernetes.gpu_discovery.slices import DeviceSlice, slice_of, vram_mib

NVIDIA_MEMORY = (
    "nvidia.com/gpu.memory",
    "karpenter.k8s.aws/instance-gpu-memory",
    "eks.amazonaws.com/instance-gpu-memory",
)
"""Labels with the memory of one device in MiB."""

_LEAST = Fraction(1, WHOLE)
GB = 1_000_000_000
"""The smallest that clouds mean by a gigabyte."""

USUAL: Mapping[str, str] = {
    "nvidia.com": "nvidia.com/gpu",
    "amd.com": "amd.com/gpu",
    "gpu.intel.com": "gpu.intel.com/xe",
    "aws.amazon.com": "aws.amazon.com/neuron",
}
"""Vendor -> the resource that needs no suffix; where a vendor is not named, every one."""


class GpuUnit(Struct, frozen=True):
    """What one unit of a resource is.

    Attributes:
        resource: as pods ask for it.
        type: its name in the model; no two resources have a type in common.
        memory_mib: memory that its user is sure of; 0 = unknown or none.
        is_linked: whether all of a node's are linked directly with each other.
        sharing: how often a device is handed out.
        part: which part of a GPU it is; None = unknown.
    """

    resource: str
    type: str
    memory_mib: int = 0
    is_linked: bool = False
    sharing: Sharing = Sharing()
    part: Fraction | None = Fraction(1)

    @property
    def is_whole(self) -> bool:
        """Whether its user has it alone."""
        return not self.sharing.strategy


def kind_of(resource: str, labels: Mapping[str, str], count: int) -> GpuUnit:
    """What one unit of a resource is on a node with these labels.

    Args:
        resource: as `nvidia.com/gpu`, `nvidia.com/mig-1g.10gb`, `amd.com/gpu`.
        labels: of the node.
        count: how many the node offers.
    """
    vendor = resource.partition("/")[0]
    product = product_of(resource, labels)
    sharing = sharing_of(resource, labels)
    memory = memory_of(vendor, labels)
    part = slice_of(resource, labels, product, memory)
    share, of = sharing.part, part.part if part else Fraction(1)
    counted = share * of if share and of else None
    return GpuUnit(
        resource,
        product.model + _suffix(resource, part, sharing),
        sharing.memory_of(part.memory_mib if part else memory),
        part is None and not sharing.strategy and product.is_linked(count),
        sharing,
        counted if counted and counted >= _LEAST else None,
    )


def memory_of(vendor: str, labels: Mapping[str, str]) -> int:
    """Memory of one device in MiB, by labels; 0 = unknown."""
    if vendor == "amd.com":
        return vram_mib(labels)
    if vendor != "nvidia.com":
        return 0
    told = next((found for key in NVIDIA_MEMORY if (found := number(labels.get(key, "")))), 0)
    return told or number(labels.get("gpu.nvidia.com/vram", "")) * GB >> 20


def model_of(labels: Mapping[str, str]) -> Product:
    """The model of a node's NVIDIA devices."""
    return product_of("nvidia.com/gpu", labels)


def _suffix(resource: str, part: DeviceSlice | None, sharing: Sharing) -> str:
    found = part.suffix if part else _renamed(resource.removesuffix(SHARED_RESOURCE))
    if resource.endswith(SHARED_RESOURCE):
        return f"{found}-SHARED"
    if not sharing.strategy:
        return found
    return f"{found}-MPS" if sharing.strategy == MPS else f"{found}-SLICED"


def _renamed(resource: str) -> str:
    """Sets devices apart that a vendor offers under a second name."""
    vendor, _, name = resource.partition("/")
    usual = USUAL.get(vendor, resource)
    return "" if usual == resource else f"-{name.upper()}"
