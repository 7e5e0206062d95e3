"""Events from bytes, also from those that earlier versions wrote, and as clients read them."""

from collections.abc import Sequence
from typing import Any

import msgspec

from ganglion.ledger.records import Entry
from ganglion.model.causes import Cause, sentence
from ganglion.model.causes.former import TAGS, upgraded
from ganglion.model.events import Event

UNREADABLE = (msgspec.MsgspecError, ValueError, RecursionError)
"""What decoding an event may raise; bytes that are no UTF-8 raise `UnicodeDecodeError`."""

CLUSTER = "cluster_event"
"""Type of an event that has one of a cluster in it."""

_MANY = msgspec.json.Decoder(list[Event])
_ONE = msgspec.json.Decoder(Event)


def decoded(body: bytes) -> Event:
    """Decode one event. Raises one of `UNREADABLE`."""
    try:
        event: Event = _ONE.decode(body)
    except msgspec.ValidationError:
        known = msgspec.json.decode(body)
        fields = upgraded(known)
        if fields is known:
            raise
        event = _ONE.decode(msgspec.json.encode(fields))
    return event


def decoded_all(bodies: Sequence[bytes]) -> list[Event]:
    """Decode events. Raises one of `UNREADABLE`."""
    try:
        found: list[Event] = _MANY.decode(b"[" + b",".join(bodies) + b"]")
    except msgspec.ValidationError:
        found = [decoded(body) for body in bodies]
    return found


def shown(entry: Entry) -> bytes:
    """An event as clients read it: `cause` is a sentence, and `why` what it was made of."""
    if entry.kind not in (*TAGS, CLUSTER) or b'"cause":' not in entry.body:
        return entry.body
    try:
        event: dict[str, Any] = upgraded(msgspec.json.decode(entry.body))
        inner = event["event"] if entry.kind == CLUSTER else event
        if inner["type"] not in TAGS or "cause" not in inner:
            return entry.body
        why = inner["cause"]
        inner |= {"cause": sentence(msgspec.convert(why, Cause)), "why": why}
    except (*UNREADABLE, KeyError, TypeError):
        return entry.body  # of a damaged row: an audit names it
    return msgspec.json.encode(event)
