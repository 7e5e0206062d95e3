"""What every mapping in a file is made of."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class Mapping(BaseModel):
    """A mapping in a file: unknown keys are errors, values never change."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=False)


def described(text: str, *default: Any) -> Any:  # noqa: ANN401 - as pydantic.Field
    """A field with its description for editors; required unless a default is given.

    Defaults are quantities, not the text that a file holds, so schemas must not show them.
    """
    if not default:
        return Field(description=text)
    return Field(description=text, default_factory=lambda: default[0])
