"""Records of the audit trail a page at a time, the newest first, and their verification."""

from collections.abc import Callable, Collection, Mapping
from functools import partial
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import bindparam, select

from ganglion.api.past.trail import (
    AnchorCopy,
    AnchorPage,
    AnchorStanding,
    TrailFlaw,
    TrailRecord,
    TrailVerdict,
)
from ganglion.audit.anchored import Anchored, read_anchor
from ganglion.audit.anchors import Anchor, AnchorReached, read_audit_settings
from ganglion.audit.export import ExportedEvent, exported
from ganglion.audit.folder import AuditFolder
from ganglion.audit.notes import PublicKey
from ganglion.audit.records import (
    AuditRecord,
    DecisionContext,
    WantedRecords,
    record_of,
)
from ganglion.audit.sealing import AGE_MS, contradicted
from ganglion.audit.verify import AuditVerdict, named_key, verified
from ganglion.ledger.intervals import attempts_on
from ganglion.ledger.ledger import Ledger
from ganglion.ledger.reader import Reader
from ganglion.ledger.records import Entry
from ganglion.ledger.sql.tables import events
from ganglion.lifecycle.clusters import ClusterBook
from ganglion.metering.clusters import metered_name
from ganglion.model.errors import FileError
from ganglion.model.queue import CLUSTER_SIGN
from ganglion.seams.effects import Effects
from ganglion.server.state.transaction import Mind

CHUNK = 500
"""Events that are read at once."""
MOST_READ = 10_000
"""Events that one page looks at, at most, however few of them fit."""
LATE_MS = 2 * AGE_MS
"""An event that is not signed and anchored at this age is late: twice the time it may take."""
FIRST_AFTER = (
    select(events.c.at).where(events.c.seq > bindparam("after")).order_by(events.c.seq).limit(1)
)
NO_SYSLOG = "lines of syslog lie where the server cannot read them: ganglion audit verify --anchor"

Owners = Callable[[Collection[str]], Mapping[str, str]]
"""Finds the queues of workloads by their ids."""
Holders = Callable[[Collection[str]], Collection[tuple[str, int]]]
"""Finds which gangs hold the node that is asked for, and by which attempt, among some."""

Reached = Callable[[Anchor], AnchorReached]
"""Says how far an anchor is."""


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
    holders: Holders,
) -> RecordsFound:
    """Read backwards from an event until there are enough, or too many were looked at.

    Args:
        reader: of the ledger.
        before: number of the event behind the newest that counts.
        most: records at most.
        wanted: which ones.
        parents: queue -> the queue above it, as they are now.
        owners: of workloads that were submitted before what is read.
        holders: of the node of `wanted`, now.

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
        read = _read(rows, DecisionContext(parents=dict(parents)))
        if wanted.node:
            read = _placed(reader, read, wanted.node, holders)
        fitting = _fitting(read, wanted, DecisionContext(parents=dict(parents)), owners)
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


def _read(rows: list[ExportedEvent], context: DecisionContext) -> list[AuditRecord]:
    read, cycle, number = list[AuditRecord](), 0, 0
    for row in rows:
        cycle, number = row.cycle, number + 1 if row.cycle == cycle else 0
        read.append(record_of(row, context, is_decision=number >= row.incoming))
    return read


def _placed(
    reader: Reader, read: list[AuditRecord], node: str, holders: Holders
) -> list[AuditRecord]:
    """The records, with the node where an attempt had it that was placed before all of them."""
    unknown = {n: key for n, each in enumerate(read) if not each.nodes and (key := _attempt(each))}
    gangs = {gang for gang, _ in unknown.values()}
    if not gangs:
        return read
    metered = {each if CLUSTER_SIGN in each else each.rpartition("/")[0] for each in gangs}
    known = attempts_on(reader, node, metered, read[0].at).union(holders(gangs))
    for n, key in unknown.items():
        if key in known:
            read[n] = replace(read[n], nodes=(node,))
    return read


def _attempt(record: AuditRecord) -> tuple[str, int] | None:
    """Gang and attempt that a record is about, as usage names them; None = about none."""
    gang, attempt = record.event.get("gang"), record.event.get("attempt")
    if not isinstance(gang, str) or not isinstance(attempt, int):
        return None
    return metered_name(record.cluster, gang) if record.cluster else gang, attempt


def _fitting(
    read: list[AuditRecord], wanted: WantedRecords, context: DecisionContext, owners: Owners
) -> list[TrailRecord]:
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


def holding(mind: Mind, node: str, gangs: Collection[str]) -> set[tuple[str, int]]:
    """Which of some gangs hold a node now, and by which attempt; both as usage names them."""
    found = set[tuple[str, int]]()
    for gang in gangs:
        cluster, sign, name = gang.partition(CLUSTER_SIGN)
        if sign:
            away = mind.book.clusters.of.get(cluster, ClusterBook()).gangs.get(name)
            number, place = (away.number, away.placement) if away else (0, None)
            here = node.removeprefix(f"{cluster}{CLUSTER_SIGN}")
        else:
            record = mind.state.gangs.records.get(gang)
            number, place = (record.attempt, record.placement) if record else (0, None)
            here = node
        if place and any(pod.node == here for pod in place.pods):
            found.add((gang, number))
    return found


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
        tuple(_covering(found, *each) for each in held),
        unwritten,
        tuple(TrailFlaw(each.seq, each.problem) for each in found.flaws),
    )


def _covering(
    found: AuditVerdict, held: Anchored | None, standing: AnchorStanding
) -> AnchorStanding:
    standing.events = found.covered.get(held.where, 0) if held else 0
    return standing


def anchors_standing(
    ledger: Ledger,
    home: Path,
    effects: Effects,
    now: int,
    reached: Reached,
) -> AnchorPage:
    """Say what is signed, and how far each anchor of a home is; nothing is verified.

    Args:
        ledger: of the server.
        home: Ganglion's home directory.
        effects: files.
        now: the time in ms.
        reached: how far an anchor is.

    Raises:
        FileError: `audit.yaml` is not what it should be.
        EnvironmentFault: the database does not answer, or the checkpoints cannot be read.
    """
    newest = AuditFolder(home, effects).newest()
    head, signed = ledger.head, newest.seq if newest else 0
    since = _first_after(ledger, signed, head)
    page = AnchorPage(
        *(now, head, signed, head - signed, since, AGE_MS, LATE_MS),
        late=bool(since) and now - since > LATE_MS,
    )
    copies = list[AnchorCopy]()
    for each in read_audit_settings(home, effects.files).anchors:
        known = reached(each)
        since = _first_after(ledger, known.seq, head)
        late = bool(since) and now - max(since, known.begun) > LATE_MS
        counts = (known.seq, known.at, head - known.seq, since)
        copies.append(AnchorCopy(each.where, *counts, late, known.problem))
    page.items = tuple(copies)
    return page


def _first_after(ledger: Ledger, seq: int, head: int) -> int:
    """When the first event after one was written, in ms; 0 = there is none."""
    rows = ledger.rows(FIRST_AFTER, {"after": seq}) if seq < head else []
    return int(rows[0][0]) if rows else 0


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
