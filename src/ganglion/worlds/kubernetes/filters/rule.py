"""Everything about a pod that rules out nodes whatever else runs on them."""

from collections.abc import Iterable, Mapping

from msgspec import Struct

from ganglion.worlds.kubernetes.filters.clauses import Clause, Clauses, node_clauses, spelled, unmet
from ganglion.worlds.kubernetes.filters.pins import pins_of
from ganglion.worlds.kubernetes.filters.taints import Tolerations, tolerated, tolerations_of
from ganglion.worlds.kubernetes.filters.volumes import Volumes
from ganglion.worlds.kubernetes.objects.node import Taint
from ganglion.worlds.kubernetes.objects.pod import Pod

TAINT = "taint:"
BARRED = "barred:"


class Rule(Struct, frozen=True, cache_hash=True):
    """Pods with equal rules may use the same nodes.

    Attributes:
        clauses: what a node has to be like.
        tolerations: taints that do no harm.
        impossible: why no node will do for now; empty = some may.
        bars: identifiers of sets of nodes that are closed to these pods.
    """

    clauses: Clauses = ()
    tolerations: Tolerations = ()
    impossible: str = ""
    bars: tuple[str, ...] = ()


def rule_of(pod: Pod, volumes: Volumes) -> Rule:
    """The rule of a pod as its volumes are now."""
    pins = pins_of(pod, volumes)
    clauses = dict.fromkeys((*node_clauses(pod), *pins.clauses))
    return Rule(tuple(clauses), tolerations_of(pod.spec.tolerations), pins.trouble)


def with_bars(rule: Rule, bars: Iterable[str]) -> Rule:
    """The same rule, but for these sets of closed nodes."""
    return Rule(rule.clauses, rule.tolerations, rule.impossible, tuple(sorted(set(bars))))


def obstacle(rule: Rule, labels: Mapping[str, str]) -> str:
    """Why a node with these encoded labels will not do; empty = it will."""
    if rule.impossible:
        return rule.impossible
    if any(BARRED + each in labels for each in rule.bars):
        return "other pods stand in the way"
    taint = _untolerated(rule.tolerations, labels)
    if taint:
        return f"taint {taint.key}:{taint.effect} is not tolerated"
    missed = unmet(rule.clauses, labels)
    return "" if missed is None else _missed(missed)


def taint_label(taint: Taint) -> str:
    """The label that stands for a taint; its value is that of the taint."""
    return f"{TAINT}{taint.effect}:{taint.key}"


def _untolerated(tolerations: Tolerations, labels: Mapping[str, str]) -> Taint | None:
    for label, value in labels.items():
        if label.startswith(TAINT):
            effect, key = label.removeprefix(TAINT).split(":", 1)
            taint = Taint(key, value, effect)
            if not tolerated(tolerations, taint):
                return taint
    return None


def _missed(clause: Clause) -> str:
    return f"wanted: {spelled(clause)}" if clause else "its node affinity fits no node at all"
