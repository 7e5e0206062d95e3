"""What a pod needs of, and does to, what else runs in the cluster; in one hashable form."""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from ganglion.worlds.kubernetes.feasibility.clauses import Clauses
from ganglion.worlds.kubernetes.feasibility.taints import Tolerations
from ganglion.worlds.kubernetes.selectors import Selector

EVERY_ADDRESS = "0.0.0.0"


Words = frozenset[tuple[str, str]]
"""Labels of pods that rules name: (label, value), and (label, "") for each of the labels."""


class Pattern(Struct, frozen=True, cache_hash=True):
    """Which pods are meant.

    Attributes:
        selector: their labels.
        namespaces: their namespaces by name.
        elsewhere: more namespaces, by label; None = no more.
        staying: only pods that are not being deleted.
    """

    selector: Selector
    namespaces: tuple[str, ...] = ()
    elsewhere: Selector | None = None
    staying: bool = False

    def words(self) -> Words:
        """The labels that are spoken of."""
        found = {(each.key, "") for each in self.selector.requirements}
        values = ((e.key, value) for e in self.selector.requirements for value in e.values)
        return frozenset(found.union(values))


class AffinityTerm(Struct, frozen=True, cache_hash=True):
    """Pods in the same domain of a node label."""

    key: str
    pattern: Pattern


class WeightedTerm(AffinityTerm, frozen=True, cache_hash=True):
    """Domains with such pods are preferred, or avoided where the weight is less than 0."""

    weight: int


class Among(Struct, frozen=True, cache_hash=True):
    """The nodes over which pods are spread.

    Attributes:
        key: label whose values are the domains.
        keys: labels that a node must have to be counted.
        clauses: what else it has to be like.
        tolerations: only nodes whose taints these cover; None = taints do not matter.
    """

    key: str
    keys: tuple[str, ...]
    clauses: Clauses = ()
    tolerations: Tolerations | None = None


class SpreadRule(Struct, frozen=True, cache_hash=True):
    """No domain may have more than `max_skew` pods over that with the fewest.

    With fewer domains than `min_domains` the fewest counts as 0.
    """

    among: Among
    pattern: Pattern
    max_skew: int
    min_domains: int


class HostPort(Struct, frozen=True, order=True):
    """A port of the node itself."""

    ip: str
    protocol: str
    port: int


class Needs(Struct, frozen=True, cache_hash=True):
    """Pods with equal needs may go to the same nodes at the same moment, and prefer the same.

    Attributes:
        namespace, labels: by which other pods see it.
        near: pods that have to be in the same domains, all at once.
        apart: pods that must not be.
        spreads: how it is spread among its like.
        ports: ports of the node that it takes.
        extras: (resource, amount) of local disk and huge pages.
        claims: claims that it mounts.
        wishes: pods that it would rather be near, or apart from.
        soft: how it would rather be spread.
    """

    namespace: str
    labels: tuple[tuple[str, str], ...] = ()
    near: tuple[AffinityTerm, ...] = ()
    apart: tuple[AffinityTerm, ...] = ()
    spreads: tuple[SpreadRule, ...] = ()
    ports: tuple[HostPort, ...] = ()
    extras: tuple[tuple[str, int], ...] = ()
    claims: tuple[str, ...] = ()
    wishes: tuple[WeightedTerm, ...] = ()
    soft: tuple[SpreadRule, ...] = ()

    def patterns(self) -> Iterator[Pattern]:
        """Which pods these rules are about."""
        yield from (each.pattern for each in (*self.near, *self.apart))
        yield from (each.pattern for each in self.spreads)

    def is_choosy(self) -> bool:
        """Whether it matters to these pods what else runs."""
        return bool(
            self.near or self.apart or self.spreads or self.ports or self.extras or self.claims
        )

    def prefers(self) -> bool:
        """Whether these pods prefer some nodes for what else runs there."""
        return bool(self.wishes or self.soft)

    def words(self) -> Words:
        """The labels of pods that these rules name."""
        return frozenset(word for each in self.patterns() for word in each.words())


class Resident(Struct, frozen=True):
    """A pod on a node."""

    uid: str
    node: str
    needs: Needs
    labels: Mapping[str, str]
    leaving: bool = False


def meant(
    patterns: Sequence[Pattern], one: Resident, namespaces: Mapping[str, Mapping[str, str]]
) -> bool:
    """Whether all patterns mean a pod.

    Args:
        patterns: the patterns.
        one: the pod.
        namespaces: labels of all namespaces.
    """
    for each in patterns:  # noqa: SIM110 - a generator costs more than what it asks
        if not _means(each, one, namespaces):
            return False
    return True


def _means(pattern: Pattern, one: Resident, namespaces: Mapping[str, Mapping[str, str]]) -> bool:
    if pattern.staying and one.leaving:
        return False
    if one.needs.namespace not in pattern.namespaces:
        elsewhere = pattern.elsewhere
        if elsewhere is None or not elsewhere.selects(namespaces.get(one.needs.namespace, {})):
            return False
    return pattern.selector.selects(one.labels)


def telling(pattern: Pattern) -> tuple[str, str] | None:
    """A label that all pods which are meant have; None = there is no such label."""
    for each in pattern.selector.requirements:
        if each.operator == "In" and len(each.values) == 1:
            return each.key, each.values[0]
    return None
