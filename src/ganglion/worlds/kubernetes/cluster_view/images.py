"""Images that lie on nodes, as far as gangs that look for a place run them."""

from collections.abc import Collection, Iterable, Mapping

from ganglion.model.fleet.images import full_name
from ganglion.worlds.kubernetes.types.node import Node
from ganglion.worlds.kubernetes.types.pod import Pod
from ganglion.worlds.kubernetes.types.quantity import MIB

MOST = 1_000
"""Images that are looked for; those that no gang has asked for longest are left out first."""


class HeldImages:
    """Which nodes hold which images.

    A node lists dozens of images; those that no gang runs would make its description longer, and
    another one with every image that comes or goes.

    Args:
        nodes: of the cluster, by name.
        changed: gets the names of nodes whose description may be another by now.
    """

    def __init__(self, nodes: Mapping[str, Node], changed: set[str]) -> None:
        self._nodes, self._changed = nodes, changed
        self._wanted: dict[str, None] = {}
        self._fresh: set[str] = set()

    def want(self, images: Collection[str]) -> None:
        """Describe nodes with these images once they settle; names are full."""
        self._fresh.update(each for each in images if each not in self._wanted)
        for each in images:
            self._wanted.pop(each, None)
            self._wanted[each] = None
        while len(self._wanted) > MOST:
            del self._wanted[next(iter(self._wanted))]

    def settle(self) -> None:
        """Look on all nodes for images that are new: once for those of all gangs, as it is long."""
        if self._fresh:
            self._changed.update(name for name in self._nodes if self._held(name, self._fresh))
            self._fresh.clear()

    def on(self, node: str) -> dict[str, int]:
        """Image that is looked for -> MiB of it, rounded up, on a node."""
        return self._held(node, self._wanted)

    def _held(self, node: str, wanted: Collection[str]) -> dict[str, int]:
        return {
            name: -(-each.size_bytes // MIB)
            for each in self._nodes[node].status.images
            for name in each.names or ()
            if name in wanted and each.size_bytes > 0
        }


def images_of(pods: Iterable[Pod]) -> tuple[str, ...]:
    """Full names of the images that pods run."""
    named = (
        each.image for pod in pods for each in (*pod.spec.init_containers, *pod.spec.containers)
    )
    return tuple(dict.fromkeys(full_name(each) for each in named if each))
