"""What the server says of itself."""

from pydantic import Field

from ganglion.server.wire.base import Model


class Check(Model):
    """One thing that was looked at."""

    name: str = Field(description="`turns`, `ledger`, `world`, `requests`, `disk`, `router` …")
    status: str = Field(description="`ok`; `warn`: a person should look; `fail`: it does not work")
    message: str = Field("", description="what is wrong; empty = nothing")


class Health(Model):
    """Whether the server works."""

    status: str = Field(description="`ok`, or `trouble`: a check fails")
    trouble: str = Field("", description="what fails; where nothing does, what is warned of")
    checks: tuple[Check, ...] = Field((), description="everything that was looked at")


class VersionView(Model):
    """The server's version."""

    version: str
