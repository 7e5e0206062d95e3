"""Claims in use: those for one pod at a time, and which and how many volumes a node can have."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from ganglion.worlds.kubernetes.feasibility.clauses import meets
from ganglion.worlds.kubernetes.feasibility.needs import Needs, Resident
from ganglion.worlds.kubernetes.feasibility.pins import Delayed, delayed
from ganglion.worlds.kubernetes.feasibility.volume_matching import asked_by
from ganglion.worlds.kubernetes.feasibility.volumes import Volumes
from ganglion.worlds.kubernetes.pod_index.fleet import Fleet
from ganglion.worlds.kubernetes.types.storage import PersistentVolume

Handle = tuple[str, str]
"""(driver, the driver's name for a volume)."""


class Choice(Struct, frozen=True):
    """Volumes for claims that wait for their first consumer, on one node.

    Attributes:
        volumes: claim -> the volume that it is to be bound to; for others one is made.
        lacking: the first claim for which there is no volume, and none can be made; empty = none.
    """

    volumes: Mapping[str, PersistentVolume]
    lacking: str = ""


class Mounted:
    """Which claims pods use, and where.

    A claim that waits for its first consumer is given a volume once its first pod is put on a
    node, and keeps it until the last one is taken away: no other claim gets that volume.

    Args:
        volumes: what is known of storage.
        fleet: the nodes.
    """

    def __init__(self, volumes: Volumes, fleet: Fleet) -> None:
        self._volumes, self._fleet = volumes, fleet
        self._volume_of: dict[str, str] = {}
        self._claim_of: dict[str, str] = {}
        self._answered: tuple[object, list[tuple[int, str, Delayed]]] = (None, [])
        self._on: dict[str, Counter[str]] = defaultdict(Counter)
        self._users: Counter[str] = Counter()

    def add(self, one: Resident) -> None:
        """A pod came."""
        for claim in one.needs.claims:
            self._on[one.node][claim] += 1
            self._users[claim] += 1
        for claim, volume in self.choose(one.needs.claims, one.node).volumes.items():
            self._take_back(claim)
            self._volume_of[claim] = volume.metadata.name
            self._claim_of[volume.metadata.name] = claim

    def remove(self, one: Resident) -> None:
        """A pod left."""
        for claim in one.needs.claims:
            for counter in (self._on[one.node], self._users):
                counter[claim] -= 1
                if not counter[claim]:
                    del counter[claim]
            if claim not in self._users:
                self._take_back(claim)
        if one.needs.claims and not self._on[one.node]:
            del self._on[one.node]

    def troubles(self, needs: Needs, fleet: Fleet) -> Iterator[tuple[str, str]]:
        """Nodes that the claims rule out, and why."""
        if not needs.claims:
            return
        busy, wanted = self._busy(needs), self._handles(needs.claims)
        for node in fleet.views:
            why = busy or self._full(wanted, node) or self._lacking(needs, node)
            if why:
                yield node, why

    def trouble(self, needs: Needs, node: str) -> str:
        """Why the claims rule out a node; empty = they do not."""
        if not needs.claims:
            return ""
        full = self._full(self._handles(needs.claims), node)
        return self._busy(needs) or full or self._lacking(needs, node)

    def choose(self, claims: Iterable[str], node: str) -> Choice:
        """Choose volumes for those of some claims of a pod that wait for their first consumer.

        The smallest claim chooses first, and the smallest volume that suits. A claim that was
        given a volume keeps it.
        """
        found: dict[str, PersistentVolume] = {}
        view, claims = self._fleet.views.get(node), tuple(claims)
        if view is None or not claims:
            return Choice(found)
        for _, key, how in self._waiting(claims):
            given = self._volume_of.get(key)
            given = given if given in how.candidates.names else None
            taken = {each.metadata.name for each in found.values()}
            for volume in how.candidates.on(view.labels):
                name = volume.metadata.name
                if name == given or (given is None and name not in taken and self._is_free(name)):
                    found[key] = volume
                    break
            else:
                if given or how.made is None or not meets(how.made, view.labels):
                    return Choice(found, key)
        return Choice(found)

    def _waiting(self, claims: tuple[str, ...]) -> list[tuple[int, str, Delayed]]:
        """(size, key, how it gets a volume) of claims that wait, the smallest first."""
        question = (self._volumes.version, claims)
        if self._answered[0] != question:
            found = []
            for key in claims:
                claim = self._volumes.claims.get(key)
                how = delayed(claim, self._volumes) if claim else None
                if claim and how:
                    found.append((asked_by(claim).size, key, how))
            self._answered = question, sorted(found, key=lambda each: each[:2])
        return self._answered[1]

    def _is_free(self, volume: str) -> bool:
        """Whether no claim that still waits was given a volume."""
        claim = self._volumes.claims.get(self._claim_of.get(volume, ""))
        return claim is None or bool(claim.spec.volume_name)

    def _take_back(self, claim: str) -> None:
        """A claim has the volume that it was given no longer."""
        volume = self._volume_of.pop(claim, "")
        if self._claim_of.get(volume) == claim:
            del self._claim_of[volume]

    def _lacking(self, needs: Needs, node: str) -> str:
        claim = self.choose(needs.claims, node).lacking
        return f"no volume is left for claim {claim}" if claim else ""

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
