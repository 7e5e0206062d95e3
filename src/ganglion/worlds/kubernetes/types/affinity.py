"""Where a pod wants to be, by nodes and by other pods."""

from ganglion.worlds.kubernetes.types.meta import LabelSelector, Object, Requirement


class NodeTerm(Object, frozen=True):
    """All expressions and fields have to match; a term without any matches nothing."""

    match_expressions: tuple[Requirement, ...] = ()
    match_fields: tuple[Requirement, ...] = ()


class NodeSelector(Object, frozen=True):
    """One of the terms has to match."""

    node_selector_terms: tuple[NodeTerm, ...] = ()


class PreferredNodes(Object, frozen=True):
    """Nodes that match are preferred by a weight of 1 to 100."""

    weight: int = 0
    preference: NodeTerm = NodeTerm()


class NodeAffinity(Object, frozen=True):
    """Node affinity."""

    required_during_scheduling_ignored_during_execution: NodeSelector | None = None
    preferred_during_scheduling_ignored_during_execution: tuple[PreferredNodes, ...] = ()


class PodTerm(Object, frozen=True):
    """Pods of some namespaces in the same domain of `topology_key`."""

    topology_key: str = ""
    label_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] = ()
    namespace_selector: LabelSelector | None = None
    match_label_keys: tuple[str, ...] = ()
    mismatch_label_keys: tuple[str, ...] = ()


class PreferredPods(Object, frozen=True):
    """Domains with such pods are preferred, or avoided, by a weight of 1 to 100."""

    weight: int = 0
    pod_affinity_term: PodTerm = PodTerm()


class PodAffinity(Object, frozen=True):
    """Pod affinity or anti-affinity."""

    required_during_scheduling_ignored_during_execution: tuple[PodTerm, ...] = ()
    preferred_during_scheduling_ignored_during_execution: tuple[PreferredPods, ...] = ()


class Affinity(Object, frozen=True):
    """`spec.affinity`."""

    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class SpreadConstraint(Object, frozen=True):
    """One of `spec.topologySpreadConstraints`."""

    max_skew: int = 1
    topology_key: str = ""
    when_unsatisfiable: str = "DoNotSchedule"
    label_selector: LabelSelector | None = None
    min_domains: int | None = None
    node_affinity_policy: str = "Honor"
    node_taints_policy: str = "Ignore"
    match_label_keys: tuple[str, ...] = ()


class Toleration(Object, frozen=True):
    """One of `spec.tolerations`; an empty key with `Exists` tolerates everything."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None
