"""What a pod needs of, and does to, what else runs in the cluster; in one hashable form."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from ganglion.worlds.kubernetes.filters.clauses import Clauses, node_clauses
from ganglion.worlds.kubernetes.filters.selectors import Selector, selector_of
from ganglion.worlds.kubernetes.filters.taints import Tolerations, tolerations_of
from ganglion.worlds.kubernetes.filters.volumes import mounts_of
from ganglion.worlds.kubernetes.gpu_resources import is_gpu_resource
from ganglion.worlds.kubernetes.objects.affinity import PodAffinity, PodTerm, SpreadConstraint
from ganglion.worlds.kubernetes.objects.meta import LabelSelector, Requirement
from ganglion.worlds.kubernetes.objects.pod import Container, Pod, PodSpec
from ganglion.worlds.kubernetes.requests import ask_of

EVERY_ADDRESS = "0.0.0.0"


class Pattern(Struct, frozen=True, cache_hash=True):
    """Which pods are meant.

    Attributes:
        selector: their labels.
        namespaces: their namespaces by name.
        elsewhere: more namespaces, by label; None = no more.
        staying: only pods that have not been told to go.
    """

    selector: Selector
    namespaces: tuple[str, ...] = ()
    elsewhere: Selector | None = None
    staying: bool = False


class Term(Struct, frozen=True, cache_hash=True):
    """Pods in the same domain of a node label."""

    key: str
    pattern: Pattern


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


class Spread(Struct, frozen=True, cache_hash=True):
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
    """Pods with equal needs may go to the same nodes at the same moment.

    Attributes:
        namespace, labels: by which other pods see it.
        near: pods that have to be in the same domains, all at once.
        apart: pods that must not be.
        spreads: how it is spread among its like.
        ports: ports of the node that it takes.
        extras: (resource, amount) besides CPU, memory and GPUs.
        claims: claims that it mounts.
    """

    namespace: str
    labels: tuple[tuple[str, str], ...] = ()
    near: tuple[Term, ...] = ()
    apart: tuple[Term, ...] = ()
    spreads: tuple[Spread, ...] = ()
    ports: tuple[HostPort, ...] = ()
    extras: tuple[tuple[str, int], ...] = ()
    claims: tuple[str, ...] = ()


class Resident(Struct, frozen=True):
    """A pod on a node."""

    uid: str
    node: str
    needs: Needs
    labels: Mapping[str, str]
    leaving: bool = False


def needs_of(pod: Pod) -> Needs:
    """The needs of a pod.

    Raises:
        InputError: a quantity is none.
    """
    affinity = pod.spec.affinity
    extras = (each for each in ask_of(pod).extras if not is_gpu_resource(each[0]))
    return Needs(
        pod.metadata.namespace,
        tuple(sorted(pod.metadata.labels.items())),
        _terms(pod, affinity.pod_affinity if affinity else None),
        _terms(pod, affinity.pod_anti_affinity if affinity else None),
        tuple(_spreads(pod)) if pod.spec.topology_spread_constraints else (),
        tuple(sorted(set(_ports(pod.spec)))),
        tuple(extras),
        tuple(sorted({each.claim for each in mounts_of(pod)})) if pod.spec.volumes else (),
    )


def resident(pod: Pod, node: str, uid: str = "") -> Resident:
    """A pod as what it is to others once it is on a node."""
    needs = needs_of(pod)
    return Resident(uid or pod.metadata.uid, node, needs, pod.metadata.labels, pod.is_leaving)


def meant(
    patterns: Sequence[Pattern], one: Resident, namespaces: Mapping[str, Mapping[str, str]]
) -> bool:
    """Whether all patterns mean a pod.

    Args:
        patterns: the patterns.
        one: the pod.
        namespaces: labels of all namespaces.
    """
    return all(_means(each, one, namespaces) for each in patterns)


def _means(pattern: Pattern, one: Resident, namespaces: Mapping[str, Mapping[str, str]]) -> bool:
    if pattern.staying and one.leaving:
        return False
    if one.needs.namespace not in pattern.namespaces:
        elsewhere = pattern.elsewhere
        if elsewhere is None or not elsewhere.selects(namespaces.get(one.needs.namespace, {})):
            return False
    return pattern.selector.selects(one.labels)


def _terms(pod: Pod, affinity: PodAffinity | None) -> tuple[Term, ...]:
    if affinity is None:
        return ()
    required = affinity.required_during_scheduling_ignored_during_execution
    return tuple(dict.fromkeys(_term(pod, each) for each in required))


def _term(pod: Pod, term: PodTerm) -> Term:
    selector = _keyed(pod, term.label_selector, term.match_label_keys, "In")
    selector = selector.plus(_by_keys(pod, term.label_selector, term.mismatch_label_keys, "NotIn"))
    elsewhere = selector_of(term.namespace_selector) if term.namespace_selector else None
    own = () if term.namespaces or elsewhere else (pod.metadata.namespace,)
    return Term(
        term.topology_key, Pattern(selector, own or tuple(sorted(term.namespaces)), elsewhere)
    )


def _keyed(
    pod: Pod, selector: LabelSelector | None, keys: Iterable[str], operator: str
) -> Selector:
    return selector_of(selector).plus(_by_keys(pod, selector, keys, operator))


def _by_keys(
    pod: Pod, selector: LabelSelector | None, keys: Iterable[str], operator: str
) -> Iterator[Requirement]:
    """Requirements on the pod's own values, unless the API server has written them already."""
    written = {
        each.key
        for each in (selector.match_expressions if selector else ())
        if each.operator == operator
    }
    for key in keys:
        if key in pod.metadata.labels and key not in written:
            yield Requirement(key, operator, (pod.metadata.labels[key],))


def _spreads(pod: Pod) -> Iterator[Spread]:
    hard = [
        each
        for each in pod.spec.topology_spread_constraints
        if each.when_unsatisfiable == "DoNotSchedule"
    ]
    keys = tuple(sorted({each.topology_key for each in hard}))
    for each in hard:
        selector = _keyed(pod, each.label_selector, each.match_label_keys, "In")
        if not selector.requirements:
            # A selector of everything counts nobody, which is how the default scheduler reads it.
            selector = Selector(nothing=True)
        pattern = Pattern(selector, (pod.metadata.namespace,), None, True)
        yield Spread(_among(pod, each, keys), pattern, each.max_skew, each.min_domains or 1)


def _among(pod: Pod, constraint: SpreadConstraint, keys: tuple[str, ...]) -> Among:
    by_affinity = constraint.node_affinity_policy == "Honor"
    by_taints = constraint.node_taints_policy == "Honor"
    return Among(
        constraint.topology_key,
        keys,
        node_clauses(pod) if by_affinity else (),
        tolerations_of(pod.spec.tolerations) if by_taints else None,
    )


def _ports(spec: PodSpec) -> Iterator[HostPort]:
    for container in _lasting(spec):
        for each in container.ports:
            port = each.host_port or (each.container_port if spec.host_network else 0)
            if port > 0:
                yield HostPort(each.host_ip or EVERY_ADDRESS, each.protocol or "TCP", port)


def _lasting(spec: PodSpec) -> Iterator[Container]:
    """Containers that run as long as the pod does."""
    yield from spec.containers
    yield from (each for each in spec.init_containers if each.restart_policy == "Always")
