"""Data against a pydantic model, with pydantic's findings in plain words."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import Annotated, Any, TypeVar, get_args, get_origin

from pydantic import TypeAdapter, ValidationError

from ganglion.model.errors import FieldError
from ganglion.specs.reading.mapping import Mapping, as_read, partly
from ganglion.specs.reading.renaming import Renaming
from ganglion.specs.reading.yaml import Path
from ganglion.specs.wording import show

M = TypeVar("M", bound=Mapping)
_FIRST, _LAST = re.compile(r"\[(\d{1,9})\]\.?(.*)"), re.compile(r"(.*)\[(\d{1,9})\]")
"""An index of a list before and behind the rest of a key."""
Wrong = Callable[[str, Path, str], FieldError]
"""Builds the error from what is wrong, the canonical path and a hint."""
Rule = Callable[[M, Wrong], Iterator[FieldError]]
"""Yields what contradicts itself between the keys of a mapping."""


def validate(model: type[M], data: object, renaming: Renaming, rules: Sequence[Rule[M]] = ()) -> M:
    """Build `model` from data in canonical keys.

    Args:
        model: what to build.
        data: its keys and values.
        renaming: the pass that made the data, with the problems that it found.
        rules: what must hold between the keys.

    Raises:
        FieldError: the problem nearest to the top of the file, with all others.
    """
    made = readable(model, data, renaming, rules)
    renaming.settle()
    return made


def readable(model: type[M], data: object, renaming: Renaming, rules: Sequence[Rule[M]] = ()) -> M:
    """Build as much of `model` as can be read; `renaming` notes what is wrong.

    The rules see that much, so that contradictions are reported together with unknown keys and
    wrong values. Whatever asks the result for a key that cannot be read raises Unread.
    """
    whole = not renaming.misspelt and not renaming.doubled
    try:
        made = model.model_validate(data)
    except ValidationError as error:
        whole = False
        found = [
            problem
            for each in error.errors(include_url=False)
            if not (each["type"] == "missing" and each["loc"] in renaming.misspelt)
            for problem in _told(each, renaming)
        ]
        _note(found, {each.key for each in renaming.problems}, renaming)
    if not whole:
        made = _partly(model, data, renaming, ())
    told = set[str]()
    for rule in rules:
        if against := list(as_read(rule(made, renaming.wrong))):
            told |= _note(against, told, renaming)
    return made


def _note(problems: Iterable[FieldError], known: set[str], renaming: Renaming) -> set[str]:
    """Note what is wrong with other keys than those that are known; returns the keys."""
    found = [each for each in problems if each.key not in known or not each.key]
    renaming.problems += found
    return {each.key for each in found}


def _partly(model: type[M], data: object, renaming: Renaming, path: Path) -> M:
    """Build a mapping without the attributes that cannot be read."""
    given = data if isinstance(data, dict) else {}
    found, holes = dict[str, Any](), set[str]()
    for key, about in model.model_fields.items():
        here = (*path, key)
        if key in given and here not in renaming.doubled:
            try:
                found[key] = _value(model, key, given[key], renaming, here)
            except ValidationError:
                holes.add(key)
        elif given is not data or key in given or here in renaming.misspelt or about.is_required():
            holes.add(key)
        elif any(each[: len(here)] == here for each in renaming.misspelt):
            found[key] = _value(model, key, {}, renaming, here)
    return partly(model, found, holes, given.keys() & model.model_fields.keys())


def _value(model: type[Mapping], key: str, value: object, renaming: Renaming, path: Path) -> Any:  # noqa: ANN401 - what the key holds
    """Read the value of a key. Raises ValidationError."""
    inner, many = _inner(model.model_fields[key].annotation)
    if inner and many and isinstance(value, list):
        return tuple(_partly(inner, each, renaming, (*path, at)) for at, each in enumerate(value))
    if inner and not many and isinstance(value, dict):
        return _partly(inner, value, renaming, path)
    return _adapter(model, key).validate_python(value)


def _inner(annotation: object) -> tuple[type[Mapping] | None, bool]:
    """The sort of mapping that a key holds, and whether it holds a list of them."""
    if isinstance(annotation, type) and issubclass(annotation, Mapping):
        return annotation, False
    for each in get_args(annotation):
        found, many = _inner(each)
        if found:
            return found, many or get_origin(annotation) is tuple
    return None, False


@cache
def _adapter(model: type[Mapping], key: str) -> TypeAdapter[Any]:
    about = model.model_fields[key]
    kind: Any = Annotated[about.annotation, about, *about.metadata]
    return TypeAdapter(kind)


def _told(error: Any, renaming: Renaming) -> Iterator[FieldError]:  # noqa: ANN401 - pydantic's ErrorDetails
    path: Path = tuple(error["loc"])
    wrong = renaming.wrong
    if error["type"] == "ganglion":
        for each in error["ctx"]["errors"]:
            yield wrong(each.problem, _below(path, each.key, renaming), each.hint)
    elif error["type"] == "missing":
        yield wrong(f"the key `{path[-1]}` is missing", path[:-1], _missing(path))
    elif error["type"] == "extra_forbidden":
        yield wrong(f"unknown key `{path[-1]}`", path, "")
    else:
        listed = "tuple" in error["type"] or "list" in error["type"]
        wants = "a list" if listed else "keys and values"
        yield wrong(f"expected {wants}, found {show(error['input'])}", path, "")


def _below(path: Path, key: str, renaming: Renaming) -> Path:
    """The path of a dotted key inside of a value; names of labels may have dots themselves."""
    if (*path, key) in renaming.document.lines:
        return (*path, key)
    if at := _FIRST.fullmatch(key):  # of a list
        return _below((*path, int(at[1])), at[2], renaming)
    if at := _LAST.fullmatch(key):
        return (*_below(path, at[1], renaming), int(at[2]))
    parts = key.split(".") if key else []
    for cut in range(1, len(parts)):
        inner = (*path, ".".join(parts[:cut]))
        if renaming.source(inner) in renaming.document.lines:
            return _below(inner, ".".join(parts[cut:]), renaming)
    return (*path, key) if key else path


def _missing(path: Path) -> str:
    return "say what to execute, as `run: python train.py`" if path == ("run",) else ""
