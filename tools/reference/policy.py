"""Every key of the policy file, from its own schema."""

from collections.abc import Iterator, Mapping

from tools.reference.keys import escaped, first, names_of

from ganglion.specs.policy.presets import PRESETS, preset
from ganglion.specs.policy.printing import policy_document
from ganglion.specs.policy.schema import ALIASES, SCOPES, SECTIONS

INTRODUCTION = """\
# Every key of the policy file

Generated from the schema (`python -m tools.reference`). `ganglion schema policy` prints it
as JSON Schema. How the parts work together is described in [the policy file](README.md), where the
presets come from in [presets](presets.md). Where a preset differs from the default, it is bold.
"""
LEFT_OUT = {"preset", "queues", "bookings", "priorities", "kinds", *SECTIONS}
"""Keys at the top that are no knobs of their own."""
TITLES = {
    "queues": "Queues: `queues[]`",
    "flavors": "Order of flavors: `queues[].flavors`",
    "bookings": "Bookings: `bookings[]`",
}


def page() -> str:
    """Return the whole page."""
    shown = {name: policy_document(preset(name)) for name in PRESETS}
    parts = [INTRODUCTION, "## At the top\n"]
    parts += _knobs("", shown)
    parts += ["", *_others("", LEFT_OUT)]
    for scope in SECTIONS:
        parts += [f"\n## `{scope}`\n", f"{first(SCOPES[scope].__doc__)}\n"]
        parts += _knobs(scope, {name: found[scope] for name, found in shown.items()})
        parts += ["", *_others(scope, set())]
    for scope, title in TITLES.items():
        parts += [f"\n## {title}\n", f"{first(SCOPES[scope].__doc__)}\n", *_rows(scope)]
    return "\n".join(parts).rstrip() + "\n"


def _knobs(scope: str, shown: Mapping[str, Mapping[str, object]]) -> Iterator[str]:
    """A table of knobs with their value in every preset."""
    yield f"| Key | Meaning | {' | '.join(f'`{name}`' for name in shown)} |"
    yield f"|---|---|{'---|' * len(shown)}"
    for key, field in SCOPES[scope].model_fields.items():
        if scope or key not in LEFT_OUT:
            usual = _value(shown["default"].get(key))
            values = [_value(found.get(key)) for found in shown.values()]
            cells = " | ".join(each if each == usual else f"**{each}**" for each in values)
            yield f"| `{key}` | {escaped(field.description or '')} | {cells} |"


def _rows(scope: str) -> Iterator[str]:
    """A table of keys with their other names."""
    yield "| Key | Meaning | Other names |"
    yield "|---|---|---|"
    for key, field in SCOPES[scope].model_fields.items():
        others = ", ".join(f"`{each}`" for each in names_of(ALIASES.get(scope, {}), key))
        yield f"| `{key}` | {escaped(field.description or '')} | {others} |"


def _others(scope: str, also: set[str]) -> Iterator[str]:
    """What else may stand there, and the other names of keys."""
    if also:
        yield "| Key | Meaning |"
        yield "|---|---|"
        for key, field in SCOPES[scope].model_fields.items():
            if key in also:
                yield f"| `{key}` | {escaped(field.description or '')} |"
        yield ""
    named = [f"`{other}` is `{target}`" for other, target in ALIASES.get(scope, {}).items()]
    if named:
        yield f"Other names: {'; '.join(named)}."


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return "any" if value is None else str(value)
