"""What all answers of the server are made of."""

from pydantic import BaseModel, ConfigDict


class Model(BaseModel):
    """Base of all answers."""

    model_config = ConfigDict(extra="forbid", frozen=True)
