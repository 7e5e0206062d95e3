"""Priority classes: a name with a number, and whether its workloads may be stopped."""

from ganglion.files.grammar.lists import mapped
from ganglion.files.grammar.names import parse_name
from ganglion.files.grammar.scalars import parse_bool, parse_whole
from ganglion.files.wording import meant, show
from ganglion.model.errors import FieldError
from ganglion.model.policy import PriorityClass

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
