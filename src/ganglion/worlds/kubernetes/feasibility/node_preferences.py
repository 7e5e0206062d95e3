"""Which nodes a pod prefers for what they are, as the default scheduler compares them."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from ganglion.worlds.kubernetes.feasibility.clauses import node_wishes
from ganglion.worlds.kubernetes.feasibility.taints import (
    WORSE,
    Tolerations,
    tolerated,
    tolerations_of,
)
from ganglion.worlds.kubernetes.selectors import Requirements, hold
from ganglion.worlds.kubernetes.types.node import Taint
from ganglion.worlds.kubernetes.types.pod import Pod

MOST = 100
"""Points of the best node, for each sort of preference."""
BY_AFFINITY, BY_TAINTS = 2, 3
"""How much node affinity and taints count; these are the default scheduler's weights."""

_PREFIX = "worse:"

Static = tuple[int, int]
"""Weights of the terms that a node meets, and how many of its taints a pod would rather avoid."""


class Taste(Struct, frozen=True, cache_hash=True):
    """Pods of equal taste prefer the same nodes, as far as it is for what these are.

    Attributes:
        wishes: what nodes are preferred for, with weights.
        tolerations: of taints with the effect `PreferNoSchedule`.
    """

    wishes: tuple[tuple[Requirements, int], ...] = ()
    tolerations: Tolerations = ()

    def rank(self, labels: Mapping[str, str]) -> Static:
        """How well a node with these encoded labels suits."""
        weight = sum(weight for wanted, weight in self.wishes if hold(wanted, labels))
        worse = sum(
            not tolerated(self.tolerations, _taint(label, value))
            for label, value in labels.items()
            if label.startswith(_PREFIX)
        )
        return weight, worse


def taste_of(pod: Pod) -> Taste:
    """Which nodes a pod prefers."""
    return Taste(node_wishes(pod), tolerations_of(pod.spec.tolerations, WORSE))


def common(tastes: Sequence[Taste]) -> Taste:
    """What all of some pods prefer."""
    first, *others = tastes
    return Taste(
        tuple(each for each in first.wishes if all(each in other.wishes for other in others)),
        tuple(t for t in first.tolerations if all(t in other.tolerations for other in others)),
    )


def points(ranks: Sequence[Static]) -> list[int]:
    """How nodes of these ranks compare with each other, in points."""
    most = max((weight for weight, _ in ranks), default=0)
    worst = max((worse for _, worse in ranks), default=0)
    return [
        BY_AFFINITY * (MOST * weight // most if most else 0)
        + BY_TAINTS * (MOST - (MOST * worse // worst if worst else 0))
        for weight, worse in ranks
    ]


def worse_label(taint: Taint) -> str:
    """The label of a taint for which other nodes are preferred."""
    return f"{_PREFIX}{taint.key}"


def is_worse(labels: Mapping[str, str]) -> bool:
    """Whether a node with these encoded labels has such a taint."""
    return any(label.startswith(_PREFIX) for label in labels)


def _taint(label: str, value: str) -> Taint:
    return Taint(label.removeprefix(_PREFIX), value, WORSE[0])
