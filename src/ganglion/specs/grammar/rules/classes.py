"""Priority classes: a name with a number, and whether its workloads may be stopped."""

from ganglion.model.errors import FieldError
from ganglion.model.policy import Escalation, PriorityClass
from ganglion.specs.grammar.lists import mapped
from ganglion.specs.grammar.names import parse_name
from ganglion.specs.grammar.scalars import parse_bool, parse_whole
from ganglion.specs.grammar.times.durations import parse_duration, print_duration
from ganglion.specs.grammar.words import PRIORITIES, parse_priority
from ganglion.specs.wording import listed, meant, show

MOST = 2_000_000_000
_KEYS = {"value": "value", "priority": "value", "preemptible": "preemptible"}


def parse_classes(value: object) -> dict[str, PriorityClass]:
    """Read name -> number, or name -> `{value: 30, preemptible: false}`."""
    return mapped(value, parse_name, _class)


def print_classes(classes: dict[str, PriorityClass]) -> dict[str, object]:
    """Print in the shortest form that parses back to the same."""
    return {
        name: each.value
        if each.preemptible is None
        else {"value": each.value, "preemptible": each.preemptible}
        for name, each in classes.items()
    }


def parse_steps(value: object) -> tuple[Escalation, ...]:
    """Read `{after: 12h, to: high}` or a list of such steps, the shortest wait first."""
    steps = [_step(each) for each in (value if isinstance(value, list) else [value])]
    return tuple(sorted(steps, key=lambda step: (step.after_ms, step.to)))


def print_steps(steps: tuple[Escalation, ...]) -> list[dict[str, object]]:
    """Print what parses back to the same."""
    return [{"after": print_duration(each.after_ms), "to": each.to} for each in steps]


def parse_level(value: object) -> int:
    """Read a priority without a policy: 0..100 or a built-in class. Raises FieldError."""
    found = parse_priority(value)
    if isinstance(found, int):
        return found
    if found not in PRIORITIES:
        hint = meant(found, [*PRIORITIES]) or f"use 0..100, or {listed(PRIORITIES)}"
        raise FieldError(f"there is no built-in priority class {show(found)}", hint=hint)
    return PRIORITIES[found]


def _step(value: object) -> Escalation:
    if not isinstance(value, dict) or value.keys() != {"after", "to"}:
        raise FieldError(
            f"{show(value)} is no step of an escalation", hint="write `{after: 12h, to: high}`"
        )
    try:
        after = parse_duration(value["after"])
    except FieldError as error:
        raise FieldError(error.problem, key="after", hint=error.hint) from None
    try:
        return Escalation(after, parse_level(value["to"]))
    except FieldError as error:
        raise FieldError(error.problem, key="to", hint=error.hint) from None


def _class(value: object) -> PriorityClass:
    if not isinstance(value, dict):
        return PriorityClass(parse_whole(value, -MOST, MOST))
    found: dict[str, object] = {}
    for key, each in value.items():
        if key not in _KEYS:
            hint = meant(str(key), _KEYS) or "known keys: value, preemptible"
            raise FieldError(f"unknown key {show(key)}", key=str(key), hint=hint)
        found[_KEYS[key]] = each
    if "value" not in found:
        raise FieldError("the key `value` is missing", hint="as `{value: 30, preemptible: false}`")
    may = found.get("preemptible")
    return PriorityClass(
        parse_whole(found["value"], -MOST, MOST), None if may is None else parse_bool(may)
    )
