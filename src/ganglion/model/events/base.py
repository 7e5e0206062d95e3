"""What all events have."""

from msgspec import Struct


class _OfRequest(Struct, frozen=True, kw_only=True):
    """The id of the request that an event comes from; empty = of none, or of an older server."""

    request: str = ""


class EventBase(
    _OfRequest, frozen=True, forbid_unknown_fields=True, omit_defaults=True, tag_field="type"
):
    """An event; `at` is the time in ms."""

    at: int
