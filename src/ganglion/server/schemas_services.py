"""What the server answers about services that scale."""

from pydantic import Field

from ganglion.server.schema_base import Model


class Scaling(Model):
    """How many replicas a service has, and why."""

    floor: int | None = Field(description="fewest replicas; null = it does not scale by itself")
    ceiling: int | None = Field(description="most replicas; null = it does not scale by itself")
    wanted: int = Field(description="replicas it is to have now")
    draining: tuple[str, ...] = Field((), description="gangs that get no more requests")
    at: int | None = Field(None, description="when that number was set; null = at its submission")
    cause: str = Field("", description="why")
