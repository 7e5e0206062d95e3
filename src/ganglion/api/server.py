"""What a server says of itself, and of secrets that it keeps."""

from msgspec import Struct


class Check(Struct):
    """One thing that was looked at.

    Attributes:
        name: as `ledger`.
        status: `ok`, `warn` or `fail`.
        message: what is wrong; empty = nothing.
    """

    name: str
    status: str = "ok"
    message: str = ""


class Health(Struct):
    """Whether the server works.

    Attributes:
        status: `ok`, or `trouble`: requests are read but none accepted.
        trouble: what the trouble is; where there is none, what is warned of.
        checks: everything that was looked at.
    """

    status: str = "ok"
    trouble: str = ""
    checks: tuple[Check, ...] = ()


class Version(Struct):
    """The server's version."""

    version: str


class SecretView(Struct):
    """A secret that is kept by name; its value is never returned.

    Attributes:
        name: as workloads refer to it.
        at: when it was set.
    """

    name: str
    at: int


class SecretPage(Struct):
    """All secrets of the caller, by name."""

    items: tuple[SecretView, ...]


class Done(Struct):
    """It was done."""

    ok: bool = True
