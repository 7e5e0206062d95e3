"""What the keepers of services and workspaces get from the scheduler."""

from collections.abc import Callable, Collection, Mapping, Sequence

from msgspec import Struct

from ganglion.worlds.kubernetes.types.pod import Pod


class ClusterSight(Struct, frozen=True):
    """What the scheduler knows of a cluster; each may be called from any thread.

    Attributes:
        pods: all pods of some namespaces, by namespace.
        worst: of some pods, by UID, a number of those that should go first.
        exporters: URLs of the DCGM exporters on a node.
    """

    pods: Callable[[Collection[str]], Mapping[str, Sequence[Pod]]]
    worst: Callable[[Sequence[Pod], int], Sequence[str]]
    exporters: Callable[[str], Sequence[str]]
