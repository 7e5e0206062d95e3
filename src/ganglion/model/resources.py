"""What pods ask for and what queues own, in integers."""

from typing import Self

from msgspec import Struct

from ganglion.model.fleet.levels import Level

WHOLE = 1000
"""Thousandths of one GPU: a whole device."""


def decimal(milli: int) -> str:
    """Thousandths as people write them: `1500` is `1.5`, `2000` is `2`."""
    whole, rest = divmod(milli, WHOLE)
    return f"{whole}.{rest:03d}".rstrip("0") if rest else str(whole)


def counted(number: int | str, word: str) -> str:
    """A number with its noun: `1 pod`, `2 pods`, `0.5 GPUs`."""
    return f"{number} {word}" if str(number) == "1" else f"{number} {word}s"


class GpuRequest(
    Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, cache_hash=True
):
    """The GPUs of one pod.

    Attributes:
        count: devices per pod.
        milli: share of each device in thousandths; below 1000 only when `count` is 1.
        share_mib: the share given as device memory in MiB instead; 0 = use `milli`.
        types: allowed device types; empty = any. The pods of a gang all get the first type
            in the list that has room for them; a pod alone gets the best-scoring device.
        min_memory_mib: memory each device must have in MiB; 0 = any.
    """

    count: int = 0
    milli: int = WHOLE
    share_mib: int = 0
    types: tuple[str, ...] = ()
    min_memory_mib: int = 0

    def takes(self, kind: str, device_mib: int) -> bool:
        """Whether a device of that type, with `device_mib` of memory, is one that is asked for."""
        return (not self.types or kind in self.types) and device_mib >= self.min_memory_mib

    def milli_on(self, device_mib: int) -> int:
        """Thousandths taken of a device with `device_mib` of memory, rounded up.

        More than 1000 means that the device is too small.
        """
        if not self.share_mib:
            return self.milli
        return -(-self.share_mib * WHOLE // device_mib) if device_mib else WHOLE + 1


class PodRequest(
    Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, cache_hash=True
):
    """What one pod needs of one node.

    Attributes:
        cpu_milli: thousandths of a CPU core.
        memory_mib: host memory in MiB.
        gpu: its GPUs.
        together: narrowest level its devices must share (`numa` or `island`); None = any.
        extras: (resource, amount) of what a node only counts, as network cards; sorted.
    """

    cpu_milli: int = 0
    memory_mib: int = 0
    gpu: GpuRequest = GpuRequest()
    together: Level | None = None
    extras: tuple[tuple[str, int], ...] = ()


class Amount(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A quantity of each resource that queues account for; None = not governed."""

    gpu_milli: int | None = None
    cpu_milli: int | None = None
    memory_mib: int | None = None


class Usage(Struct, frozen=True):
    """Resources in use or asked for."""

    gpu_milli: int = 0
    cpu_milli: int = 0
    memory_mib: int = 0

    def plus(self, other: Self, sign: int = 1) -> "Usage":
        """Add (`sign` 1) or subtract (`sign` -1)."""
        return Usage(
            self.gpu_milli + sign * other.gpu_milli,
            self.cpu_milli + sign * other.cpu_milli,
            self.memory_mib + sign * other.memory_mib,
        )
