"""Looking a ledger through, row by row: numbers, checksums, and whether events can be read."""

from collections.abc import Iterator
from hashlib import sha256

from msgspec import Struct, field
from sqlalchemy import func, select

from ganglion.ledger.chain import GENESIS, Progress, link, silent
from ganglion.ledger.codec import UNREADABLE, decoded
from ganglion.ledger.reader import PAGE, Reader
from ganglion.ledger.records import Cut, Entry, Flaw
from ganglion.ledger.sql.tables import cycles, events
from ganglion.model.events import LedgerCut


class Audit(Struct):
    """What was found.

    Attributes:
        events: rows that were read.
        head: number of the newest of them.
        checksum: of the newest of them.
        flaws: rows that are wrong, by number.
    """

    events: int = 0
    head: int = 0
    checksum: bytes = GENESIS
    flaws: list[Flaw] = field(default_factory=list)


def audited(reader: Reader, progress: Progress = silent) -> Audit:
    """Look every row through.

    An edited row is found by its own checksum, and by that of the next row where its own was
    made to fit. A row that is removed or added is found by the numbers and by the checksum of
    the next one. Rows removed at the end are found as far as their cycles or a snapshot remain.

    Raises:
        EnvironmentFault: the database does not answer.
    """
    found, base = Audit(), reader.base()
    if base:
        found.head, found.checksum = base.seq, base.checksum
        found.flaws += _checkpoint(reader, base)
    last = reader.rows(select(func.max(events.c.seq)))[0][0] or 0
    while page := reader.events(found.head, PAGE):
        heads = reader.heads({entry.cycle for entry in page})
        for entry in page:
            found.flaws += _wrong(found, entry, heads.get(entry.cycle))
            found.events += 1
            found.head = entry.seq
            found.checksum = entry.checksum or b""
        progress("checking the events", found.head, last)
    found.flaws += _cut_off(reader, found)
    found.flaws += _people(reader)
    return found


def _people(reader: Reader) -> Iterator[Flaw]:
    for each in reader.people():
        if each.name and not each.fits:
            yield Flaw(0, "people", f"the name of {each.token} was changed")


def _checkpoint(reader: Reader, base: Cut) -> Iterator[Flaw]:
    """Whether the snapshot that took the place of events is the one that the chain names."""
    snapshot = next((each for each in reader.snapshots() if each.seq == base.seq), None)
    if snapshot is None or snapshot.checksum != base.checksum:
        yield Flaw(base.seq, "snapshot", "the snapshot that the ledger was cut at is missing")
    elif sha256(snapshot.body).digest() != base.digest:
        yield Flaw(base.seq, "snapshot", "the snapshot that the ledger was cut at was changed")
    named = reader.newest(LedgerCut)
    told = (base.seq, base.checksum.hex(), base.digest.hex())
    if not isinstance(named, LedgerCut) or (named.seq, named.checksum, named.digest) != told:
        yield Flaw(base.seq, "cut", "no event says that the ledger was cut here")


def _wrong(found: Audit, entry: Entry, head: tuple[int, int] | None) -> Iterator[Flaw]:
    """What is wrong with a row."""
    seq = entry.seq
    if seq != found.head + 1:
        first, last = found.head + 1, seq - 1
        yield Flaw(first, "", f"events {first}..{last} are missing")
    row = (seq, entry.at, entry.cycle, entry.kind, entry.linked)
    if head is None:
        yield Flaw(seq, entry.kind, f"cycle {entry.cycle} is missing")
    elif link(found.checksum, row, *head) != entry.checksum:
        yield Flaw(
            seq,
            entry.kind,
            "the checksum does not fit: this row, or the one before it, is not as it was written",
        )
    try:
        event = decoded(entry.body)
    except UNREADABLE as error:
        yield Flaw(seq, entry.kind, f"cannot be read: {error}")
        return
    if (entry.kind, entry.at) != (event.__struct_config__.tag, event.at):
        yield Flaw(seq, entry.kind, "kind or time of the row is not that of the event")


def _cut_off(reader: Reader, found: Audit) -> Iterator[Flaw]:
    """Signs that the newest rows were removed, and snapshots that do not fit."""
    for snapshot in reader.snapshots():
        if snapshot.seq > found.head:
            yield Flaw(found.head + 1, "", f"a snapshot says that event {snapshot.seq} was written")
    cycle = reader.rows(select(func.max(events.c.cycle)))[0][0] or 0
    later = select(cycles).where(cycles.c.cycle > cycle, cycles.c.incoming > 0).limit(1)
    for row in reader.rows(later):
        yield Flaw(found.head + 1, "", f"the events of cycle {row.cycle} are missing")
