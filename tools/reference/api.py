"""The page of every operation of the REST API, from the OpenAPI document that a server serves."""

from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any, cast

from ganglion.server.app import make_app
from ganglion.server.requests.context import ServerContext
from ganglion.server.rest.openapi import described
from ganglion.server.telemetry.metrics import Metrics

Json = Mapping[str, Any]

INTRODUCTION = """\
# Operations of the REST API

Generated from the OpenAPI document that every server serves as `GET /api/v1/openapi.json`
(`python -m tools.reference`). [The REST API](../api.md) has the rules that hold for all of them,
and examples. `*` marks what is required. Every operation can also be refused:
see [errors by code](errors.md).
"""


def document() -> Json:
    """The OpenAPI document of a server."""
    context = SimpleNamespace(metrics=Metrics())
    return described(make_app(cast("ServerContext", context)))


def page() -> str:
    """Return the whole page."""
    spec = document()
    parts = [INTRODUCTION, "## Operations"]
    parts += [
        line
        for path, operations in spec["paths"].items()
        for verb, operation in operations.items()
        for line in _operation(f"{verb.upper()} {path}", operation)
    ]
    parts.append("\n## Bodies and answers\n")
    parts += [line for name in sorted(_shown(spec)) for line in _schema(name, spec)]
    return "\n".join(parts).rstrip() + "\n"


def _operation(title: str, operation: Json) -> Iterator[str]:
    yield f"\n### `{title}`\n"
    yield _prose(operation.get("description") or operation["summary"]) + "\n"
    yield f"Operation `{operation['operationId']}`.\n"
    if parameters := operation.get("parameters"):
        yield "| Parameter | In | Type | Meaning |\n|---|---|---|---|"
        for each in parameters:
            name = f"`{each['name']}`" + (" \\*" if each.get("required") else "")
            text = _prose(each.get("description", ""))
            yield f"| {name} | {each['in']} | {_type(each['schema'])} | {text} |"
        yield ""
    if "requestBody" in operation:
        yield f"Body: {_types(operation['requestBody'])}.\n"
    yield "| Status | Answer |\n|---|---|"
    for status, answer in operation["responses"].items():
        if int(status) < 400:
            yield f"| {status} | {_types(answer) or _prose(answer['description'])} |"


def _types(message: Json) -> str:
    """Types of a body, one for each media type."""
    return ", ".join(_type(each.get("schema", {})) for each in message.get("content", {}).values())


def _shown(spec: Json) -> set[str]:
    """Names of the schemas that operations name, directly or through others."""
    known = spec["components"]["schemas"]
    found, following = set[str](), list(_names(spec["paths"]))
    while following:
        if (name := following.pop()) not in found:
            found.add(name)
            following += _names(known[name])
    return found


def _names(node: object) -> Iterator[str]:
    if isinstance(node, Mapping):
        if "$ref" in node:
            yield _name(node)
        for each in node.values():
            yield from _names(each)
    elif isinstance(node, list):
        for each in node:
            yield from _names(each)


def _schema(name: str, spec: Json) -> Iterator[str]:
    schema = spec["components"]["schemas"][name]
    yield f"\n### {name}\n"
    if text := schema.get("description", ""):
        yield _prose(text) + "\n"
    if fields := schema.get("properties"):
        required = schema.get("required", ())
        yield "| Key | Type | Meaning |\n|---|---|---|"
        for key, each in fields.items():
            mark = " \\*" if key in required else ""
            yield f"| `{key}`{mark} | {_type(each)} | {_prose(each.get('description', ''))} |"
    elif "enum" in schema:
        yield _type(schema)


def _type(schema: Json) -> str:
    """A type as text, with links to the schemas below."""
    if "$ref" in schema:
        name = _name(schema)
        return f"[{name}](#{name.lower()})"
    if values := schema.get("enum") or ([schema["const"]] if "const" in schema else []):
        return ", ".join(f"`{each}`" for each in values)
    for several in ("anyOf", "oneOf", "allOf"):
        if several in schema:
            return " or ".join(dict.fromkeys(_type(each) for each in schema[several]))
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    if isinstance(extra := schema.get("additionalProperties"), Mapping) and extra:
        return f"{_type(extra)} by name"
    kind = schema.get("type", "any")
    return " or ".join(kind) if isinstance(kind, list) else str(kind)


def _name(schema: Json) -> str:
    return str(schema["$ref"]).rpartition("/")[2]


def _prose(text: str) -> str:
    """A description on one line of a table."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "\\<")
