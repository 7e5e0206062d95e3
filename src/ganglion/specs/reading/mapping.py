"""What every mapping in a file is made of."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar, cast

from pydantic import BaseModel, ConfigDict, Field

from ganglion.model.errors import FieldError


class Unread(Exception):
    """A key is asked for whose value could not be read, which is reported already."""


def as_read(problems: Iterable[FieldError]) -> Iterator[FieldError]:
    """Pass problems on until one of them depends on what could not be read."""
    try:
        yield from problems
    except Unread:
        return


class Mapping(BaseModel):
    """A mapping in a file: unknown keys are errors, values never change.

    One that was read in part lacks the attributes of the keys that are wrong: to ask for one of
    them raises Unread, so that a rule between keys stops where one of its own inputs is broken.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=False)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            if name in type(self).model_fields:
                raise Unread(name)
            return super().__getattr__(name)


M = TypeVar("M", bound=Mapping)


def partly(model: type[M], values: dict[str, Any], holes: Iterable[str], given: Iterable[str]) -> M:
    """Build a mapping of values that are checked already.

    Args:
        model: what to build.
        values: those that can be read; what is left out has its default.
        holes: keys whose values cannot be read.
        given: keys that were written.
    """
    made: Any = model.model_construct(_fields_set=set(given), **values)
    for key in holes:
        vars(made).pop(key, None)
    return cast("M", made)


def described(text: str, *default: Any) -> Any:  # noqa: ANN401 - as pydantic.Field
    """A field with its description for editors; required unless a default is given.

    Defaults are quantities, not the text that a file holds, so schemas must not show them.
    """
    if not default:
        return Field(description=text)
    return Field(description=text, default_factory=lambda: default[0])
