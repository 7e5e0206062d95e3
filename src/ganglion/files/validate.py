"""Data against a pydantic model, with pydantic's findings in plain words."""

import re
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from ganglion.files.wording import first_of, show
from ganglion.files.yaml import Path
from ganglion.model.errors import FieldError

M = TypeVar("M", bound=BaseModel)
Wrong = Callable[[str, Path, str], FieldError]
"""Builds the error from what is wrong, the canonical path and a hint."""

_STEP = re.compile(r"[^.\[\]]+|\[[0-9]+\]")


def validate(model: type[M], data: object, wrong: Wrong, problems: Sequence[FieldError] = ()) -> M:
    """Build `model` from data in canonical keys.

    Args:
        model: what to build.
        data: its keys and values.
        wrong: builds the error for a path.
        problems: what is known to be wrong with the file already.

    Raises:
        FieldError: the problem nearest to the top of the file, with all others.
    """
    found = list(problems)
    try:
        made = model.model_validate(data)
        if not found:
            return made
    except ValidationError as error:
        # A key that is missing may be the one that is misspelt.
        found += [
            _told(each, wrong)
            for each in error.errors(include_url=False)
            if not (problems and each["type"] == "missing")
        ]
    raise first_of(found)


def _told(error: Any, wrong: Wrong) -> FieldError:  # noqa: ANN401 - pydantic's ErrorDetails
    path: Path = tuple(error["loc"])
    if error["type"] == "ganglion":
        context = error["ctx"]
        return wrong(context["problem"], path + _steps(context["key"], path), context["hint"])
    if error["type"] == "missing":
        return wrong(f"the key `{path[-1]}` is missing", path[:-1], _missing(path))
    if error["type"] == "extra_forbidden":
        return wrong(f"unknown key `{path[-1]}`", path, "")
    wants = "a list" if "tuple" in error["type"] or "list" in error["type"] else "keys and values"
    return wrong(f"expected {wants}, found {show(error['input'])}", path, "")


def _steps(key: str, path: Path) -> Path:
    if path:
        # Inner keys of free mappings are labels and variables, whose dots mean nothing.
        return (key,) if key else ()
    return tuple(int(s[1:-1]) if s.startswith("[") else s for s in _STEP.findall(key))


def _missing(path: Path) -> str:
    return "say what to execute, as `run: python train.py`" if path == ("run",) else ""
