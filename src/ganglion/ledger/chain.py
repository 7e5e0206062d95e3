"""The chain of checksums over all events: an edited, added or removed row does not fit into it.

The checksum of an event is SHA-256 over three parts in a row: the checksum before it; one line of
text, `SEQ AT CYCLE KIND CYCLE_AT INCOMING LENGTH` and a line feed; the body. The line holds every
other column of the row, the two columns of the row of its cycle, and the length of the body.
See docs/decisions/audit-chain.md.
"""

from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from threading import Lock

GENESIS = sha256(b"ganglion ledger 1").digest()
"""What the first event is chained to."""

Row = tuple[int, int, int, str, bytes]
"""An event: seq, at, cycle, kind, body."""

MOST_HELD = 16_384
"""Checksums that are kept in memory."""

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
    return chained(previous, (row,), cycle_at, incoming)[0]


def silent(_what: str, _done: int, _of: int) -> None:
    """No progress is shown."""


def chained(previous: bytes, rows: Iterable[Row], cycle_at: int, incoming: int) -> list[bytes]:
    """Return the checksums of the events of one cycle, in order."""
    found, parts = list[bytes](), dict[tuple[int, int, str], bytes]()
    for seq, at, cycle, kind, body in rows:
        part = parts.get((at, cycle, kind))
        if part is None:  # most events of a cycle have it in common, and to write it takes long
            part = f" {at} {cycle} {kind} {cycle_at} {incoming} ".encode()
            parts[at, cycle, kind] = part
        line = b"%b%d%b%d\n%b" % (previous, seq, part, len(body), body)
        previous = sha256(line).digest()
        found.append(previous)
    return found


class ChainTail:
    """The newest checksums that this process has committed; safe from any thread.

    What signs them need not read them back, and signs them as they were committed, whatever was
    done to the database since.

    Args:
        most: that are kept.
    """

    def __init__(self, most: int = MOST_HELD) -> None:
        self._most, self._lock = most, Lock()
        self._first, self._held = 0, list[bytes]()

    def add(self, first: int, checksums: Sequence[bytes]) -> None:
        """Keep the checksums of events that were committed.

        Args:
            first: `seq` of the first of them.
            checksums: in order.
        """
        with self._lock:
            if first != self._first + len(self._held):
                self._first, self._held = first, []
            self._held += checksums
            surplus = len(self._held) - self._most
            if surplus > self._most:
                del self._held[:surplus]
                self._first += surplus

    def after(self, seq: int) -> list[bytes]:
        """The checksums of all events after one; empty = they are not held, or there are none."""
        with self._lock:
            start = seq + 1 - self._first
            return self._held[start:] if self._held and start >= 0 else []
