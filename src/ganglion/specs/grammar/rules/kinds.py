"""Rules for workloads of one kind, as policies and queues have them."""

from collections.abc import Callable

from ganglion.model.errors import FieldError
from ganglion.model.kinds import KindRules
from ganglion.model.workload import Kind
from ganglion.specs.grammar.amounts import parse_scores, print_scores
from ganglion.specs.grammar.lists import gathered, mapped
from ganglion.specs.grammar.rules.classes import parse_level
from ganglion.specs.grammar.scalars import parse_bool
from ganglion.specs.grammar.times.durations import parse_duration, print_duration
from ganglion.specs.grammar.words import ISOLATIONS, KIND_ALIASES, one_of
from ganglion.specs.wording import listed, meant, show

_parse_kind = one_of(tuple(each.value for each in Kind), KIND_ALIASES)


_READ: dict[str, tuple[str, Callable[[object], object]]] = {
    "priority": ("priority", parse_level),
    "preemptible": ("preemptible", parse_bool),
    "isolation": ("isolation", one_of(ISOLATIONS, {})),
    "spread": ("spread", parse_bool),
    "protected": ("protected_ms", parse_duration),
    "scores": ("scores", parse_scores),
    "score": ("scores", parse_scores),
}
"""Key -> (attribute, how it is read)."""
KEYS = tuple(key for key in _READ if key != "score")


def parse_kinds(value: object) -> dict[Kind, KindRules]:
    """Read kind -> rules, as `{service: {preemptible: false, scores: memory}}`."""
    found = mapped(value, _parse_kind, _rules)
    if isinstance(value, dict) and len(found) < len(value):
        raise FieldError("a kind is given twice, under two of its names")
    return {Kind(name): rules for name, rules in found.items()}


def print_kinds(kinds: dict[Kind, KindRules]) -> dict[str, dict[str, object]]:
    """Print what parses back to the same."""
    return {str(kind): _printed(rules) for kind, rules in kinds.items()}


def _rules(value: object) -> KindRules:
    if not isinstance(value, dict):
        raise FieldError(
            f"{show(value)} is no rules of a kind", hint="write `{preemptible: false}`, or the like"
        )
    found = gathered(value, _rule)
    if len(found) < len(value):
        raise FieldError("`score` is given twice", key="score")
    return KindRules(**found)  # type: ignore[arg-type]  # every reader yields its attribute's type


def _rule(key: object, value: object) -> tuple[str, object]:
    if not isinstance(key, str) or key not in _READ:
        hint = meant(str(key), [*_READ]) or f"known keys: {listed(KEYS)}"
        raise FieldError(f"unknown key {show(key)}", hint=hint)
    name, read = _READ[key]
    return name, read(value)


def _printed(rules: KindRules) -> dict[str, object]:
    found: dict[str, object] = {
        "priority": rules.priority,
        "preemptible": rules.preemptible,
        "isolation": rules.isolation or None,
        "spread": rules.spread,
        "protected": None if rules.protected_ms is None else print_duration(rules.protected_ms),
        "scores": print_scores(rules.scores) if rules.scores else None,
    }
    return {key: value for key, value in found.items() if value is not None}
