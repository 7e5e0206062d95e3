"""Which devices a pod means that asks for a resource, in the cluster as it is."""

from collections.abc import Iterable

from msgspec import Struct, field

from ganglion.worlds.kubernetes.node_discovery.nodes import Described

SHARED = ("-SHARED", "-SLICED", "-MPS")
"""How the names of types end whose devices are handed out to several pods at a time."""


class Catalog(Struct, frozen=True):
    """The types of device in a cluster, by the resource that pods ask for them by.

    Attributes:
        types: resource -> types, those that a pod has alone first.
    """

    types: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def types_of(self, resource: str, count: int = 1) -> tuple[str, ...]:
        """Types that a pod may get which asks for `count` of a resource.

        More than one of a shared device is no promise of more than one device, so such types
        are left out then. Empty = there is no such device.
        """
        found = self.types.get(resource, ())
        return found if count <= 1 else tuple(each for each in found if not is_shared(each))

    def resource_of(self, kind: str) -> str:
        """The resource that a type is asked for by; empty = there is no such type."""
        return next((name for name, types in self.types.items() if kind in types), "")


def catalog_of(described: Iterable[Described]) -> Catalog:
    """The types of device on these nodes."""
    found: dict[str, set[str]] = {}
    for each in described:
        for resource, device in zip(each.resources, each.node.devices, strict=True):
            found.setdefault(resource, set()).add(device.type)
    return Catalog({name: _sorted(types) for name, types in sorted(found.items())})


def is_shared(kind: str) -> bool:
    """Whether devices of a type are handed out to several pods at a time."""
    return kind.endswith(SHARED)


def _sorted(types: set[str]) -> tuple[str, ...]:
    return tuple(sorted(types, key=lambda each: (is_shared(each), each)))
