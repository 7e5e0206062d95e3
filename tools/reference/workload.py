"""Every key of the workload file, from its own schema."""

from collections.abc import Iterator

from tools.reference.keys import escaped, first, names_of

from ganglion.specs.grammar.words import KIND_ALIASES
from ganglion.specs.workload.aliases import ALIASES, CHILDREN, LISTS, SHORTHANDS
from ganglion.specs.workload.schema import SCOPES

INTRODUCTION = """\
# Every key of the workload file

Generated from the schema (`python -m tools.reference`). `ganglion schema` prints it as JSON Schema.
[The workload file](../workload-file.md) says how the keys work together, with examples.

Other names are accepted too. Dashes and underscores are the same (`time-limit`). Two names of one
key in one place are an error.
"""


def page() -> str:
    """Return the whole page."""
    parts = [INTRODUCTION]
    for scope in SCOPES:
        parts += [f"## {_title(scope)}\n", f"{first(SCOPES[scope].__doc__)}\n", *_about(scope)]
        parts += [*_rows(scope), ""]
    return "\n".join(parts).rstrip() + "\n"


def _title(scope: str) -> str:
    return f"`{_path(scope)}`" if scope else "At the top"


def _path(scope: str) -> str:
    """Where its keys stand, as `scale.hints[]`."""
    outer = next((outer for outer, below in CHILDREN.items() if scope in below), "")
    own = f"{scope}[]" if scope in LISTS else scope
    return f"{_path(outer)}.{own}" if outer else own


def _about(scope: str) -> Iterator[str]:
    if not scope:
        kinds = ", ".join(f"`{other}` is `{kind}`" for other, kind in KIND_ALIASES.items())
        yield f"Other names of kinds: {kinds}.\n"
    if scope in SHORTHANDS:
        key = SHORTHANDS[scope]
        yield f"`{scope}: VALUE` is short for `{scope}: {{{key}: VALUE}}`.\n"


def _rows(scope: str) -> Iterator[str]:
    yield "| Key | Meaning | Other names |"
    yield "|---|---|---|"
    for key, field in SCOPES[scope].model_fields.items():
        yield f"| `{key}` | {escaped(field.description or '')} | {_others(scope, key)} |"


def _others(scope: str, key: str) -> str:
    """Other names in the same place, and those at the top and in `pod_sets` of keys below."""
    given = ALIASES.get(scope, {})
    exact = [other for other, real in given.items() if real == key]
    found = {"": exact if key in SCOPES else names_of(given, key)}
    if scope:
        for outer, others in ALIASES.items():
            where = f"in {_title(outer)}" if outer else "at the top"
            found[f"{where}: "] = names_of(others, f"{scope}.{key}")
    listed = {where: ", ".join(f"`{each}`" for each in names) for where, names in found.items()}
    return "; ".join(f"{where}{names}" for where, names in listed.items() if names)
