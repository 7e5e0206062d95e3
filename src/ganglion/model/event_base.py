"""What all events have."""

from msgspec import Struct


class Event(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, tag_field="type"):
    """An event; `at` is the time in ms."""

    at: int
