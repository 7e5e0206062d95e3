"""The static rules as a plugin of the engine."""

from collections.abc import Hashable, Sequence

from ganglion.engine.plugins.protocols import NodeClass, Rank
from ganglion.model.errors import InvariantBroken
from ganglion.model.workload import Gang, PodSet
from ganglion.worlds.kubernetes.feasibility.node_preferences import points
from ganglion.worlds.kubernetes.feasibility.rule import PodRule, obstacle, passes

NO_RULE = PodRule()
"""The rule of pods about which nothing is known: any node without taints."""


class KubernetesFilter:
    """Keeps gangs off nodes that their pods may not use.

    Attributes:
        rules: (gang, pod set) -> rule. Every rule in it has to be covered by what the labels of
            the nodes were encoded with, or nodes are ruled out that would do.
        are_worse: whether there are nodes that pods avoid for their taints.
    """

    name = "kubernetes"

    def __init__(self) -> None:
        self.rules: dict[tuple[str, str], PodRule] = {}
        self.are_worse = False

    def key(self, gang: Gang, pod_set: PodSet) -> Hashable:
        """The rule of the pod set."""
        return self.rules.get((gang.id, pod_set.name), NO_RULE)

    def allows(self, key: Hashable, node: NodeClass) -> bool:
        """Whether the rule leaves nodes of this class."""
        return not self.why_not(key, node)

    def why_not(self, key: Hashable, node: NodeClass) -> str:
        """What keeps pods with this rule off nodes of this class; empty = nothing."""
        return obstacle(_rule(key), dict(node.labels))

    def may_pass(self, key: Hashable, node: NodeClass) -> bool:
        """Whether pods with this rule may yet use nodes of this class, as they are labelled now."""
        return passes(_rule(key), dict(node.labels))

    def prefers(self, key: Hashable) -> bool:
        """Whether pods with this rule may prefer some nodes."""
        return self.are_worse or bool(_rule(key).taste.wishes)

    def rank(self, key: Hashable, node: NodeClass) -> Rank:
        """How well nodes of this class suit pods with this rule."""
        return _rule(key).taste.rank(dict(node.labels))

    def points(self, ranks: Sequence[Rank]) -> Sequence[int]:
        """What nodes of these ranks are worth where there are no others."""
        return points([(weight, worse) for weight, worse in ranks])


def _rule(key: Hashable) -> PodRule:
    if not isinstance(key, PodRule):
        raise InvariantBroken(f"{key!r} is no rule of this filter")
    return key
