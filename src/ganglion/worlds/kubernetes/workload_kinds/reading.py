"""Reads specs of kinds whose form is not ours, and says where they are not what they should be."""

from typing import Any

from msgspec import ValidationError, convert

from ganglion.model.errors import FieldError, InputError
from ganglion.worlds.kubernetes.types.meta import Anything
from ganglion.worlds.kubernetes.types.pod import Pod

MOST_PODS = 1_000_000
MOST_SECONDS = 2**53


def branch(thing: Anything, *names: str) -> dict[str, Any]:
    """The object at a path below `spec`; empty when there is none.

    Raises:
        FieldError: something else is there.
    """
    return inside(thing.spec, "spec", *names)


def inside(value: object, root: str, *names: str) -> dict[str, Any]:
    """The object at a path below `value`, which is called `root`; empty when there is none."""
    walked = root
    for name in names:
        value = mapping(value, walked).get(name)
        walked += f".{name}"
    return mapping(value, walked)


def mapping(value: object, where: str) -> dict[str, Any]:
    """An object, or an empty one for nothing. Raises FieldError."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise FieldError("should be an object", key=where)
    return value


def listing(value: object, where: str) -> list[dict[str, Any]]:
    """A list of objects, or an empty one for nothing. Raises FieldError."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise FieldError("should be a list", key=where)
    return [mapping(each, f"{where}[{index}]") for index, each in enumerate(value)]


def number(
    found: dict[str, Any], name: str, default: int, where: str = "spec", most: int = MOST_PODS
) -> int:
    """A whole number from 0 to `most`; `default` when there is none. Raises FieldError."""
    value = found.get(name)
    if value is None:
        return default
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= most:
        raise FieldError(
            f"should be a whole number from 0 to {most}, not {value!r}", key=f"{where}.{name}"
        )
    return value


def count(given: str, key: str) -> int:
    """A number of pods from an annotation. Raises FieldError."""
    if not given.isdecimal() or len(given) > 9 or int(given) > MOST_PODS:
        raise FieldError(f"should be a number of pods, not {given[:20]!r}", key=key)
    return int(given)


def text(found: dict[str, Any], name: str, where: str = "spec") -> str:
    """Text; empty when there is none. Raises FieldError."""
    value = found.get(name)
    if value is not None and not isinstance(value, str):
        raise FieldError(f"should be text, not {value!r}", key=f"{where}.{name}")
    return value or ""


def template(found: object, where: str) -> Pod:
    """A pod template as a pod without a name. Raises InputError."""
    body = mapping(found, where)
    given = {name: body[name] for name in ("metadata", "spec") if body.get(name) is not None}
    try:
        return convert(given, Pod, strict=False)
    except ValidationError:
        # Objects inside of others were not checked: they may have `cpu: 0.5`, or nulls.
        return _tidied(given, where)


def _tidied(given: dict[str, Any], where: str) -> Pod:
    try:
        return convert(_tidy(given), Pod, strict=False)
    except ValidationError as error:
        raise InputError(f"{where} is no pod template: {error}") from None


def _tidy(value: object) -> object:
    if isinstance(value, dict):
        return {key: _tidy(each) for key, each in value.items() if each is not None}
    if isinstance(value, list):
        return [_tidy(each) for each in value]
    return repr(value) if isinstance(value, float) else value
