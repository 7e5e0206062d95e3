"""Selectors over labels."""

import re
from collections.abc import Iterable, Mapping

from msgspec import Struct

from ganglion.worlds.kubernetes.types.meta import LabelSelector, Requirement

Requirements = tuple[Requirement, ...]
"""All of them have to hold."""

_DIGITS = re.compile(r"[0-9]+")
_LARGEST = (1 << 63) - 1


class Selector(Struct, frozen=True, cache_hash=True):
    """A label selector in one form: sorted requirements.

    Attributes:
        requirements: what has to hold; none = everything is selected.
        nothing: nothing is selected, which is what an absent selector does.
    """

    requirements: Requirements = ()
    nothing: bool = False

    def selects(self, labels: Mapping[str, str]) -> bool:
        """Whether something with these labels is selected."""
        return not self.nothing and hold(self.requirements, labels)

    def plus(self, extra: Iterable[Requirement]) -> "Selector":
        """With more requirements."""
        return Selector(in_order((*self.requirements, *extra)), self.nothing)


def selector_of(selector: LabelSelector | None) -> Selector:
    """The one form of a label selector."""
    if selector is None:
        return Selector(nothing=True)
    return Selector(in_order((*equal_to(selector.match_labels), *selector.match_expressions)))


def equal_to(labels: Mapping[str, str]) -> Requirements:
    """Requirements that select by equality."""
    return tuple(Requirement(key, "In", (value,)) for key, value in sorted(labels.items()))


def in_order(requirements: Iterable[Requirement]) -> Requirements:
    """Without repetitions, in an order that does not depend on how they were written."""
    same = {Requirement(e.key, e.operator, tuple(sorted(set(e.values)))) for e in requirements}
    return tuple(sorted(same, key=lambda each: (each.key, each.operator, each.values)))


def hold(requirements: Requirements, labels: Mapping[str, str]) -> bool:
    """Whether all requirements hold for something with these labels."""
    for each in requirements:  # noqa: SIM110 - a generator costs more than what it asks
        if not holds(each, labels):
            return False
    return True


def holds(requirement: Requirement, labels: Mapping[str, str]) -> bool:
    """Whether one requirement holds; what is absent is in nothing, hence `NotIn` everything."""
    value = labels.get(requirement.key)
    match requirement.operator:
        case "In":
            return value is not None and value in requirement.values
        case "NotIn":
            return value is None or value not in requirement.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt":
            return value is not None and _compares(requirement, value)
    return False


def number(text: str) -> int | None:
    """A label value as a number; None where it is none that fits 64 bits."""
    found = int(text) if _DIGITS.fullmatch(text) else None
    return found if found is not None and found <= _LARGEST else None


def _compares(requirement: Requirement, value: str) -> bool:
    have = number(value)
    bound = number(requirement.values[0]) if len(requirement.values) == 1 else None
    if have is None or bound is None:
        return False
    return have > bound if requirement.operator == "Gt" else have < bound
