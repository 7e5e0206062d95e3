"""Keys of a file over values that were there before, and back.

A key is named like the attribute that it sets, without its unit: `restart` sets `restart_ms`.
"""

from typing import Any, TypeVar

from msgspec import Struct, structs
from pydantic import BaseModel

UNITS = ("", "_ms", "_permille", "_mib")

S = TypeVar("S", bound=Struct)


def attribute(kind: type[Struct], key: str) -> str | None:
    """Name of the attribute that a key sets; None = it sets none."""
    names = (f"{key}{unit}" for unit in UNITS)
    return next((name for name in names if name in kind.__struct_fields__), None)


def overlay(base: S, given: BaseModel) -> S:
    """Replace what a file says and leave the rest.

    Keys that set no attribute are passed over, and those whose values could not be read.
    """
    changes: dict[str, Any] = {}
    for key in given.model_fields_set & vars(given).keys():
        name, value = attribute(type(base), key), getattr(given, key)
        if name:
            inner = isinstance(value, BaseModel)
            changes[name] = overlay(getattr(base, name), value) if inner else value
    return structs.replace(base, **changes)


def written(model: type[BaseModel], value: Struct) -> dict[str, Any]:
    """Every key of a mapping that has a value, as a file would say it."""
    return _shown(model, value).model_dump(mode="json", exclude_none=True)


def _shown(model: type[BaseModel], value: Struct) -> BaseModel:
    found: dict[str, Any] = {}
    for key, field in model.model_fields.items():
        name, inner = attribute(type(value), key), field.annotation
        if name is None:
            continue
        each = getattr(value, name)
        if isinstance(each, Struct) and isinstance(inner, type) and issubclass(inner, BaseModel):
            each = _shown(inner, each)
        found[key] = each
    return model.model_construct(_fields_set=set(found), **found)
