"""The chain of checksums over all events: an edited, added or removed row does not fit into it.

The checksum of an event is SHA-256 over three parts in a row: the checksum before it; one line of
text, `SEQ AT CYCLE KIND CYCLE_AT INCOMING LENGTH` and a line feed; the body. The line holds every
other column of the row, the two columns of the row of its cycle, and the length of the body.
See docs/decisions/audit-chain.md.
"""

from collections.abc import Callable, Iterable
from hashlib import sha256

GENESIS = sha256(b"ganglion ledger 1").digest()
"""What the first event is chained to."""

Row = tuple[int, int, int, str, bytes]
"""An event: seq, at, cycle, kind, body."""

Progress = Callable[[str, int, int], None]
"""Called from time to time in long work: what is done, how much of it is done, of how much."""


def link(previous: bytes, row: Row, cycle_at: int, incoming: int) -> bytes:
    """Return the checksum of an event.

    Args:
        previous: the checksum of the event before it; `GENESIS` for the first.
        row: the event.
        cycle_at: time of its cycle in ms.
        incoming: how many events of its cycle are facts and requests.
    """
    seq, at, cycle, kind, body = row
    line = f"{seq} {at} {cycle} {kind} {cycle_at} {incoming} {len(body)}\n"
    return sha256(b"%b%b%b" % (previous, line.encode(), body)).digest()


def silent(_what: str, _done: int, _of: int) -> None:
    """No progress is shown."""


def chained(previous: bytes, rows: Iterable[Row], cycle_at: int, incoming: int) -> list[bytes]:
    """Return the checksums of the events of one cycle, in order."""
    found = []
    for row in rows:
        previous = link(previous, row, cycle_at, incoming)
        found.append(previous)
    return found
