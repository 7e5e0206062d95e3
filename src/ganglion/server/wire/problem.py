"""How refused requests look; see `ganglion.model.problem`."""

from pydantic import Field

from ganglion.server.wire.base import Model


class Wrong(Model):
    """One wrong key or value of a request."""

    detail: str = Field(description="what is wrong with it")
    key: str = Field("", description="dotted path: `resources.gpus`; empty = the whole body")
    hint: str = Field("", description="what to write instead")
    file: str = Field("", description="the file that the client named")
    line: int = Field(0, description="1-based line of that file; 0 = unknown")
    column: int = Field(0, description="1-based column of that line; 0 = unknown")


class Problem(Model):
    """The body of every refused request: RFC 9457, `application/problem+json`."""

    type: str = Field(description="`urn:ganglion:problem:` and the code: a name, no address")
    title: str = Field(description="the kind of problem, the same for every one of a type")
    status: int = Field(description="HTTP status")
    detail: str = Field(description="one sentence that names what is wrong")
    instance: str = Field(description="`urn:ganglion:request:` and the id of the request, or empty")
    code: str = Field(description="stable, dotted: `state.not_found`", examples=["input.field"])
    hint: str = Field("", description="what to do about it")
    errors: tuple[Wrong, ...] = Field((), description="every wrong key or value of the request")
