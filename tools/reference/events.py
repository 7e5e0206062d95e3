"""The page of every event of the ledger."""

import types
import typing
from collections.abc import Iterator
from enum import Enum

import msgspec
from msgspec.structs import FieldInfo

from ganglion.model.events import Delivered, Event

INTRODUCTION = """\
# Events

Generated from the program (`python -m tools.reference`).

An event is something that happened; the state of the engine changes by events only. The ledger
holds them in order, each with a number. `ganglion events -o json` and
[`GET /events`](../api.md#events) stream them as JSON objects. `type` names the event, `at` is the
time in ms since 1970, `request` the id of the request that it comes from; a field that has its
default is left out. Fields whose names end in `_ms` are durations in ms.
"""
COMMON = frozenset({"at", "request"})


def page() -> str:
    """Return the whole page."""
    every = {*typing.get_args(Event), *typing.get_args(Delivered)}
    kinds = sorted(every, key=lambda each: str(each.__struct_config__.tag))
    return INTRODUCTION + "".join(line for kind in kinds for line in _section(kind))


def _section(kind: type[msgspec.Struct]) -> Iterator[str]:
    said = " ".join(_paragraph(each) for each in (kind.__doc__ or "").split("\n\n"))
    yield f"\n## `{kind.__struct_config__.tag}`\n\n{said}\n"
    fields = [each for each in msgspec.structs.fields(kind) if each.name not in COMMON]
    if fields:
        yield "\n| Field | Type | Default |\n|---|---|---|\n"
        for each in fields:
            yield f"| `{each.encode_name}` | {_type(each.type)} | {_default(each)} |\n"


def _paragraph(text: str) -> str:
    return " ".join(text.split())


def _type(kind: object) -> str:
    """A type in words of JSON."""
    arguments = typing.get_args(kind)
    origin = typing.get_origin(kind)
    if origin in (types.UnionType, typing.Union):
        every = " or ".join(_type(each) for each in arguments)
        return "an event of this page" if kind == Delivered else every
    if origin is typing.Annotated:
        return _type(arguments[0])
    if origin in (tuple, list, frozenset):
        return f"list of {_type(arguments[0])}"
    if origin is dict or str(origin).endswith("Mapping'>"):
        return f"{_type(arguments[1])} by {_type(arguments[0])}"
    if isinstance(kind, type) and issubclass(kind, Enum):
        return ", ".join(f"`{each.value}`" for each in kind)
    names = {str: "text", int: "integer", float: "number", bool: "boolean", type(None): "null"}
    return names.get(kind) or f"`{getattr(kind, '__name__', kind)}`"  # type: ignore[call-overload]  # any object is a key to look for


def _default(field: FieldInfo) -> str:
    if field.default_factory is not msgspec.NODEFAULT:
        return "empty"
    if field.default is msgspec.NODEFAULT:
        return "required"
    value = field.default.value if isinstance(field.default, Enum) else field.default
    if value in ("", (), frozenset()):
        return "empty"
    return f"`{msgspec.json.encode(value).decode()}`"
