"""Which namespaces may submit to a `Queue`: `spec.namespaces`, `spec.max_priority`.

namespaces: {names: [team-a], selector: {matchLabels: {team: a}}}
max_priority: 50
"""

from collections.abc import Mapping
from typing import Any, TypeVar

from msgspec import ValidationError, convert

from ganglion.model.errors import FieldError
from ganglion.specs.wording import first_of, noted, show
from ganglion.worlds.kubernetes.cluster_view.tenancy import Admits, TenancyTerms
from ganglion.worlds.kubernetes.selectors import selector_of
from ganglion.worlds.kubernetes.types.meta import LabelSelector

NAMESPACES, MAX_PRIORITY = "namespaces", "max_priority"
KEYS = (NAMESPACES, MAX_PRIORITY)
"""Keys of a `Queue` that queues of policy files do not have: those know no namespaces."""
NAMES, SELECTOR = "names", "selector"
LEAST_PRIORITY, HIGHEST_PRIORITY = -(1 << 31), (1 << 31) - 1
"""Of a PriorityClass."""

_OPERATORS = {"In": True, "NotIn": True, "Exists": False, "DoesNotExist": False}
"""Operator of a label selector -> whether it takes values."""

Sort = TypeVar("Sort")


def terms_of(spec: Mapping[str, Any]) -> TenancyTerms:
    """What a queue itself says.

    Raises:
        FieldError: a key or value is wrong.
    """
    problems: list[FieldError] = []
    given = spec.get(NAMESPACES)
    admits = None if given is None else noted(lambda: _admits(given), problems)
    most = noted(lambda: _priority(spec.get(MAX_PRIORITY)), problems)
    if problems:
        raise first_of(problems)
    return TenancyTerms(admits, most)


def inherited(
    own: Mapping[str, TenancyTerms], parents: Mapping[str, str]
) -> dict[str, TenancyTerms]:
    """What holds for every queue: what it says itself, else the nearest queue above it.

    Args:
        own: what queues say themselves.
        parents: queue -> the one above it, or empty; parents come before their children.
    """
    found: dict[str, TenancyTerms] = {}
    for queue, parent in parents.items():
        mine, above = own.get(queue, TenancyTerms()), found.get(parent, TenancyTerms())
        found[queue] = TenancyTerms(
            above.admits if mine.admits is None else mine.admits,
            above.max_priority if mine.max_priority is None else mine.max_priority,
        )
    return found


def _admits(given: object) -> Admits:
    if not isinstance(given, dict):
        hint = "as {names: [team-a]} or {selector: {matchLabels: {team: a}}}"
        raise FieldError("should be a mapping", key=NAMESPACES, hint=hint)
    problems = [
        FieldError(f"there is no key {show(key)}", key=NAMESPACES, hint="names, selector")
        for key in given
        if key not in (NAMES, SELECTOR)
    ]
    names = noted(
        lambda: _read(given.get(NAMES) or [], tuple[str, ...], f"{NAMESPACES}.{NAMES}"), problems
    )
    chosen = given.get(SELECTOR)
    selector = None if chosen is None else noted(lambda: _selector(chosen), problems)
    if names is None or problems:
        raise first_of(problems)
    return Admits(names, selector_of(selector)) if selector else Admits(names)


def _selector(given: object) -> LabelSelector:
    key = f"{NAMESPACES}.{SELECTOR}"
    found = _read(given, LabelSelector, key)
    problems: list[FieldError] = []
    for each in found.match_expressions:
        wants = _OPERATORS.get(each.operator)
        if wants is None:
            hint = f"one of {', '.join(_OPERATORS)}"
            problems.append(FieldError(f"{show(each.operator)} is no operator", key=key, hint=hint))
        elif wants != bool(each.values):
            text = "needs values" if wants else "takes no values"
            problems.append(FieldError(f"{each.operator} {text}", key=key))
    if isinstance(given, dict) and not given.keys() <= {"matchLabels", "matchExpressions"}:
        problems.append(FieldError("has keys that a selector lacks", key=key, hint="matchLabels"))
    if problems:
        raise first_of(problems)
    return found


def _read(given: object, kind: type[Sort], key: str) -> Sort:
    try:
        return convert(given, kind)
    except ValidationError as error:
        raise FieldError(str(error), key=key) from None


def _priority(given: object) -> int | None:
    if given is None:
        return None
    is_number = isinstance(given, int) and not isinstance(given, bool)
    if not is_number or not LEAST_PRIORITY <= int(str(given)) <= HIGHEST_PRIORITY:
        hint = f"a whole number from {LEAST_PRIORITY} to {HIGHEST_PRIORITY}"
        raise FieldError(f"should be a priority, not {show(given)}", key=MAX_PRIORITY, hint=hint)
    return int(str(given))
