"""Names of accelerators: from what labels say to what people write, as `H100`."""

import re
from collections.abc import Mapping
from functools import lru_cache

from msgspec import Struct

INSTANCE_TYPE = "node.kubernetes.io/instance-type"

MODEL_KEYS: Mapping[str, tuple[str, ...]] = {
    "nvidia.com": (
        "nvidia.com/gpu.product",
        "gpu.nvidia.com/model",
        "gpu.nvidia.com/class",
        "cloud.google.com/gke-accelerator",
        "karpenter.k8s.aws/instance-gpu-name",
        "eks.amazonaws.com/instance-gpu-name",
        "karpenter.azure.com/sku-gpu-name",
    ),
    "amd.com": ("amd.com/gpu.product-name", "beta.amd.com/gpu.product-name"),
    "gpu.intel.com": ("gpu.intel.com/product",),
    "habana.ai": ("habana.ai/product.name",),
    "google.com": ("cloud.google.com/gke-tpu-accelerator",),
    "aws.amazon.com": ("karpenter.k8s.aws/instance-accelerator-name",),
}
"""Vendor's domain -> labels whose value names the model, the most exact first."""

INSTANCES: tuple[tuple[str, str], ...] = (
    (r"p3(dn)?\.", "V100"),
    (r"p4de?\.", "A100"),
    (r"p5\.", "H100"),
    (r"p5en?\.", "H200"),
    (r"p6-b200\.", "B200"),
    (r"p6-b300\.", "B300"),
    (r"p6e-gb200\.", "GB200"),
    (r"g4dn\.", "T4"),
    (r"g5\.", "A10G"),
    (r"g6\.", "L4"),
    (r"g6e\.", "L40S"),
    (r"a2-", "A100"),
    (r"a3-ultragpu", "H200"),
    (r"a3-", "H100"),
    (r"a4-", "B200"),
    (r"a4x-", "GB200"),
    (r"g2-", "L4"),
    (r"(?:BM|VM)\.GPU\.([A-Z]{1,2}\d+[A-Z]?)(?:-v\d+)?\.\d", ""),
    (r"BM\.GPU4\.8", "A100"),
    (r"Standard_.*_(GB\d+|[ABH]\d+|T4|V100|MI\d+X)_v\d", ""),
    (r"Standard_NC.*s_v3", "V100"),
)
"""Instance types of clouds and the model in them; the pattern's group where none is given."""

DEVICE_IDS: Mapping[str, str] = {
    "738c": "MI100",
    "7408": "MI250X",
    "740c": "MI250",
    "740f": "MI210",
    "74a1": "MI300X",
    "74a5": "MI325X",
    "74b5": "MI300X",
    "75a0": "MI350X",
    "75a3": "MI355X",
}
"""PCI device ids of AMD, for nodes whose driver knows no product name."""

UNNAMED: Mapping[str, str] = {
    "nvidia.com": "GPU",
    "amd.com": "AMD",
    "gpu.intel.com": "INTEL",
    "habana.ai": "GAUDI",
    "google.com": "TPU",
    "aws.amazon.com": "NEURON",
}
"""Name of a vendor's devices without a label."""

_NOISE = re.compile(
    r"NVIDIA|TESLA|QUADRO|GEFORCE|AMD|INSTINCT|INTEL|SXM\d*|OAM|PCIE|NVL\d*|NVLINK|HBM\w*|\d+GB|"
    r"GENERATION|GPU|SERVER|WORKSTATION|EDITION|MAX-?Q|BLACKWELL|LAPTOP|GRAPHICS|DEVICE|MEGA|VWS|"
    r"AC|HF|OF"
)
_SHARED = re.compile(r"-SHARED$")
_SLICED = re.compile(r"-MIG-([0-9A-Z.+]+)$")
_BOARD = frozenset({"H200", "H20", "H800", "B200", "B300", "GB200", "GB300"})
_UNSURE = frozenset({"A100", "A800", "H100"})
_HYPERSCALE = 8


class Product(Struct, frozen=True):
    """A model of accelerator.

    Attributes:
        model: as people name it, in upper case; only letters, digits, `.`, `_` and `-`.
        profile: the MIG profile that the label adds to it, as `1G.5GB`; empty for whole ones.
        form: the words of the label for its form factor.
    """

    model: str
    profile: str = ""
    form: frozenset[str] = frozenset()

    def is_linked(self, count: int) -> bool:
        """Whether the `count` devices of a node are linked directly with each other.

        Boards with switches, or meshes of all with all, are; cards are not, as labels do not show
        bridges between pairs.
        """
        if self.form & {"PCIE", "NVL"}:
            return False
        if any(word.startswith(("SXM", "NVLINK")) for word in self.form) or self.model in _BOARD:
            return True
        if self.model.startswith(("MI2", "MI3", "GAUDI", "TPU")):
            return True
        hbm = any(word.startswith("HBM") for word in self.form)
        return self.model in _UNSURE and (hbm or count >= _HYPERSCALE)

    @property
    def spans_nodes(self) -> bool:
        """Whether its links reach across the nodes of a rack."""
        return self.model.startswith(("GB2", "GB3", "VR"))


def product_of(resource: str, labels: Mapping[str, str]) -> Product:
    """The model that a node's labels name; a general name when they name none.

    Args:
        resource: as `nvidia.com/gpu`; its domain is the vendor's.
        labels: of the node.
    """
    vendor, _, name = resource.partition("/")
    for key in MODEL_KEYS.get(vendor, ()):
        if labels.get(key):
            return read(labels[key])
    model = _by_id(labels) if vendor == "amd.com" else ""
    if not model and vendor in ("nvidia.com", "amd.com"):
        model = _by_instance(labels.get(INSTANCE_TYPE, ""))
    return Product(model or UNNAMED.get(vendor, f"{vendor.partition('.')[0]}-{name}".upper()))


@lru_cache(maxsize=1024)
def read(text: str) -> Product:
    """Read a product's name: `NVIDIA-A100-SXM4-40GB-MIG-1g.5gb`, `Tesla-T4`, `nvidia-l4`."""
    plain = _SHARED.sub("", text.strip().upper().replace(" ", "-"))
    sliced = _SLICED.search(plain)
    if sliced:
        plain = plain[: sliced.start()]
    words = [word for word in re.split(r"[^0-9A-Z.]+", plain) if word]
    form = frozenset(word for word in words if _NOISE.fullmatch(word))
    return Product(_joined(words, form), sliced[1].replace("+", ".") if sliced else "", form)


def _joined(words: list[str], form: frozenset[str]) -> str:
    names = [word for word in words if word not in form]
    instinct = next((word for word in names if re.fullmatch(r"MI\d+\w*", word)), "")
    if instinct:
        return instinct
    if len(names) > 1 and names[0] in ("RTX", "GAUDI"):
        return names[1] if re.fullmatch(r"A\d+", names[1]) else "".join(names)
    name = "-".join(names) or "GPU"
    return name if name[0].isalpha() else f"GPU-{name}"


def _by_id(labels: Mapping[str, str]) -> str:
    for key in ("amd.com/gpu.device-id", "beta.amd.com/gpu.device-id"):
        if labels.get(key):
            return DEVICE_IDS.get(labels[key].lower(), "")
    return ""


@lru_cache(maxsize=1024)
def _by_instance(instance: str) -> str:
    for pattern, model in INSTANCES:
        found = re.match(pattern, instance)
        if found:
            return model or str(found[1])
    return ""
