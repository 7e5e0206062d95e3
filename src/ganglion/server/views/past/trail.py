"""Records of the audit trail a page at a time, the newest first, and their verification."""

from collections.abc import Callable, Collection, Mapping
from functools import partial
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from ganglion.api.past.trail import AnchorStanding, TrailFlaw, TrailRecord, TrailVerdict
from ganglion.audit.anchored import Anchored, read_anchor
from ganglion.audit.anchors import Anchor, read_audit_settings
from ganglion.audit.export import ExportedEvent, exported
from ganglion.audit.folder import AuditFolder
from ganglion.audit.notes import PublicKey
from ganglion.audit.records import (
    AuditRecord,
    DecisionContext,
    WantedRecords,
    record_of,
)
from ganglion.audit.sealing import contradicted
from ganglion.audit.verify import AuditVerdict, named_key, verified
from ganglion.ledger.reader import Reader
from ganglion.ledger.records import Entry
from ganglion.model.errors import FileError
from ganglion.seams.effects import Effects

CHUNK = 500
"""Events that are read at once."""
MOST_READ = 10_000
"""Events that one page looks at, at most, however few of them fit."""
NO_SYSLOG = "lines of syslog lie where the server cannot read them: ganglion audit verify --anchor"

Owners = Callable[[Collection[str]], Mapping[str, str]]
"""Finds the queues of workloads by their ids."""


class RecordsFound(Struct, frozen=True):
    """Records of one page.

    Attributes:
        records: the newest first.
        looked_back: number of the oldest event that was looked at; 1 or that of the first event
            of the ledger = all of them were.
        more: whether older ones were not looked at.
    """

    records: tuple[TrailRecord, ...]
    looked_back: int
    more: bool


def newest_records(
    reader: Reader,
    before: int,
    most: int,
    wanted: WantedRecords,
    parents: Mapping[str, str],
    owners: Owners,
) -> RecordsFound:
    """Read backwards from an event until there are enough, or too many were looked at.

    Args:
        reader: of the ledger.
        before: number of the event behind the newest that counts.
        most: records at most.
        wanted: which ones.
        parents: queue -> the queue above it, as they are now.
        owners: of workloads that were submitted before what is read.

    Raises:
        EnvironmentFault: the database does not answer.
    """
    base = reader.base()
    first = base.seq + 1 if base else 1
    found, low = list[TrailRecord](), before
    while low > first and len(found) < most and before - low < MOST_READ:
        rows = _whole_cycles(reader, low, first)
        if not rows:
            break
        low = rows[0].seq
        fitting = _fitting(rows, wanted, DecisionContext(parents=dict(parents)), owners)
        found += reversed(fitting)
        if rows[0].at < wanted.since:
            low = first
    if len(found) > most:
        found = found[:most]
        low = found[-1].seq
    return RecordsFound(tuple(found), low, low > first)


def newest_before(reader: Reader, at: int, head: int) -> int:
    """Number of the first event that was written at a time in ms, or after it.

    Raises:
        EnvironmentFault: the database does not answer.
    """
    base = reader.base()
    low, high = (base.seq if base else 0) + 1, head + 1
    while low < high:
        middle = (low + high) // 2
        rows = reader.events(middle - 1, 1)
        if rows and rows[0].at < at:
            low = rows[0].seq + 1
        else:
            high = middle
    return low


def _whole_cycles(reader: Reader, before: int, first: int) -> list[ExportedEvent]:
    """Events up to one, beginning with a cycle: so it is known which of them were decisions."""
    size = CHUNK
    while True:
        start = max(before - size, first)
        entries = [each for each in reader.events(start - 1, size) if each.seq < before]
        if start > first:
            whole = [each for each in entries if each.cycle != entries[0].cycle]
            if not whole and entries:
                size *= 2
                continue
            entries = whole
        heads = reader.heads({each.cycle for each in entries})
        return [_row(each, *heads.get(each.cycle, (0, 0))) for each in entries]


def _row(entry: Entry, cycle_at: int, incoming: int) -> ExportedEvent:
    return ExportedEvent(
        *(entry.seq, entry.at, entry.cycle, entry.kind, cycle_at, incoming),
        (entry.checksum or b"").hex(),
        body=entry.body.decode(errors="replace"),
    )


def _fitting(
    rows: list[ExportedEvent], wanted: WantedRecords, context: DecisionContext, owners: Owners
) -> list[TrailRecord]:
    read, cycle, number = list[AuditRecord](), 0, 0
    for row in rows:
        cycle, number = row.cycle, number + 1 if row.cycle == cycle else 0
        read.append(record_of(row, context, is_decision=number >= row.incoming))
    unknown = {each.workload for each in read if each.workload and not each.queue}
    queues = owners(unknown) if unknown else {}
    shown = list[TrailRecord]()
    for each in read:
        known = each.queue or queues.get(each.workload, "")
        record = _with_queue(each, known)
        if wanted.takes(record, context):
            shown.append(_shown(record))
    return shown


def _with_queue(record: AuditRecord, queue: str) -> AuditRecord:
    return record if record.queue == queue else replace(record, queue=queue)


def _shown(each: AuditRecord) -> TrailRecord:
    return TrailRecord(
        *(each.seq, each.at, each.kind, each.actor, each.queue, each.workload, each.request),
        *(each.rule, each.checksum, each.event, each.problem, each.cluster),
        *(each.token, each.agent),
    )


def verdict(reader: Reader, home: Path, effects: Effects, now: int, unwritten: str) -> TrailVerdict:
    """Check every event of a ledger as `ganglion audit verify` does, with the anchors of a home.

    Args:
        reader: of the ledger, at rest.
        home: Ganglion's home directory.
        effects: files.
        now: the time in ms.
        unwritten: what is wrong with signing or anchors; empty = nothing.

    Raises:
        NotFound: nothing was ever signed.
        FileError: `audit.yaml` is not what it should be.
        EnvironmentFault: the database does not answer, or the checkpoints cannot be read.
    """
    folder = AuditFolder(home, effects)
    newest = folder.newest()
    lines = partial(exported, reader, folder, newest.seq if newest else 0)
    key = folder.public() or named_key(lines())
    held = [
        _anchored(each, key, effects) for each in read_audit_settings(home, effects.files).anchors
    ]
    found: AuditVerdict = verified(lines(), key, [each for each, _ in held if each])
    found.flaws += contradicted(reader, folder)
    return TrailVerdict(
        *(now, found.log, found.key, found.sound, found.first, found.last),
        *(found.events, found.checkpoints, found.signed, found.unsigned, found.anchored),
        tuple(standing for _, standing in held),
        unwritten,
        tuple(TrailFlaw(each.seq, each.problem) for each in found.flaws),
    )


def _anchored(
    anchor: Anchor, key: PublicKey, effects: Effects
) -> tuple[Anchored | None, AnchorStanding]:
    place = anchor.file or anchor.git
    if not place:
        return None, AnchorStanding(anchor.where, problem=NO_SYSLOG)
    try:
        found = read_anchor(Path(place), key, effects.files)
    except FileError as error:
        return None, AnchorStanding(anchor.where, problem=error.message)
    return found, AnchorStanding(anchor.where, len(found.roots))
