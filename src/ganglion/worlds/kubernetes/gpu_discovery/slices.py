"""Parts of accelerators that are resources of their own: MIG profiles, AMD's partitions."""

import re
from collections.abc import Mapping
from fractions import Fraction

from msgspec import Struct

from ganglion.worlds.kubernetes.gpu_discovery.numbers import gigabytes, number
from ganglion.worlds.kubernetes.gpu_discovery.products import Product

MIG_PREFIX = "nvidia.com/mig-"
AMD_PARTITION = re.compile(r"amd\.com/((?:spx|dpx|qpx|cpx)_nps\d)")
_WHOLE_PARTITIONS = ("", "spx", "spx_nps1")
_PARTS: Mapping[str, int] = {"spx": 1, "dpx": 2, "qpx": 4, "cpx": 8}
_PROFILE = re.compile(r"(?:(\d+)c\.)?(\d+)g\.(\d+)gb(?:[.+].*)?", re.IGNORECASE)
_SEVEN = "A100 A100X A800 H100 H800 H20 H200 GH200 B200 GB200 B300 GB300"
_SLICES: Mapping[str, int] = dict.fromkeys(_SEVEN.split(), 7) | {"A30": 4, "A30X": 4}
"""Compute slices of the models of NVIDIA whose number of them is known."""
_GB = 1_000_000_000


class DeviceSlice(Struct, frozen=True):
    """A part of a device.

    Attributes:
        profile: as vendors call it, in upper case: `1G.5GB`, `CPX_NPS4`.
        memory_mib: its memory; 0 = unknown.
        own: whether it has a resource of its own, and not that of whole devices.
        part: which part of a device it is, by compute; None = unknown.
    """

    profile: str
    memory_mib: int = 0
    own: bool = True
    part: Fraction | None = None

    @property
    def suffix(self) -> str:
        """What it adds to the name of a model; parts by another resource are another type."""
        word = "PART" if "NPS" in self.profile else "MIG"
        return f"-{word}-{self.profile}" if self.own else f"-{self.profile}"


def slice_of(
    resource: str, labels: Mapping[str, str], product: Product, whole_mib: int
) -> DeviceSlice | None:
    """The part of a device that one unit of a resource is; None for whole devices.

    Args:
        resource: as `nvidia.com/mig-1g.5gb`.
        labels: of the node.
        product: of the node, with the profile that its label names for resources of whole devices.
        whole_mib: memory by labels.
    """
    resource = resource.removesuffix(".shared")
    if resource.startswith(MIG_PREFIX):
        profile = resource.removeprefix(MIG_PREFIX)
        memory = number(labels.get(f"{resource}.memory", "")) or profile_mib(profile)
        return DeviceSlice(profile.upper(), memory, part=_compute(profile, product.model))
    own = AMD_PARTITION.fullmatch(resource)
    if own:
        return _partition(own[1], whole_mib, product.model, own=True)
    if resource == "nvidia.com/gpu":
        return _single(labels, product, whole_mib)
    return _homogeneous(labels, whole_mib, product.model) if resource == "amd.com/gpu" else None


def profile_mib(profile: str) -> int:
    """Memory that a MIG profile has at the least: `1g.5gb` is 5 GB, and never less; 0 = unknown."""
    found = _PROFILE.fullmatch(profile)
    return int(found[3]) * _GB >> 20 if found else 0


def _compute(profile: str, model: str) -> Fraction | None:
    """Compute slices of a MIG profile of those that a GPU has: `1g.5gb` of an A100 is 1/7."""
    found, slices = _PROFILE.fullmatch(profile), _SLICES.get(model, 0)
    own = int(found[1] or found[2]) if found else 0
    return Fraction(own, slices) if 0 < own <= slices else None


def _single(labels: Mapping[str, str], product: Product, whole_mib: int) -> DeviceSlice | None:
    """With the strategy `single` all devices of a node are slices under the usual name.

    The label of memory then is a slice's; clouds that label the size of the slices label no
    memory.
    """
    profile = product.profile or labels.get("cloud.google.com/gke-gpu-partition-size", "")
    if not profile:
        return None
    memory, part = whole_mib or profile_mib(profile), _compute(profile, product.model)
    return DeviceSlice(profile.upper(), memory, own=False, part=part)


def _homogeneous(labels: Mapping[str, str], whole_mib: int, model: str) -> DeviceSlice | None:
    for key in ("amd.com/gpu.compute-memory-partition", "amd.com/gpu.compute-partition"):
        kind = labels.get(key, "").lower()
        if kind not in _WHOLE_PARTITIONS:
            return _partition(kind, whole_mib, model, own=False)
    return None


def _partition(kind: str, whole_mib: int, model: str, *, own: bool) -> DeviceSlice:
    named = kind.partition("_")[0]
    parts = _PARTS.get(named, 1)
    # An MI300A has six dies, and other parts.
    known = named in _PARTS and model.startswith("MI3") and model != "MI300A"
    part = Fraction(1, parts) if known else None
    return DeviceSlice(kind.upper(), whole_mib // parts, own=own, part=part)


def vram_mib(labels: Mapping[str, str]) -> int:
    """Memory of AMD's devices by their labels; 0 = unknown."""
    keys = ("amd.com/gpu.vram", "beta.amd.com/gpu.vram")
    return next((gigabytes(labels[key]) for key in keys if labels.get(key)), 0)
