"""Starts that failed, and where."""

from msgspec import Struct

from ganglion.model.errors import InvariantBroken


class Unready(Struct, frozen=True):
    """A gang that was not ready in time.

    Attributes:
        times: how often in a row.
        why: what kept it the last time.
        nodes: where its pods were not ready, names in their cluster.
        avoid_until: until when its tries keep off these nodes, in ms.
    """

    times: int
    why: str
    nodes: frozenset[str] = frozenset()
    avoid_until: int = 0


class FailedStarts:
    """What is remembered of starts that failed, until one succeeds.

    Invariant: what is remembered has happened at least once, and a node is suspected for gangs
    of one namespace; for those of a second it is shut.

    Attributes:
        failures: starts that failed in a row, by gang.
        unready: gangs that were not ready in time, until they are.
        suspects: node -> namespace of a gang that was not ready on it -> when, in ms.
    """

    def __init__(self) -> None:
        self.failures: dict[str, int] = {}
        self.unready: dict[str, Unready] = {}
        self.suspects: dict[str, dict[str, int]] = {}

    def count(self, gang: str) -> int:
        """A start failed; returns how many of the gang's had failed in a row before."""
        before = self.failures.get(gang, 0)
        self.failures[gang] = before + 1
        return before

    def suspect(self, node: str, namespace: str, now: int, within_ms: int) -> bool:
        """A gang was not ready on a node; returns whether the node is to be shut for that.

        Args:
            node: its name, with the prefix of its cluster.
            namespace: of the gang.
            now: the time in ms.
            within_ms: how long gangs of other namespaces are remembered.
        """
        others = self.suspects.pop(node, {}) | {namespace: now}
        recent = {name: at for name, at in others.items() if now - at < within_ms}
        if len(recent) > 1:
            return True
        self.suspects[node] = recent
        return False

    def check(self) -> None:
        """Check the invariant. Raises InvariantBroken."""
        for gang, times in self.failures.items():
            if times < 1:
                raise InvariantBroken(f"{times} failed starts of gang {gang} are remembered")
        for gang, each in self.unready.items():
            if each.times < 1 or not each.why:
                raise InvariantBroken(f"gang {gang} is remembered as not ready without a cause")
        for node, spaces in self.suspects.items():
            if len(spaces) != 1:
                raise InvariantBroken(f"node {node} is suspected for {len(spaces)} namespaces")
