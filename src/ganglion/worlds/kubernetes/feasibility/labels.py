"""Nodes as the engine sees them: by those labels alone that some rule names.

Nodes that no rule distinguishes get equal labels and so fall into one class, which keeps the
classes few on clusters where every node has a name and dozens of labels of its own.
"""

from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct, field

from ganglion.worlds.kubernetes.feasibility.clauses import NODE_NAME, requirements_in
from ganglion.worlds.kubernetes.feasibility.node_preferences import worse_label
from ganglion.worlds.kubernetes.feasibility.rule import BARRED, PodRule, taint_label
from ganglion.worlds.kubernetes.feasibility.taints import (
    CORDON,
    barring_taints,
    integer,
    tolerated,
    worse_taints,
)
from ganglion.worlds.kubernetes.selectors import number
from ganglion.worlds.kubernetes.types.node import Node, Taint

OTHER = "*"
"""A value that no rule names; no real value looks like it."""

_NUMBERS = ("Gt", "Lt")


class Words(Struct, frozen=True):
    """What rules say of one label or taint.

    Attributes:
        values: the values they name.
        presence: whether it matters that it is there, whatever its value.
        numbers: whether its value is compared as a number.
    """

    values: frozenset[str] = frozenset()
    presence: bool = False
    numbers: bool = False

    def plus(self, other: "Words") -> "Words":
        """Both together."""
        return Words(
            self.values | other.values,
            self.presence or other.presence,
            self.numbers or other.numbers,
        )


class Mentioned(Struct, frozen=True):
    """What rules name.

    Attributes:
        labels: by key.
        taints: by key.
        counted: counted resources that pods take.
        cordons: whether some pod tolerates that a node is cordoned.
    """

    labels: dict[str, Words] = field(default_factory=dict)
    taints: dict[str, Words] = field(default_factory=dict)
    counted: frozenset[str] = frozenset()
    cordons: bool = False

    def covers(self, other: "Mentioned") -> bool:
        """Whether nodes encoded by this can be distinguished as `other` needs it."""
        if not other.counted <= self.counted or other.cordons > self.cordons:
            return False
        return _covers(self.labels, other.labels) and _covers(self.taints, other.taints)


def mentioned_by(rules: Iterable[PodRule], counted: frozenset[str] = frozenset()) -> Mentioned:
    """What these rules name, beside the counted resources that pods take."""
    labels: dict[str, Words] = {}
    taints: dict[str, Words] = {}
    distinct = dict.fromkeys(rules)
    for rule in distinct:
        for key, words in _words_on_labels(rule):
            labels[key] = labels.get(key, Words()).plus(words)
        for key, words in _words_on_taints(rule):
            taints[key] = taints.get(key, Words()).plus(words)
    return Mentioned(labels, taints, counted, any(map(bears_cordons, distinct)))


def bears_cordons(rule: PodRule) -> bool:
    """Whether pods with this rule may be placed on a cordoned node."""
    return tolerated(rule.tolerations, CORDON)


def labels_of(
    node: Node, mentioned: Mentioned, barred: frozenset[str] = frozenset()
) -> dict[str, str]:
    """The labels of a node for the engine.

    Args:
        node: the node.
        mentioned: what rules in use name.
        barred: identifiers of the sets of closed nodes that it is in.
    """
    found = dict(_told(_named(node), mentioned))
    found |= {taint_label(each): _as_told(each, mentioned) for each in barring_taints(node)}
    found |= {worse_label(each): _as_told(each, mentioned) for each in worse_taints(node)}
    return found | {BARRED + each: "true" for each in sorted(barred)}


def all_labels_of(node: Node) -> dict[str, str]:
    """Everything that any rule could ever ask about a node."""
    worse = {worse_label(each): each.value for each in worse_taints(node)}
    return _named(node) | {taint_label(each): each.value for each in barring_taints(node)} | worse


def _as_told(taint: Taint, mentioned: Mentioned) -> str:
    """The value of a taint where some rule distinguishes it from others."""
    words = mentioned.taints.get(taint.key, Words())
    compared = words.numbers and integer(taint.value) is not None
    return taint.value if compared or taint.value in words.values else OTHER


def _told(labels: Mapping[str, str], mentioned: Mentioned) -> Iterator[tuple[str, str]]:
    for key, words in mentioned.labels.items():
        value = labels.get(key)
        if value is None:
            continue
        if value in words.values or (words.numbers and number(value) is not None):
            yield key, value
        elif words.presence:
            yield key, OTHER


def _named(node: Node) -> dict[str, str]:
    return node.metadata.labels | {NODE_NAME: node.metadata.name}


def _words_on_labels(rule: PodRule) -> Iterator[tuple[str, Words]]:
    wished = ((wish,) for wish, _ in rule.taste.wishes)
    for each in requirements_in((*rule.clauses, *wished)):
        if each.operator in ("In", "NotIn"):
            yield each.key, Words(frozenset(each.values))
        else:
            compared = each.operator in _NUMBERS
            yield each.key, Words(presence=not compared, numbers=compared)


def _words_on_taints(rule: PodRule) -> Iterator[tuple[str, Words]]:
    for each in (*rule.tolerations, *rule.taste.tolerations):
        if each.operator in _NUMBERS:
            yield each.key, Words(numbers=True)
        elif each.operator != "Exists":
            yield each.key, Words(frozenset((each.value,)))


def _covers(wide: Mapping[str, Words], narrow: Mapping[str, Words]) -> bool:
    return all(wide.get(key, Words()).plus(words) == wide.get(key) for key, words in narrow.items())
