"""What bodies of requests are made of."""

from pydantic import BaseModel, ConfigDict


class Input(BaseModel):
    """Base of all bodies of requests: unknown keys are refused, and nothing is converted.

    So `false` is no number and `"1"` is none either.
    """

    model_config = ConfigDict(extra="forbid", strict=True)
