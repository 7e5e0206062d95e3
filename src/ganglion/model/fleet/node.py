"""Nodes and their devices."""

from collections.abc import Sequence

from msgspec import Struct, field

from ganglion.model.causes import CordonKind
from ganglion.model.causes.former import cordon_of
from ganglion.model.fleet.levels import Level
from ganglion.model.placement import PodPlacement
from ganglion.model.resources import WHOLE


class Device(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One GPU of a node.

    Attributes:
        type: model as users name it, as `H100`.
        memory_mib: device memory in MiB; 0 = unknown.
        numa: NUMA node it hangs on.
        island: NVLink island within the node; devices that share one are linked directly.
        uuid: the vendor's identifier; empty for pretend devices.
        healthy: whether new pods may use it.
    """

    type: str
    memory_mib: int = 0
    numa: int = 0
    island: int = 0
    uuid: str = ""
    healthy: bool = True


class Node(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One node.

    Attributes:
        name: unique in the fleet.
        cpu_milli: allocatable CPU in thousandths of a core.
        memory_mib: allocatable host memory in MiB.
        devices: its GPUs; a device's index is its place in this tuple.
        domains: the named domain it lies in, by level above node; absent levels are left out.
        labels: free-form labels that constraints match.
        flavor: kind of node that quota is given in; empty = its device type, or `cpu`.
        cpu_flavor: flavor that quota of its CPU and memory is given in; empty = the same.
        max_pods: pod slots.
        cordoned: why no new pods may start here; empty = they may.
        extras: allocatable amount of each resource that is only counted, as network cards.
        cordoned_by: on whose account, see `cordon_of`; ask `cordon`.
        holds: digest of a model, or name of an image -> MiB of it that lie on the node, so that
            pods need not fetch them.
        parts: thousandths of a GPU that each of its devices is, by index, where usage is metered:
            slices of a GPU add up to it; 0 = unknown, and counts as 1000; empty = all are 1000.
    """

    name: str
    cpu_milli: int
    memory_mib: int
    devices: tuple[Device, ...] = ()
    domains: dict[Level, str] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    flavor: str = ""
    cpu_flavor: str = ""
    max_pods: int = 1 << 30
    cordoned: str = ""
    extras: dict[str, int] = field(default_factory=dict)
    cordoned_by: CordonKind | None = None
    holds: dict[str, int] = field(default_factory=dict)
    parts: tuple[int, ...] = ()

    @property
    def cordon(self) -> CordonKind | None:
        """On whose account no new pods may start here; None = they may."""
        return cordon_of(self.cordoned, self.cordoned_by)

    @property
    def kind(self) -> str:
        """The flavor that quota is charged in."""
        return self.flavor or (self.devices[0].type if self.devices else "cpu")

    def part(self, device: int) -> int:
        """Thousandths of a GPU that one of its devices counts as, as far as that is known."""
        return part_of(self.parts, device)

    @property
    def cpu_kind(self) -> str:
        """The flavor that quota of its CPU and memory is charged in."""
        return self.cpu_flavor or self.kind


def part_of(parts: Sequence[int], device: int) -> int:
    """Thousandths of a GPU that a device counts as, by the `parts` of its node."""
    return parts[device] or WHOLE if device < len(parts) else WHOLE


def milli_of(pod: PodPlacement, parts: Sequence[int]) -> int:
    """Thousandths of GPUs that a pod holds, as they are charged, by the `parts` of its node."""
    if not parts:
        return len(pod.devices) * pod.milli
    return sum(part_of(parts, device) * pod.milli // WHOLE for device in pod.devices)
