"""Where the nodes of one cluster lie, and which level of the topology a node label names."""

from collections.abc import Iterable

from msgspec import Struct

from ganglion.model.fleet.levels import Level
from ganglion.model.fleet.node import Node
from ganglion.worlds.kubernetes.gpu_discovery.dra import NOTHING, Published
from ganglion.worlds.kubernetes.node_discovery.nesting import NestingFaults, check_levels
from ganglion.worlds.kubernetes.node_discovery.nodes import place_of
from ganglion.worlds.kubernetes.node_discovery.topology import DISCOVERED, TopologySources, level_of
from ganglion.worlds.kubernetes.types import node as kube
from ganglion.worlds.kubernetes.workload_discovery.annotations import STANDARD_LABELS

Domains = dict[Level, str]


class _Place(Struct, frozen=True):
    """A node's place by its labels, with their contradictions."""

    node: kube.Node
    domains: Domains


class Places:
    """The domains of nodes, without those that contradict others.

    A node costs the same whatever the size of the cluster; all of them are compared once after
    the place of any has changed.

    Args:
        cluster: its name; empty = it is the only one.
        sources: where levels are read from.

    Attributes:
        published: what drivers publish about devices.
        troubles: domains that contradict each other.
    """

    def __init__(self, cluster: str = "", sources: TopologySources = DISCOVERED) -> None:
        self._cluster, self._sources = cluster, sources
        self._places: dict[str, _Place] = {}
        self._levels = NestingFaults()
        self._asked: dict[str, Level | None] = {}
        self._meant: dict[str, Level | None] = {}
        self._is_stale = False
        self._has_new_labels = False
        self.published: Published = NOTHING

    @property
    def troubles(self) -> tuple[str, ...]:
        """What contradicts itself, with the nodes."""
        return self._levels.troubles

    def put(self, node: kube.Node) -> None:
        """A node came or changed."""
        name = node.metadata.name
        known = self._places.get(name)
        if known and _is_alike(known.node, node):
            return
        self._read(node)
        self._has_new_labels = True

    def drop(self, name: str) -> None:
        """A node is gone."""
        if self._places.pop(name, None):
            self._is_stale = self._has_new_labels = True

    def publish(self, published: Published) -> set[str]:
        """Drivers publish something else; returns the nodes that this concerns."""
        before, self.published = self.published, published
        changed = {
            name
            for name in (before.counts.keys() | published.counts.keys()) & self._places.keys()
            if _said(before, name) != _said(published, name)
        }
        for name in sorted(changed):
            self._read(self._places[name].node)
        return changed

    def settle(self) -> set[str]:
        """Find out anew what contradicts itself; returns nodes of which other levels count."""
        if not self._is_stale:
            return set()
        self._is_stale = False
        before = self._levels.dropped
        self._levels = check_levels(
            Node(name, 0, 0, domains=each.domains) for name, each in self._places.items()
        )
        now = self._levels.dropped
        return {name for name in before.keys() | now.keys() if before.get(name) != now.get(name)}

    def domains(self, name: str) -> Domains:
        """The domains that a node lies in, as far as they are beyond doubt."""
        known, gone = self._places[name].domains, self._levels.dropped.get(name)
        if not gone:
            return known
        return {level: domain for level, domain in known.items() if level not in gone}

    def meant(self, key: str) -> Level | None:
        """The level of a node label; None = none.

        A label that Kubernetes defines is known before any node is.
        """
        found = self.level_of(key)
        if found is None and key in STANDARD_LABELS and not self._is_used(key):
            found = STANDARD_LABELS[key]
        self._meant[key] = found
        return found

    def level_of(self, key: str) -> Level | None:
        """The same, by the labels of nodes alone."""
        if key not in self._asked:
            self._asked[key] = self._found(key)
        return self._asked[key]

    def levels_among(self, keys: Iterable[str]) -> dict[str, Level]:
        """Those of some node labels that name a level, with the level."""
        found = {key: self.level_of(key) for key in keys}
        return {key: level for key, level in found.items() if level is not None}

    def has_moved(self) -> bool:
        """Whether a label that a caller asked about names another level by now."""
        if not self._has_new_labels:
            return False
        self._has_new_labels = False
        before, self._asked = self._asked, {key: self._found(key) for key in self._asked}
        meant, self._meant = self._meant, {key: self.meant(key) for key in self._meant}
        return before != self._asked or meant != self._meant

    def _read(self, node: kube.Node) -> None:
        name = node.metadata.name
        known = self._places.get(name)
        domains = place_of(node, self._cluster, self._sources, self.published)
        self._places[name] = _Place(node, domains)
        if known is None or known.domains != domains:
            self._is_stale = self._has_new_labels = True

    def _found(self, key: str) -> Level | None:
        return level_of(
            key, ((each.node.metadata.labels, each.domains) for each in self._places.values())
        )

    def _is_used(self, key: str) -> bool:
        return any(key in each.node.metadata.labels for each in self._places.values())


def _is_alike(one: kube.Node, other: kube.Node) -> bool:
    """Whether no label of a node's place has changed."""
    return (
        one.metadata.labels == other.metadata.labels
        and one.spec.provider_id == other.spec.provider_id
    )


def _said(published: Published, name: str) -> tuple[object, object]:
    return published.counts.get(name), published.attributes.get(name)
