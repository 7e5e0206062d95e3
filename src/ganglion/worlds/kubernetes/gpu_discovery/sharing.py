"""Devices that are handed out more than once, by their plugin or by another scheduler."""

from collections.abc import Mapping
from fractions import Fraction

from msgspec import Struct

from ganglion.worlds.kubernetes.gpu_discovery.numbers import number
from ganglion.worlds.kubernetes.gpu_resources import FOREIGN_RESOURCES

SHARED_RESOURCE = ".shared"
"""What the plugin adds to the name of a resource whose devices it allocates more than once."""

MPS, SLICED = "mps", "time-slicing"

FOREIGN_ANNOTATIONS = ("hami.io/node-nvidia-register", "volcano.sh/node-vgpu-register")
"""Marks of nodes on which a resource counts such parts under the name of whole GPUs."""


class Sharing(Struct, frozen=True):
    """How a plugin allocates one device more than once.

    Attributes:
        strategy: `time-slicing`, `mps`, or empty where every device goes to one pod.
        replicas: how often each device is offered.
    """

    strategy: str = ""
    replicas: int = 1

    @property
    def part(self) -> Fraction | None:
        """Which part of a device one replica is; None = it is unknown how many there are."""
        return None if self.strategy and self.replicas <= 1 else Fraction(1, self.replicas)

    def memory_of(self, device_mib: int) -> int:
        """Memory that one replica is sure of; 0 = none.

        MPS bounds its clients. Time-slicing bounds no client, so nothing can be promised.
        """
        if self.strategy == SLICED:
            return 0
        return device_mib // max(1, self.replicas)


def sharing_of(resource: str, labels: Mapping[str, str]) -> Sharing:
    """How the devices of a resource are handed out, by labels and the resource's name."""
    renamed = resource.endswith(SHARED_RESOURCE)
    replicas, strategy = _replicas(resource.removesuffix(SHARED_RESOURCE), labels)
    if not renamed and replicas <= 1:
        return Sharing()
    return Sharing(MPS if strategy == MPS else SLICED, max(1, replicas))


def _replicas(resource: str, labels: Mapping[str, str]) -> tuple[int, str]:
    """How often each device of a resource is offered, and by which strategy."""
    if not resource.startswith("nvidia.com/"):
        return 1, ""
    strategy = labels.get("nvidia.com/gpu.sharing-strategy", "")
    replicas = number(labels.get(f"{resource}.replicas", ""))
    if replicas or resource != "nvidia.com/gpu":
        return max(1, replicas), strategy
    strategy = labels.get("cloud.google.com/gke-gpu-sharing-strategy", "")
    clients = number(labels.get("cloud.google.com/gke-max-shared-clients-per-gpu", ""))
    return max(1, clients), strategy


def foreign_sharing(offered: Mapping[str, object], annotations: Mapping[str, str]) -> str:
    """What shows that another scheduler shares out a node's GPUs; empty when nothing does."""
    marks = [name for name in FOREIGN_ANNOTATIONS if name in annotations]
    names = [name for name in FOREIGN_RESOURCES if str(offered.get(name, 0)) != "0"]
    return next(iter(marks + names), "")
