"""What the server answers about services that scale."""

from pydantic import Field

from ganglion.server.wire.base import Model


class Opening(Model):
    """How a service or workspace is reached by those who are asked who they are."""

    url: str = Field(description="lets one browser in, once, within five minutes")
    token: str = Field(description="for programs: the value of X-Ganglion-Token")


class Scaling(Model):
    """How many replicas a service has, and why."""

    floor: int | None = Field(description="fewest replicas; null = it does not scale by itself")
    ceiling: int | None = Field(description="most replicas; null = it does not scale by itself")
    wanted: int = Field(description="replicas it is to have now")
    draining: tuple[str, ...] = Field((), description="gangs that get no more requests")
    at: int | None = Field(None, description="when that number was set; null = at its submission")
    cause: str = Field("", description="why")
