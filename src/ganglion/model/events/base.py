"""What all events have."""

from msgspec import Struct


class _OfRequest(Struct, frozen=True, kw_only=True):
    """The request that an event comes from.

    Attributes:
        request: its id; empty = of none, or of an older server.
        actor: the user who made it; empty likewise.
        grant: the standing grant that allowed it, or `owner of the server`; several, as of a change
            of many workloads, with `; ` between. Empty = it needs none, or of an older server.
        glass: the grant by broken glass without which it would have been refused; empty = none.
        by_token: id of the personal token that was sent with it; empty = none.
        agent: the program that made it on behalf of the user, as it calls itself; empty = it does
            not say.
    """

    request: str = ""
    actor: str = ""
    grant: str = ""
    glass: str = ""
    by_token: str = ""
    agent: str = ""


class EventBase(
    _OfRequest, frozen=True, forbid_unknown_fields=True, omit_defaults=True, tag_field="type"
):
    """An event; `at` is the time in ms."""

    at: int
