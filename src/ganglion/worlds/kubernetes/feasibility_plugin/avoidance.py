"""A gang that was not ready in time keeps off the nodes where it was not, while others will do.

The nodes are closed to its next try alone, and no gang is stopped for it meanwhile. If no other
node has capacity, or an hour has passed, it may go back: nodes are suspected here, not blamed.
"""

from collections.abc import Mapping

from msgspec.structs import replace

from ganglion.model.plan import Phase
from ganglion.model.reasons import Token
from ganglion.worlds.kubernetes.controller_state.controller_state import ControllerState
from ganglion.worlds.kubernetes.pod_rules.barred import bar_id

_NO_PLACE = (Token.CAPACITY, Token.TOPOLOGY, Token.CONSTRAINT)


class Avoidance:
    """Which gangs keep off which nodes.

    Attributes:
        nodes: gang that looks for a place -> nodes that it avoids, names in its cluster.
    """

    def __init__(self) -> None:
        self.nodes: dict[str, frozenset[str]] = {}

    def renew(self, scene: ControllerState, now: int) -> list[str]:
        """Compute anew which gangs avoid which nodes; returns gangs for which that has changed."""
        before = self.nodes
        self.nodes = {
            gang: known.nodes
            for gang, known in sorted(scene.starts.unready.items())
            if known.nodes and known.avoid_until > now and gang not in scene.attempts.by_gang
        }
        gangs = sorted({*before, *self.nodes})
        return [each for each in gangs if before.get(each) != self.nodes.get(each)]

    def marks(self, gang: str) -> tuple[str, ...]:
        """The mark of the nodes that a gang avoids, as a set of closed nodes."""
        return (bar_id(self.nodes[gang]),) if gang in self.nodes else ()

    def closed(
        self, scene: ControllerState, cluster: str, others: Mapping[str, frozenset[str]]
    ) -> dict[str, frozenset[str]]:
        """Node -> marks of the sets of closed nodes of a cluster that it is in."""
        found = dict(others)
        for gang, nodes in self.nodes.items():
            if scene.site_of(gang).name == cluster:
                for node in sorted(nodes):
                    found[node] = found.get(node, frozenset()).union(self.marks(gang))
        return found

    def settle(self, scene: ControllerState, now: int) -> set[str]:
        """A cycle is over: gangs that found no place without those nodes may have them again."""
        freed = set()
        for gang in self.nodes:
            record = scene.record(gang)
            reason = scene.state.gangs.reason(gang) if record else None
            waits = record is not None and record.phase is Phase.PENDING
            if waits and reason and reason.token in _NO_PLACE:
                scene.starts.unready[gang] = replace(scene.starts.unready[gang], avoid_until=now)
                freed.add(gang)
        return freed
