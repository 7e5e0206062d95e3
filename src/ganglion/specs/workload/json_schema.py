"""The JSON Schemas of workload and policy files, for completion and checks in editors."""

from collections.abc import Mapping
from typing import Any

from ganglion.model.workload import Kind
from ganglion.specs.grammar.words import CAUSES, ISOLATIONS, KIND_ALIASES, PRIORITIES
from ganglion.specs.policy import schema as policies
from ganglion.specs.workload.aliases import ALIASES, CHILDREN, SHORTHANDS
from ganglion.specs.workload.schema import SCOPES, WorkloadFile

DRAFT = "https://json-schema.org/draft/2020-12/schema"
ID = "urn:ganglion:workload"
POLICY_ID = "urn:ganglion:policy"

Json = dict[str, Any]

WORDS: dict[str, dict[str, list[str]]] = {
    "": {"kind": [*Kind, *KIND_ALIASES], "priority": list(PRIORITIES)},
    "resources": {"together": ["numa", "island"]},
    "constraints": {"isolation": [*ISOLATIONS]},
    "retry": {"on": list(CAUSES)},
}
"""Scope -> key -> words that editors should offer."""

SWITCHES = ("retry", "checkpoint")
"""Scopes that may be a truth value."""


def workload_schema() -> Json:
    """Describe the canonical keys of a workload file.

    Other names of a key, which are accepted too, stand under its `x-aliases`; those of the
    top with their meaning, under the `x-aliases` of the whole.

    Returns:
        A schema of draft 2020-12.
    """
    found = WorkloadFile.model_json_schema()
    definitions = found.get("$defs", {})
    for scope, model in SCOPES.items():
        described = definitions[model.__name__] if scope else found
        _describe(described, scope)
    for scope, key in SHORTHANDS.items():
        _shorthand(found, definitions, scope, key)
    _mapping_forms(found)
    head = {"$schema": DRAFT, "$id": ID, "title": "Ganglion workload"}
    return {**head, **found, "x-aliases": ALIASES[""]}


def policy_schema() -> Json:
    """Describe the canonical keys of a policy file; other names as in `workload_schema`.

    Returns:
        A schema of draft 2020-12.
    """
    found = policies.Topped.model_json_schema()
    definitions = found.get("$defs", {})
    for scope, model in policies.SCOPES.items():
        described = definitions[model.__name__] if scope else found
        _describe(described, scope, policies.ALIASES)
    for scope, model in policies.SECTIONS.items():
        text = policies.Topped.model_fields[scope].description
        found["properties"][scope] = {"$ref": f"#/$defs/{model.__name__}", "description": text}
    _unset(found)
    head = {"$schema": DRAFT, "$id": POLICY_ID, "title": "Ganglion policy"}
    return {**head, **found, "x-aliases": policies.ALIASES[""]}


def _unset(node: object) -> None:
    """Leave out `null`, which means a key that is left out."""
    if isinstance(node, list):
        for each in node:
            _unset(each)
    if not isinstance(node, dict):
        return
    choices = [each for each in node.get("anyOf", ()) if each != {"type": "null"}]
    if len(choices) == 1:
        del node["anyOf"]
        node.update({key: value for key, value in choices[0].items() if key not in node})
    for each in node.values():
        _unset(each)


def _describe(
    described: Json, scope: str, aliases: Mapping[str, Mapping[str, str]] = ALIASES
) -> None:
    described.pop("title", None)
    for key, each in described["properties"].items():
        each.pop("title", None)
        others = [other for other, target in aliases.get(scope, {}).items() if target == key]
        if others:
            each["x-aliases"] = others
        if aliases is ALIASES and key in WORDS.get(scope, {}):
            each["examples"] = WORDS[scope][key]


def _shorthand(found: Json, definitions: Json, scope: str, key: str) -> None:
    within = next(outer for outer, below in CHILDREN.items() if scope in below)
    around = definitions[_definition(within)] if within else found
    each = around["properties"][scope]
    value = definitions[_definition(scope)]["properties"][key]
    short = {name: value[name] for name in ("type", "pattern", "minimum") if name in value}
    truth = [{"type": "boolean"}] if scope in SWITCHES else []
    each["anyOf"] = [{"$ref": f"#/$defs/{_definition(scope)}"}, short, *truth]
    each.pop("$ref", None)


def _mapping_forms(found: Json) -> None:
    told = found["properties"]
    told["preemptible"]["type"].append("object")
    told["setup"]["type"] = [*told["setup"]["type"], "array"]
    for key in ("resources", "constraints", "idle"):
        described = told[key].get("description", "")
        told[key] = {"$ref": f"#/$defs/{_definition(key)}", "description": described}


def _definition(scope: str) -> str:
    return SCOPES[scope].__name__
