"""Files that prove a ledger: every event, and the signed checkpoints between them.

JSON lines: a header, the events in order, before each event the names of people that it is the
first to hold digests of, after each event that a checkpoint covers last the checkpoint, and a last
line. Each line has exactly one way of being written.
"""

from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator
from hashlib import sha256
from itertools import chain

import msgspec
from msgspec import Struct

from ganglion.audit.folder import AuditFolder, Sealed
from ganglion.audit.notes import PublicKey
from ganglion.ledger.chain import GENESIS
from ganglion.ledger.people.names import MARK, TOKEN, Names, Pseudonym
from ganglion.ledger.reader import PAGE, Reader
from ganglion.ledger.records import Entry
from ganglion.model.errors import FileError, NotFound

MOST = 1 << 62
"""More than any number of an event."""
FORMAT, NAMELESS = 2, 1
"""Of files, and of those of versions before the chain held digests of names."""


class ExportHeader(Struct, frozen=True, forbid_unknown_fields=True):
    """The first line.

    Attributes:
        format: of the file.
        key: public key of the log.
        after: number of the event before the first one of the file; 0 = none.
        checksum: of that event, in hexadecimal.
        size: records of the tree at that event.
        hashes: of its complete subtrees, the largest first, in a row, in base 64.
    """

    format: int
    key: str
    after: int
    checksum: str
    size: int
    hashes: str


class ExportedEvent(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """An event: the columns of its row and of its cycle, and its checksum in the chain.

    A body that is no UTF-8 is in `raw`, in base 64.
    """

    seq: int
    at: int
    cycle: int
    kind: str
    cycle_at: int
    incoming: int
    checksum: str
    body: str = ""
    raw: str = ""


class Disclosed(Struct, frozen=True, forbid_unknown_fields=True):
    """The name of a person that was not erased.

    Attributes:
        person: the pseudonym, as events have it.
        salt: in base 64; the pseudonym is SHA-256 of salt and name, in base 64, after `p~`.
        name: in clear.
    """

    person: str
    salt: str
    name: str

    def checked(self) -> Pseudonym:
        """The person. Raises ValueError: name and salt are of another one."""
        found = Pseudonym(self.person, b64decode(self.salt, validate=True), self.name)
        if not found.fits or b64encode(found.salt).decode() != self.salt:
            raise ValueError(f"the name does not fit {self.person}")
        return found


class Signed(Struct, frozen=True, forbid_unknown_fields=True):
    """A checkpoint, as a signed note."""

    checkpoint: str


class ExportEnd(Struct, frozen=True, forbid_unknown_fields=True):
    """The last line.

    Attributes:
        events: how many the file has.
        head: number of the newest one.
        checksum: of that, in hexadecimal.
        digest: SHA-256 of all lines before this one, in hexadecimal.
    """

    events: int
    head: int
    checksum: str
    digest: str


def exported(reader: Reader, folder: AuditFolder, until: int = MOST) -> Iterator[bytes]:
    """Make the lines of a file, each with its line feed.

    Args:
        reader: of the ledger, at rest.
        folder: audit folder of the home.
        until: number of the newest event whose checkpoint counts: of those that are made
            meanwhile the reader does not know the events.

    Raises:
        NotFound: nothing was ever signed.
        EnvironmentFault: the database does not answer, or the checkpoints cannot be read.
    """
    key = folder.public()
    signed = (each for each in folder.sealed() if each.seq <= until)
    base = reader.base()
    start = base.seq if base else 0
    first = next((each for each in signed if each.seq >= start), None)
    if key is None or first is None:
        raise NotFound(
            "nothing of this ledger was signed yet",
            "a server signs what happens, after a minute or for an export: ganglion up",
        )
    digest, count = sha256(), 0
    for line in _lines(reader, key, first, signed, whole=base is None):
        if isinstance(line, ExportedEvent):
            count, last = count + 1, line
        elif isinstance(line, ExportHeader):
            last = ExportedEvent(line.after, 0, 0, "", 0, 0, line.checksum)
        written = msgspec.json.encode(line) + b"\n"
        digest.update(written)
        yield written
    end = ExportEnd(count, last.seq, last.checksum, digest.hexdigest())
    yield msgspec.json.encode(end) + b"\n"


def _lines(
    reader: Reader, key: PublicKey, first: Sealed, rest: Iterator[Sealed], *, whole: bool
) -> Iterator[ExportHeader | ExportedEvent | Disclosed | Signed]:
    """All lines but the last. A ledger that was cut begins at its first checkpoint."""
    if whole and first.seq == first.size:
        after = 0
        yield ExportHeader(FORMAT, str(key), 0, GENESIS.hex(), 0, "")
    else:
        after = first.seq
        yield ExportHeader(FORMAT, str(key), after, first.checksum, first.size, first.hashes)
    signed = chain([first], rest)
    due = next(signed, None)
    if due and due.seq == after:
        yield Signed(due.note)
        due = next(signed, None)
    told = set[bytes]()
    for event, names in _stored(reader, after):
        yield from (each for token in names for each in _disclosed(reader, token, told))
        yield event
        while due and due.seq <= event.seq:
            yield Signed(due.note)
            due = next(signed, None)
    while due:  # of events that were removed
        yield Signed(due.note)
        due = next(signed, None)


def _disclosed(reader: Reader, token: bytes, told: set[bytes]) -> Iterator[Disclosed]:
    """The name of a pseudonym, the first time that it is asked for."""
    person = reader.names.person(token)
    if person and token not in told:
        told.add(token)
        yield Disclosed(person.token, b64encode(person.salt).decode(), person.name)


def rows_of(reader: Reader, after: int) -> Iterator[ExportedEvent]:
    """Events of a ledger after one, with the columns of their cycles and with names in clear."""
    for entry, head in _entries(reader, after):
        yield _event(entry, *head, entry.body)


def _stored(reader: Reader, after: int) -> Iterator[tuple[ExportedEvent, list[bytes]]]:
    """The same as the chain covers them, and the pseudonyms in each."""
    for entry, head in _entries(reader, after):
        names = TOKEN.findall(entry.stored) if entry.stored else []
        yield _event(entry, *head, entry.linked), names


def _entries(reader: Reader, after: int) -> Iterator[tuple[Entry, tuple[int, int]]]:
    while page := reader.events(after, PAGE):
        heads = reader.heads({entry.cycle for entry in page})
        for entry in page:
            # A row of a cycle that is gone: the checksum says that something is.
            yield entry, heads.get(entry.cycle, (0, 0))
        after = page[-1].seq


def _event(entry: Entry, cycle_at: int, incoming: int, body: bytes) -> ExportedEvent:
    head = (entry.seq, entry.at, entry.cycle, entry.kind, cycle_at, incoming)
    # A damaged file may give a row without any columns.
    checksum = (entry.checksum or b"").hex()
    try:
        return ExportedEvent(*head, checksum, body=body.decode())
    except UnicodeDecodeError:
        return ExportedEvent(*head, checksum, raw=b64encode(body).decode())


def rows_in(lines: Iterable[bytes]) -> tuple[int, Iterator[ExportedEvent]]:
    """The number of the event before the first one of a file, and its events; nothing is verified.

    Raises:
        FileError: it is no export; while events are read, a line that is none.
    """
    rest = iter(lines)
    try:
        header = msgspec.json.decode(next(rest, b""), type=ExportHeader)
    except msgspec.MsgspecError as error:
        raise _foreign(1) from error
    return header.after, _rows_in(rest)


def _rows_in(lines: Iterator[bytes]) -> Iterator[ExportedEvent]:
    names = Names()
    for number, line in enumerate(lines, 2):
        try:
            if line.startswith(b'{"seq":'):
                yield _in_clear(msgspec.json.decode(line, type=ExportedEvent), names)
            elif line.startswith(b'{"person":'):
                names.take(msgspec.json.decode(line, type=Disclosed).checked())
        except (msgspec.MsgspecError, ValueError) as error:
            raise _foreign(number) from error


def _in_clear(row: ExportedEvent, names: Names) -> ExportedEvent:
    if MARK not in row.body.encode():
        return row
    return msgspec.structs.replace(row, body=names.shown(row.body.encode()).decode())


def _foreign(line: int) -> FileError:
    return FileError(f"line {line} is none of an audit export", "ganglion audit verify says more")
