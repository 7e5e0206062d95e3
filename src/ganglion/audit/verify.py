"""Checking a file that `export` wrote, offline, line by line.

Found are: a changed, added, removed or reordered line; a chain or a tree that does not fit what
was signed; another key; an anchor that holds something else; time that goes back; and a tail that
is not signed yet, which is no flaw.
"""

from base64 import b64decode, b64encode
from binascii import Error as NoBase64
from collections.abc import Iterable, Sequence
from hashlib import sha256

import msgspec
from msgspec import Struct, field

from ganglion.audit.anchored import Anchored
from ganglion.audit.export import (
    FORMAT,
    NAMELESS,
    Disclosed,
    ExportedEvent,
    ExportEnd,
    ExportHeader,
    Signed,
)
from ganglion.audit.folder import frontier_of
from ganglion.audit.notes import PublicKey, key_of, note_of
from ganglion.ledger.chain import link
from ganglion.model.errors import FileError

MOST = 50
"""Flaws after which a file is not read on."""
LONGEST = 64 << 20
"""Bytes of a line."""

Line = ExportedEvent | Disclosed | Signed | ExportEnd
_KINDS: tuple[tuple[bytes, type[Line]], ...] = (
    (b'{"seq":', ExportedEvent),
    (b'{"person":', Disclosed),
    (b'{"checkpoint":', Signed),
    (b'{"events":', ExportEnd),
)


class AuditFlaw(Struct, frozen=True):
    """What is wrong.

    Attributes:
        seq: number of the event; 0 = it is about the file.
        problem: one sentence.
        line: of the file, from 1; 0 = it is about what lies beside the file.
    """

    seq: int
    problem: str
    line: int = 0


class AuditVerdict(Struct):
    """What was found.

    Attributes:
        log: name of the log.
        key: id of its key, in hexadecimal.
        trusted: whether the key was given; else it is what the file itself says.
        after: number of the newest event that was cut off before the first one: of it and those
            before only the tree is there, as it was signed; 0 = the file begins with the first.
        first, last: numbers of the first and the last event; 0 = there is none.
        events: how many were read.
        checkpoints: how many checkpoints fit.
        signed: number of the newest event that a checkpoint covers.
        anchored: number of the newest event that an anchor covers; 0 = none.
        covered: the same of each anchor that covers one, by where it is.
        flaws: in the order of the file, so that the first bad record is that of the first.
    """

    log: str
    key: str
    trusted: bool
    after: int = 0
    first: int = 0
    last: int = 0
    events: int = 0
    checkpoints: int = 0
    signed: int = 0
    anchored: int = 0
    covered: dict[str, int] = field(default_factory=dict)
    flaws: list[AuditFlaw] = field(default_factory=list)

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong."""
        return not self.flaws

    @property
    def unsigned(self) -> int:
        """Events at the end that no checkpoint covers."""
        return max(self.last - self.signed, 0)


def verified(
    lines: Iterable[bytes], key: PublicKey | None, anchors: Sequence[Anchored] = ()
) -> AuditVerdict:
    """Check a file.

    Args:
        lines: of the file, each with its line feed.
        key: what signatures are checked with; None = the key that the file names.
        anchors: what lies elsewhere.

    Raises:
        FileError: it is no such file, so that nothing can be said of it.
    """
    rest = iter(lines)
    head = next(rest, b"")
    check = _Check(_header(head), head, key, anchors)
    for line in rest:
        check.take(line)
        if len(check.found.flaws) >= MOST:
            break
    check.finish()
    return check.found


def named_key(lines: Iterable[bytes]) -> PublicKey:
    """The key that a file names. Raises FileError: it is no such file."""
    return key_of(_header(next(iter(lines), b"")).key)


def _header(line: bytes) -> ExportHeader:
    try:
        found = msgspec.json.decode(line, type=ExportHeader)
        if found.format not in (NAMELESS, FORMAT):
            raise ValueError(f"it has format {found.format}, this version reads up to {FORMAT}")
        key_of(found.key)
        if len(bytes.fromhex(found.checksum)) != 32:
            raise ValueError("the checksum is not one")
        frontier_of(found.size, found.hashes)
        if msgspec.json.encode(found) + b"\n" != line:
            raise ValueError("the first line is not written as an export writes it")
    except (msgspec.MsgspecError, ValueError) as error:
        raise FileError(
            f"that is no audit export: {error}", "ganglion audit export makes one"
        ) from error
    return found


class _Check:
    """The state of a check, from line to line.

    Args:
        header: of the file.
        line: the same as it was written.
        key: as for `verified`.
        anchors: what lies elsewhere.
    """

    def __init__(
        self, header: ExportHeader, line: bytes, key: PublicKey | None, anchors: Sequence[Anchored]
    ) -> None:
        own = key_of(header.key)
        self._key = key or own
        self.found = AuditVerdict(self._key.name, self._key.id.hex(), key is not None)
        self.found.after = header.after
        self._line = 1
        if own != self._key:
            self._flaw(0, f"the file is of key {own.id.hex()} of log {own.name}, not of this key")
        self._anchors, self._digest = anchors, sha256(line)
        for each in anchors:
            self.found.flaws += [AuditFlaw(0, problem) for problem in each.flaws]
        self._tree = frontier_of(header.size, header.hashes)
        self._checksum, self._seq = bytes.fromhex(header.checksum), header.after
        self._first, self._began = header.after + 1, header.size
        self._cycle_at, self._cycle = 0, 0
        self._forked = self._ended = False
        self.found.last = self.found.signed = header.after if header.size else 0
        self._against_anchors()

    def _flaw(self, seq: int, problem: str) -> None:
        self.found.flaws.append(AuditFlaw(seq, problem, self._line))

    def take(self, line: bytes) -> None:
        """Check a line."""
        self._line += 1
        if self._ended:
            self._flaw(0, "something follows after the last line")
            return
        read = _read(line)
        if isinstance(read, str):
            self._flaw(self._seq + 1, f"the line after event {self._seq} {read}")
        elif isinstance(read, ExportedEvent):
            self._event(read)
        elif isinstance(read, Disclosed):
            self._disclosed(read)
        elif isinstance(read, Signed):
            self._signed(read)
        else:
            self._end(read)
        self._digest.update(line)

    def _event(self, event: ExportedEvent) -> None:
        seq = event.seq
        if seq <= self._seq:
            self._flaw(seq, f"event {seq} comes after event {self._seq}: out of order, or twice")
        elif seq != self._seq + 1:
            span = f"{self._seq + 1}..{seq - 1}"
            self._flaw(self._seq + 1, f"events {span} are missing")
        if event.cycle_at < self._cycle_at or event.cycle < self._cycle:
            self._flaw(seq, f"time goes back at event {seq}")
        self._cycle_at, self._cycle = event.cycle_at, event.cycle
        body = _body(event)
        row = (seq, event.at, event.cycle, event.kind, body)
        found = link(self._checksum, row, event.cycle_at, event.incoming)
        if found.hex() != event.checksum:
            self._flaw(seq, f"event {seq} does not fit its checksum: it is not as it was written")
            self._forked = True
        self._checksum = found if found.hex() == event.checksum else _sum(event.checksum)
        self._tree.add(self._checksum)
        self._seq, self.found.last = seq, seq
        self.found.first = self.found.first or seq
        self.found.events += 1
        self._against_anchors()

    def _disclosed(self, said: Disclosed) -> None:
        try:
            said.checked()
        except ValueError as error:
            self._flaw(self._seq + 1, f"the line after event {self._seq}: {error}")

    def _signed(self, signed: Signed) -> None:
        try:
            note = note_of(signed.checkpoint)
            note.check(self._key)
        except ValueError as error:
            self._flaw(self._seq, f"the checkpoint after event {self._seq}: {error}")
            return
        found = note.checkpoint
        if found.size != self._tree.size:
            missing = self._seq + found.size - self._tree.size
            what = f"the checkpoint after event {self._seq} is of event {missing}"
            self._flaw(self._seq, f"{what}: events are missing, or it is out of order")
        elif found.root != self._tree.root():
            since = self.found.signed + 1
            self._flaw(since, f"events {since}..{self._seq} are not those that were signed")
            self._forked = True
        else:
            self.found.checkpoints += 1
            self.found.signed = self._seq

    def _against_anchors(self) -> None:
        size = self._tree.size
        for each in self._anchors:
            root = each.roots.get(size)
            if root is None:
                continue
            if root == self._tree.root():
                self.found.anchored = max(self.found.anchored, self._seq)
                self.found.covered[each.where] = self._seq
            elif not self._forked:
                self._forked = True
                since = self.found.anchored + 1
                said = f"events {since}..{self._seq} are not those that {each.where} holds"
                self._flaw(since, said)

    def _end(self, end: ExportEnd) -> None:
        self._ended = True
        own = ExportEnd(
            self.found.events, self._seq, self._checksum.hex(), self._digest.hexdigest()
        )
        if end == own:
            return
        if (end.events, end.head) != (own.events, own.head):
            said = f"the file ends at event {own.head}, and its last line says {end.head}"
        elif end.checksum != own.checksum:
            said = "the last line has another checksum than the last event"
        else:
            said = "the file was changed: the digest in its last line does not fit"
        self._flaw(self._seq, said)

    def finish(self) -> None:
        """All lines were read."""
        if not self._ended and len(self.found.flaws) < MOST:
            self._flaw(self._seq, f"the file is cut off after event {self._seq}")
        if not self.found.checkpoints and self.found.sound:
            self._flaw(0, "nothing of this is signed")
        for each in self._anchors:
            newest = max(each.roots, default=0)
            if newest > self._tree.size:
                at = self._seq + newest - self._tree.size
                said = f"{each.where} holds a checkpoint of event {at}, and this ends at"
                self._flaw(self._seq + 1, f"{said} {self._seq}: events are missing at the end")


def _read(line: bytes) -> Line | str:
    """What a line holds; a text = what is wrong with it."""
    kind = next((kind for begin, kind in _KINDS if line.startswith(begin)), None)
    if kind is None or len(line) > LONGEST:
        return "is none of an audit export"
    try:
        found: Line = msgspec.json.decode(line, type=kind)
    except (msgspec.MsgspecError, ValueError) as error:
        return f"cannot be read: {error}"
    if msgspec.json.encode(found) + b"\n" != line:
        return "is not written as an export writes it"
    if isinstance(found, ExportedEvent) and found.raw and found.body:
        return "has two bodies"
    return found


def _body(event: ExportedEvent) -> bytes:
    try:
        packed = b64decode(event.raw, validate=True)
    except (NoBase64, ValueError):
        return b""
    if packed and b64encode(packed).decode() == event.raw:
        return packed
    return event.body.encode()


def _sum(text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError:
        return b""
