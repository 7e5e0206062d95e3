"""Types of TypeScript for the portal, from the OpenAPI document that a server serves."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from tools.reference.api import document

Json = Mapping[str, Any]

HEAD = """\
// Generated from the OpenAPI document (python -m tools.reference); not edited by hand.
"""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def source() -> str:
    """Return the whole file: one interface for each schema, and the answer of each GET."""
    spec = document()
    schemas = spec["components"]["schemas"]
    parts = [HEAD]
    parts += ["\n".join(_schema(name, schemas[name])) for name in sorted(schemas)]
    parts.append("\n".join(_answers(spec)))
    return "\n\n".join(parts) + "\n"


def _schema(name: str, schema: Json) -> Iterator[str]:
    if "properties" not in schema or schema.get("type") != "object":
        yield f"export type {_word(name)} = {_type(schema)};"
        return
    required = schema.get("required", ())
    yield f"export interface {_word(name)} {{"
    for key, each in schema["properties"].items():
        mark = "" if key in required or "default" in each else "?"
        yield f"  {_key(key)}{mark}: {_type(each)};"
    yield "}"


def _answers(spec: Json) -> Iterator[str]:
    """The answer of each operation that has JSON as its answer, by method and path."""
    for method in ("get", "post", "put", "patch", "delete"):
        yield f"export interface {method.capitalize()}s {{"
        for path, operations in spec["paths"].items():
            found = _answer(operations.get(method, {}))
            if found and path.startswith("/api/v1/"):
                yield f"  {_key(path.removeprefix('/api/v1'))}: {found};"
        yield "}"


def _answer(operation: Json) -> str:
    found = [
        _type(each["schema"])
        for status, answer in operation.get("responses", {}).items()
        if int(status) < 300
        for media, each in answer.get("content", {}).items()
        if media == "application/json"
    ]
    return " | ".join(dict.fromkeys(found))


def _type(schema: Json) -> str:
    if "$ref" in schema:
        return _word(schema["$ref"].rpartition("/")[2])
    values = [schema["const"]] if "const" in schema else schema.get("enum", ())
    parts = [_literal(each) for each in values]
    parts += [_type(each) for key in ("anyOf", "oneOf") for each in schema.get(key, ())]
    return " | ".join(dict.fromkeys(parts)) or _plain(schema)


def _plain(schema: Json) -> str:
    """A type without alternatives."""
    kind = schema.get("type")
    if kind == "array":
        return f"Array<{_type(schema.get('items', {}))}>"
    if kind == "object":
        more = schema.get("additionalProperties", True)
        return f"Record<string, {_type(more) if isinstance(more, Mapping) else 'unknown'}>"
    simple = {"integer": "number", "number": "number", "string": "string", "boolean": "boolean"}
    return simple.get(str(kind), "null" if kind == "null" else "unknown")


def _literal(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value).lower()


def _key(name: str) -> str:
    return name if _NAME.fullmatch(name) else f'"{name}"'


def _word(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_]", "_", name)
