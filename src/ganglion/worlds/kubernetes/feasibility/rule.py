"""Everything about a pod that rules out nodes whatever else runs on them."""

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache

from msgspec import Struct, json
from msgspec.structs import replace

from ganglion.worlds.kubernetes.feasibility.clauses import (
    Clause,
    Clauses,
    node_clauses,
    spelled,
    unmet,
)
from ganglion.worlds.kubernetes.feasibility.node_preferences import Taste, common, taste_of
from ganglion.worlds.kubernetes.feasibility.pins import pins_of
from ganglion.worlds.kubernetes.feasibility.taints import Tolerations, tolerated, tolerations_of
from ganglion.worlds.kubernetes.feasibility.volumes import Volumes
from ganglion.worlds.kubernetes.types.affinity import Affinity
from ganglion.worlds.kubernetes.types.node import Taint
from ganglion.worlds.kubernetes.types.pod import Pod, PodSpec

TAINT = "taint:"
BARRED = "barred:"


class PodRule(Struct, frozen=True, cache_hash=True):
    """Pods with equal rules may use the same nodes.

    Attributes:
        clauses: what a node has to be like.
        tolerations: taints that do no harm.
        impossible: why no node will do for now; empty = some may.
        bars: identifiers of sets of nodes that are closed to these pods.
        pins: those of the clauses that only volumes demand.
        taste: which of the nodes they prefer.
    """

    clauses: Clauses = ()
    tolerations: Tolerations = ()
    impossible: str = ""
    bars: tuple[str, ...] = ()
    pins: Clauses = ()
    taste: Taste = Taste()


def rule_of(pod: Pod, volumes: Volumes) -> PodRule:
    """The rule of a pod as its volumes are now."""
    spec = pod.spec
    affinity = Affinity(node_affinity=spec.affinity.node_affinity) if spec.affinity else None
    about = PodSpec(
        node_selector=spec.node_selector, affinity=affinity, tolerations=spec.tolerations
    )
    own = _own_rule(json.encode(about))
    if not spec.volumes:
        return own
    pins = pins_of(pod, volumes)
    more = tuple(each for each in dict.fromkeys(pins.clauses) if each not in own.clauses)
    return replace(own, clauses=(*own.clauses, *more), impossible=pins.trouble, pins=more)


@lru_cache(maxsize=16_384)
def _own_rule(written: bytes) -> PodRule:
    """The rule of pods without volumes that say this: few templates make most pods."""
    pod = Pod(spec=json.decode(written, type=PodSpec))
    clauses = tuple(dict.fromkeys(node_clauses(pod)))
    return PodRule(clauses, tolerations_of(pod.spec.tolerations), taste=taste_of(pod))


def shared(rules: Sequence[PodRule]) -> PodRule:
    """The rule of pods that all have to do with a node which any of them may be given."""
    first, *others = dict.fromkeys(rules) if len(rules) > 1 else rules
    if not others:
        return first
    tolerations = [t for t in first.tolerations if all(t in each.tolerations for each in others)]
    return PodRule(
        tuple(dict.fromkeys(clause for each in rules for clause in each.clauses)),
        tuple(tolerations),
        next((each.impossible for each in rules if each.impossible), ""),
        tuple(sorted({bar for each in rules for bar in each.bars})),
        tuple(dict.fromkeys(clause for each in rules for clause in each.pins)),
        common([each.taste for each in rules]),
    )


def with_bars(rule: PodRule, bars: Collection[str]) -> PodRule:
    """The same rule, but for these sets of closed nodes."""
    if not bars and not rule.bars:
        return rule
    return replace(rule, bars=tuple(sorted(set(bars))))


def obstacle(rule: PodRule, labels: Mapping[str, str]) -> str:
    """Why a node with these encoded labels will not do; empty = it will."""
    if rule.impossible:
        return rule.impossible
    if any(BARRED + each in labels for each in rule.bars):
        return "other pods block it"
    taint = _untolerated(rule.tolerations, labels)
    if taint:
        return f"taint {taint.key}:{taint.effect} is not tolerated"
    missed = unmet(rule.clauses, labels)
    return "" if missed is None else _missed(missed)


def passes(rule: PodRule, labels: Mapping[str, str]) -> bool:
    """Whether a node that will not do now may do without new labels or changed pods.

    Taints come and go, other pods end, volumes are made; labels are what a node is.
    """
    own = tuple(each for each in rule.clauses if each not in rule.pins)
    return bool(obstacle(rule, labels)) and unmet(own, labels) is None


def taint_label(taint: Taint) -> str:
    """The label of a taint; its value is that of the taint."""
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
