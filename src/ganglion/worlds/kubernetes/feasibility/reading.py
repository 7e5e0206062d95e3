"""The needs of pods, read from their objects."""

from collections.abc import Iterable, Iterator

from ganglion.worlds.kubernetes.feasibility.clauses import node_clauses
from ganglion.worlds.kubernetes.feasibility.needs import (
    EVERY_ADDRESS,
    AffinityTerm,
    Among,
    HostPort,
    Needs,
    Pattern,
    Resident,
    SpreadRule,
    WeightedTerm,
)
from ganglion.worlds.kubernetes.feasibility.taints import tolerations_of
from ganglion.worlds.kubernetes.feasibility.volumes import mounts_of
from ganglion.worlds.kubernetes.gpu_resources import is_counted, is_gpu_resource
from ganglion.worlds.kubernetes.requests import ask_of
from ganglion.worlds.kubernetes.selectors import Selector, selector_of
from ganglion.worlds.kubernetes.types.affinity import (
    Affinity,
    PodAffinity,
    PodTerm,
    SpreadConstraint,
)
from ganglion.worlds.kubernetes.types.meta import LabelSelector, Requirement
from ganglion.worlds.kubernetes.types.pod import Container, Pod, PodSpec

HARD, SOFT = "DoNotSchedule", "ScheduleAnyway"
"""What happens where a constraint on spreading is not met."""


def needs_of(pod: Pod) -> Needs:
    """The needs of a pod.

    Raises:
        InputError: a quantity is none.
    """
    affinity = pod.spec.affinity
    asked = ask_of(pod).extras
    # Extended resources are the engine's to count, as GPUs are.
    extras = (e for e in asked if not is_gpu_resource(e[0]) and not is_counted(e[0]))
    return Needs(
        pod.metadata.namespace,
        tuple(sorted(pod.metadata.labels.items())),
        _terms(pod, affinity.pod_affinity if affinity else None),
        _terms(pod, affinity.pod_anti_affinity if affinity else None),
        tuple(_spreads(pod, HARD)) if pod.spec.topology_spread_constraints else (),
        tuple(sorted(set(_ports(pod.spec)))),
        tuple(extras),
        tuple(sorted({each.claim for each in mounts_of(pod)})) if pod.spec.volumes else (),
        tuple(_wishes(pod, affinity)) if affinity else (),
        tuple(_spreads(pod, SOFT)) if pod.spec.topology_spread_constraints else (),
    )


def resident(pod: Pod, node: str, uid: str = "", needs: Needs | None = None) -> Resident:
    """A pod as what it is to others once it is on a node.

    Args:
        pod: the pod.
        node: its name.
        uid: another than the pod's own; empty = the pod's.
        needs: of the pod, where they are known.

    Raises:
        InputError: a quantity is none.
    """
    known = needs_of(pod) if needs is None else needs
    return Resident(uid or pod.metadata.uid, node, known, pod.metadata.labels, pod.is_leaving)


def _terms(pod: Pod, affinity: PodAffinity | None) -> tuple[AffinityTerm, ...]:
    if affinity is None:
        return ()
    required = affinity.required_during_scheduling_ignored_during_execution
    return tuple(dict.fromkeys(_term(pod, each) for each in required))


def _wishes(pod: Pod, affinity: Affinity) -> Iterator[WeightedTerm]:
    for sign, rules in ((1, affinity.pod_affinity), (-1, affinity.pod_anti_affinity)):
        preferred = rules.preferred_during_scheduling_ignored_during_execution if rules else ()
        for each in preferred:
            term = _term(pod, each.pod_affinity_term)
            yield WeightedTerm(term.key, term.pattern, sign * each.weight)


def _term(pod: Pod, term: PodTerm) -> AffinityTerm:
    selector = _keyed(pod, term.label_selector, term.match_label_keys, "In")
    selector = selector.plus(_by_keys(pod, term.label_selector, term.mismatch_label_keys, "NotIn"))
    elsewhere = selector_of(term.namespace_selector) if term.namespace_selector else None
    own = () if term.namespaces or elsewhere else (pod.metadata.namespace,)
    return AffinityTerm(
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


def _spreads(pod: Pod, otherwise: str) -> Iterator[SpreadRule]:
    """The constraints with one word for what happens where they are not met."""
    rules = pod.spec.topology_spread_constraints
    same = [each for each in rules if each.when_unsatisfiable == otherwise]
    keys = tuple(sorted({each.topology_key for each in same}))
    for each in same:
        selector = _keyed(pod, each.label_selector, each.match_label_keys, "In")
        if not selector.requirements:
            # A selector of everything counts no pod, which is how the default scheduler reads it.
            selector = Selector(nothing=True)
        pattern = Pattern(selector, (pod.metadata.namespace,), None, True)
        yield SpreadRule(_among(pod, each, keys), pattern, each.max_skew, each.min_domains or 1)


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
