"""Schemas of what is sent, for the OpenAPI page, from the structs of `ganglion.api`."""

import inspect
import json
import re
from collections.abc import Mapping
from types import ModuleType
from typing import Any, TypeGuard

import msgspec
from msgspec import Struct

from ganglion.api import (
    access,
    bulk,
    events,
    nodes,
    policies,
    queues,
    reasons,
    schedules,
    server,
    use,
    workloads,
)
from ganglion.api.asked import answers, questions
from ganglion.api.money import budgets, prices, usage
from ganglion.api.past import curves, timeline, trail
from ganglion.api.whatif import report
from ganglion.transport import problem

_PLACE = "#/components/schemas/"
_LIST = "Attributes:\n"
"""What the list of keys in a docstring begins with."""
_KEYS = re.compile(r" {4}(\w+(?:, \w+)*): (.*)")
"""Line of it that begins the description of one key or several."""
_NONE = re.compile(r"\bNone\b")

Schemas = dict[str, Any]


def is_struct(kind: object) -> TypeGuard[type[Struct]]:
    """Whether something is a class of structs."""
    return isinstance(kind, type) and issubclass(kind, Struct)


def _structs(*modules: ModuleType) -> Mapping[str, type[Struct]]:
    return {
        each.__name__: each for one in modules for each in vars(one).values() if is_struct(each)
    }


ANSWERS = _structs(
    access,
    answers,
    budgets,
    bulk,
    events,
    nodes,
    policies,
    prices,
    problem,
    questions,
    queues,
    reasons,
    report,
    schedules,
    server,
    curves,
    timeline,
    trail,
    usage,
    use,
    workloads,
)
"""Name of a schema -> the struct that it describes."""


def reference(kind: type[Struct]) -> Schemas:
    """The reference to the schema of a struct."""
    return {"$ref": _PLACE + kind.__name__}


def schemas_of(page: Mapping[str, Any]) -> Schemas:
    """Schemas of the structs that an OpenAPI page refers to, and of those within them, by name.

    Raises:
        KeyError: the page refers to what is neither a schema of its own nor a struct.
    """
    names = set(re.findall(rf'"{_PLACE}(\w+)"', json.dumps(page)))
    kinds = [ANSWERS[each] for each in sorted(names - page["components"]["schemas"].keys())]
    _, found = msgspec.json.schema_components(kinds, ref_template=_PLACE + "{name}")
    return {name: _whole(name, each) for name, each in found.items()}


def _whole(name: str, schema: Schemas) -> Schemas:
    """A schema with all that is known of what is sent: every key, described, and no other."""
    if "properties" not in schema:
        return schema
    kind = ANSWERS[name]
    listed = keys_of(kind)
    keys = {
        key: each | ({"description": listed[key]} if key in listed else {})
        for key, each in schema["properties"].items()
    }
    text = _NONE.sub("null", inspect.cleandoc(kind.__doc__ or "").partition(f"\n\n{_LIST}")[0])
    whole = schema | {"description": text, "properties": keys, "additionalProperties": False}
    return whole if kind.__struct_config__.omit_defaults else whole | {"required": [*keys]}


def keys_of(kind: type[Struct]) -> dict[str, str]:
    """What the docstrings of a struct and its bases say of its keys."""
    found: dict[str, str] = {}
    for each in reversed(kind.__mro__):
        found |= _listed(inspect.cleandoc(each.__doc__ or "").partition(_LIST)[2])
    return found


def _listed(lines: str) -> dict[str, str]:
    found: dict[str, str] = {}
    names: list[str] = []
    for line in _NONE.sub("null", lines).splitlines():
        begun = _KEYS.fullmatch(line)
        if begun:
            names = begun[1].split(", ")
            found |= dict.fromkeys(names, begun[2])
        else:
            found |= {name: f"{found[name]} {line.strip()}" for name in names}
    return found
