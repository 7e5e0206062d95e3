"""What bodies of requests and of answers are made of."""

from pydantic import BaseModel, ConfigDict


class Model(BaseModel):
    """Base of all answers."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Input(BaseModel):
    """Base of all bodies of requests: unknown keys are refused, and nothing is converted.

    So `false` is no number and `"1"` is none either.
    """

    model_config = ConfigDict(extra="forbid", strict=True)
