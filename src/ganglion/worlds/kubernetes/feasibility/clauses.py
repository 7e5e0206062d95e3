"""Conditions on nodes: all of several clauses, each of which is one of several alternatives."""

from collections.abc import Iterator, Mapping

from ganglion.worlds.kubernetes.selectors import (
    Requirements,
    equal_to,
    hold,
    in_order,
    number,
)
from ganglion.worlds.kubernetes.types.affinity import NodeSelector, NodeTerm
from ganglion.worlds.kubernetes.types.meta import Requirement
from ganglion.worlds.kubernetes.types.pod import Pod

Clause = tuple[Requirements, ...]
"""One alternative has to hold; without any, no node will do."""

Clauses = tuple[Clause, ...]
"""All clauses have to hold."""

NODE_NAME = "node:name"
"""Key of a node's name among its labels; real labels have no colon."""


def node_clauses(pod: Pod) -> Clauses:
    """What a pod's own selector and required affinity demand of nodes."""
    chosen = equal_to(pod.spec.node_selector)
    found: list[Clause] = [(chosen,)] if chosen else []
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
    required = affinity.required_during_scheduling_ignored_during_execution if affinity else None
    if required is not None:
        found.append(clause_of(required))
    return tuple(found)


def node_wishes(pod: Pod) -> tuple[tuple[Requirements, int], ...]:
    """Nodes that a pod prefers, each with its weight; terms that can never hold are left out."""
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
    if affinity is None:
        return ()
    return tuple(
        (_alternative(each.preference), each.weight)
        for each in affinity.preferred_during_scheduling_ignored_during_execution
        if each.weight and _can_hold(each.preference)
    )


def clause_of(selector: NodeSelector) -> Clause:
    """A node selector; terms that are empty or can never hold are left out."""
    terms = {_alternative(term) for term in selector.node_selector_terms if _can_hold(term)}
    return tuple(sorted(terms, key=repr))


def meets(clauses: Clauses, labels: Mapping[str, str]) -> bool:
    """Whether a node with these labels, its name among them, meets all clauses."""
    return unmet(clauses, labels) is None


def unmet(clauses: Clauses, labels: Mapping[str, str]) -> Clause | None:
    """The first clause that a node with these labels does not meet."""
    for clause in clauses:
        if not any(hold(alternative, labels) for alternative in clause):
            return clause
    return None


def requirements_in(clauses: Clauses) -> Iterator[Requirement]:
    """Every requirement."""
    for clause in clauses:
        for alternative in clause:
            yield from alternative


def spelled(clause: Clause) -> str:
    """A clause as people read it: `zone in (a, b) and gpu exists, or ...`."""
    return ", or ".join(" and ".join(map(_spelled, each)) or "any" for each in clause)


def _alternative(term: NodeTerm) -> Requirements:
    names = (Requirement(NODE_NAME, each.operator, each.values) for each in term.match_fields)
    return in_order((*term.match_expressions, *names))


def _can_hold(term: NodeTerm) -> bool:
    if not term.match_expressions and not term.match_fields:
        return False
    return all(map(_is_sound, term.match_expressions)) and all(
        each.key == "metadata.name" and each.operator in ("In", "NotIn") and len(each.values) == 1
        for each in term.match_fields
    )


def _is_sound(requirement: Requirement) -> bool:
    if requirement.operator in ("Gt", "Lt"):
        return len(requirement.values) == 1 and number(requirement.values[0]) is not None
    if requirement.operator in ("In", "NotIn"):
        return bool(requirement.values)
    return requirement.operator in ("Exists", "DoesNotExist")


_MOST_SPELLED = 4

_WORDS: Mapping[str, str] = {"In": "is", "NotIn": "is not", "Gt": "is over", "Lt": "is under"}


def _spelled(requirement: Requirement) -> str:
    key = "the node" if requirement.key == NODE_NAME else requirement.key
    if requirement.operator in _WORDS:
        return f"{key} {_WORDS[requirement.operator]} {_one_of(requirement.values)}"
    return f"{key} is {'there' if requirement.operator == 'Exists' else 'absent'}"


def _one_of(values: tuple[str, ...]) -> str:
    """Values as people read them; of many, as the nodes of local volumes, the first few."""
    if len(values) <= _MOST_SPELLED + 1:
        return " or ".join(values)
    return " or ".join((*values[:_MOST_SPELLED], f"{len(values) - _MOST_SPELLED} others"))
