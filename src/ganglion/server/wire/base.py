"""What bodies of requests and of answers are made of."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class Model(BaseModel):
    """Base of all answers."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Input(BaseModel):
    """Base of all bodies of requests: unknown keys are refused, and nothing is converted.

    So `false` is no number and `"1"` is none either.
    """

    model_config = ConfigDict(extra="forbid", strict=True)


NEXT: Any = Field(None, description="give it as `cursor` for the next page; null = the end")
"""The last key of every page of a list."""
