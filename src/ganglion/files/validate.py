"""Data against a pydantic model, with pydantic's findings in plain words."""

import re
from collections.abc import Callable
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from ganglion.files.renaming import Renaming
from ganglion.files.wording import first_of, show
from ganglion.files.yaml import Path
from ganglion.model.errors import FieldError

M = TypeVar("M", bound=BaseModel)
Wrong = Callable[[str, Path, str], FieldError]
"""Builds the error from what is wrong, the canonical path and a hint."""

_STEP = re.compile(r"[^.\[\]]+|\[[0-9]+\]")


def validate(model: type[M], data: object, renaming: Renaming) -> M:
    """Build `model` from data in canonical keys.

    Args:
        model: what to build.
        data: its keys and values.
        renaming: the pass that made the data, with the problems that it found.

    Raises:
        FieldError: the problem nearest to the top of the file, with all others.
    """
    found = list(renaming.problems)
    try:
        made = model.model_validate(data)
        if not found:
            return made
    except ValidationError as error:
        known = {each.key for each in found}
        told = (
            _told(each, renaming.wrong)
            for each in error.errors(include_url=False)
            if not _misspelt(each, renaming)
        )
        found += [each for each in told if each.key not in known or not each.key]
    raise first_of(found)


def _misspelt(error: Any, renaming: Renaming) -> bool:  # noqa: ANN401 - pydantic's ErrorDetails
    """Whether a key is missing only because it is misspelt, which is an error already."""
    *around, key = error["loc"] or ("",)
    return error["type"] == "missing" and (renaming.source(tuple(around)), key) in renaming.misspelt


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
