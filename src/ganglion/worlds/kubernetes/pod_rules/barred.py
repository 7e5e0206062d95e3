"""Which nodes other pods and what they hold close to a pod, at this moment."""

from collections.abc import Iterable
from hashlib import blake2b

from ganglion.worlds.kubernetes.feasibility.needs import Needs, Resident
from ganglion.worlds.kubernetes.pod_index.fleet import Fleet
from ganglion.worlds.kubernetes.pod_index.pods import PodIndex
from ganglion.worlds.kubernetes.pod_rules.barrier import Barrier
from ganglion.worlds.kubernetes.pod_rules.pod_affinity import alone, kept_away
from ganglion.worlds.kubernetes.pod_rules.spread import crowded


def barred(needs: Needs, crowd: PodIndex, fleet: Fleet) -> dict[str, str]:
    """Nodes that are closed to a pod with these needs, each with one of the reasons."""
    found: dict[str, str] = {}
    for each in (
        crowd.ports.clashes(needs.ports),
        crowd.counted.shortages(needs, fleet),
        crowd.mounted.troubles(needs, fleet),
        *(barrier.nodes(fleet) for barrier in _barriers(needs, crowd, fleet)),
    ):
        found |= _least(pair for pair in each if pair[0] not in found)
    return {node: why for node, why in found.items() if node in fleet.views}


class Openness:
    """Whether nodes are open to a pod at this moment; a question costs a few look-ups.

    Args:
        needs: of the pod.
        crowd: the pods on the nodes; what changes afterwards is not seen.
        fleet: the nodes.
    """

    def __init__(self, needs: Needs, crowd: PodIndex, fleet: Fleet) -> None:
        self._needs, self._crowd, self._fleet = needs, crowd, fleet
        self._barriers = _barriers(needs, crowd, fleet)
        self._is_simple = not (needs.ports or needs.extras or needs.claims)

    @property
    def is_total(self) -> bool:
        """Whether all nodes are open."""
        return self._is_simple and not self._barriers

    def allows(self, node: str) -> bool:
        """Whether a node is open."""
        view = self._fleet.views.get(node)
        if view is None:
            return False
        for barrier in self._barriers:
            if barrier.closes(view):
                return False
        return self._is_simple or not self._shortage(node)

    def _shortage(self, node: str) -> str:
        needs, crowd = self._needs, self._crowd
        return (
            crowd.ports.clash(needs.ports, node)
            or crowd.counted.shortage(needs, self._fleet, node)
            or crowd.mounted.trouble(needs, node)
        )


def _barriers(needs: Needs, crowd: PodIndex, fleet: Fleet) -> tuple[Barrier, ...]:
    one = Resident("", "", needs, dict(needs.labels))
    return (
        *kept_away(one, crowd, fleet),
        *alone(one, crowd, fleet),
        *crowded(one, crowd, fleet),
    )


def bar_id(nodes: Iterable[str]) -> str:
    """A short identifier of a set of nodes; empty for the empty set.

    Pods that are barred from the same nodes share it, whatever the reasons.
    """
    names = sorted(set(nodes))
    return blake2b("\n".join(names).encode(), digest_size=8).hexdigest() if names else ""


def _least(reasons: Iterable[tuple[str, str]]) -> dict[str, str]:
    """One reason per node that does not depend on which pod came first."""
    found: dict[str, str] = {}
    for node, why in reasons:
        if node not in found or why < found[node]:
            found[node] = why
    return found
