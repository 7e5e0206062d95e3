"""Claims in use: those for one pod at a time, and how many volumes a node can have."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from ganglion.worlds.kubernetes.feasibility.needs import Needs, Resident
from ganglion.worlds.kubernetes.feasibility.volumes import Volumes
from ganglion.worlds.kubernetes.pod_index.fleet import Fleet

Handle = tuple[str, str]
"""(driver, the driver's name for a volume)."""


class Mounted:
    """Which claims pods use, and where.

    Args:
        volumes: what is known of storage.
    """

    def __init__(self, volumes: Volumes) -> None:
        self._volumes = volumes
        self._on: dict[str, Counter[str]] = defaultdict(Counter)
        self._users: Counter[str] = Counter()

    def add(self, one: Resident) -> None:
        """A pod came."""
        for claim in one.needs.claims:
            self._on[one.node][claim] += 1
            self._users[claim] += 1

    def remove(self, one: Resident) -> None:
        """A pod left."""
        for claim in one.needs.claims:
            for counter in (self._on[one.node], self._users):
                counter[claim] -= 1
                if not counter[claim]:
                    del counter[claim]
        if one.needs.claims and not self._on[one.node]:
            del self._on[one.node]

    def troubles(self, needs: Needs, fleet: Fleet) -> Iterator[tuple[str, str]]:
        """Nodes that the claims rule out, and why."""
        if not needs.claims:
            return
        busy, wanted = self._busy(needs), self._handles(needs.claims)
        for node in fleet.views:
            why = busy or self._full(wanted, node)
            if why:
                yield node, why

    def trouble(self, needs: Needs, node: str) -> str:
        """Why the claims rule out a node; empty = they do not."""
        if not needs.claims:
            return ""
        return self._busy(needs) or self._full(self._handles(needs.claims), node)

    def _busy(self, needs: Needs) -> str:
        for claim in needs.claims:
            if self._users[claim] and self._volumes.only_for_one(claim):
                return f"claim {claim} is for one pod at a time and in use"
        return ""

    def _full(self, wanted: set[Handle], node: str) -> str:
        """The driver of which a node could not have all volumes, if there is one."""
        limits = self._limits(node)
        attached = set(self._volumes.attached_to(node)) if limits else set()
        most = len(self._on.get(node, ())) + len(attached) + len(wanted)
        if all(limits.get(driver, most) >= most for driver, _ in wanted):
            return ""
        there = self._handles(self._on.get(node, ())) | attached
        after = Counter(driver for driver, _ in there | wanted)
        for driver in sorted({driver for driver, _ in wanted - there}):
            if after[driver] > limits.get(driver, after[driver]):
                return f"no more volumes of {driver} can be attached"
        return ""

    def _limits(self, node: str) -> dict[str, int]:
        known = self._volumes.nodes.get(node)
        return {
            each.name: each.allocatable.count
            for each in (known.spec.drivers if known else ())
            if each.allocatable and each.allocatable.count is not None
        }

    def _handles(self, claims: Iterable[str]) -> set[Handle]:
        return {found for found in map(self._volumes.handle, claims) if found}
