"""Records as lines of a file: what is torn or damaged is found, and never taken for a record.

A line is the CRC-32 of its JSON in hexadecimal, a space, and the JSON.
"""

from collections.abc import Iterator
from zlib import crc32

import msgspec
from msgspec import Struct

from ganglion.model.events import DeliveryRecord, RecordLoss, RecordsLost

_ENCODE = msgspec.json.Encoder()
_DECODE = msgspec.json.Decoder(DeliveryRecord)
SUM = 8
"""Digits of the checksum."""


class Line(Struct, frozen=True):
    """A line of a file.

    Attributes:
        end: offset of the byte after it.
        record: what it says; None = it is damaged, or torn.
    """

    end: int
    record: DeliveryRecord | None


def line_of(record: DeliveryRecord) -> bytes:
    """A record as a line."""
    body = _ENCODE.encode(record)
    return b"%08x %b\n" % (crc32(body), body)


def lines_in(content: bytes, begin: int = 0) -> Iterator[Line]:
    """The whole lines of a file from an offset on; one without an end is left."""
    while (end := content.find(b"\n", begin)) >= 0:
        yield Line(end + 1, _read(content[begin:end]))
        begin = end + 1


def _read(line: bytes) -> DeliveryRecord | None:
    body = line[SUM + 1 :]
    if line[: SUM + 1] != b"%08x " % crc32(body):
        return None
    try:
        return _DECODE.decode(body)
    except (msgspec.MsgspecError, ValueError):
        return None


def lost(
    number: int,
    covers: int,
    at: int,
    loss: RecordLoss,
    *,
    events: int = 0,
    since_ms: int = 0,
    detail: str = "",
) -> DeliveryRecord:
    """The record that accounts for those that are missing.

    Args:
        number: of the last of them.
        covers: how many they are.
        at: when that was found, in ms.
        loss: what became of them.
        events: in them; 0 = unknown.
        since_ms: time of the first; 0 = unknown.
        detail: what the machine said.
    """
    until = at if since_ms else 0
    gap = RecordsLost(at, loss, covers, events, since_ms, until, detail=detail)
    return DeliveryRecord(number, at, (gap,), covers=covers)


def without_gaps(
    records: Iterator[DeliveryRecord], position: int, at: int, loss: RecordLoss
) -> Iterator[DeliveryRecord]:
    """Records from a position on; what is missing before one of them is accounted for.

    Args:
        records: in the order of their numbers.
        position: number of the last one that is not wanted.
        at: the time in ms.
        loss: what became of those that are missing before the first record.
    """
    for record in records:
        if record.number <= position:
            loss = RecordLoss.DAMAGED
            continue
        if record.first > position + 1:
            yield lost(record.first - 1, record.first - 1 - position, at, loss)
        loss = RecordLoss.DAMAGED
        yield record
        position = record.number
