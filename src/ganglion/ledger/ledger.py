"""The event store: gapless, one transaction per scheduling cycle, one writer."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path
from typing import Any, Self

import msgspec
from sqlalchemy import Column, Connection, Engine, bindparam, delete, func, insert, select, update

from ganglion.ledger.chain import GENESIS, ChainTail, Progress, Row, chained, silent
from ganglion.ledger.executors import Executors
from ganglion.ledger.history import TRIMMED, columns_of, ending_of, row_of, trimmed
from ganglion.ledger.intervals import IntervalNumbers
from ganglion.ledger.lock import FileLock
from ganglion.ledger.people.erasure import NEW_PEOPLE, erase, unwiped, wipe
from ganglion.ledger.people.names import Names, Pseudonym
from ganglion.ledger.reader import Reader
from ganglion.ledger.records import Batch, Entry, Snapshot, Spacing, Submitted
from ganglion.ledger.sql import database
from ganglion.ledger.sql.faults import faults
from ganglion.ledger.sql.migrate import migrate
from ganglion.ledger.sql.statements import Prepared, Session, first, transaction
from ganglion.ledger.sql.tables import cuts, cycles, events, people, snapshots, workloads
from ganglion.seams.effects import SYSTEM, Effects
from ganglion.seams.randomness import Randomness

SPARE_PAGES = 64
"""Free pages that a file keeps for what comes next."""
INCREMENTAL = 2
"""SQLite's number of the mode in which a file can get smaller step by step."""
SCRATCH = -1
"""Number of a snapshot that is none: what `probe` writes."""

_ENCODE = msgspec.json.Encoder()


def _changing(*columns: str) -> Prepared:
    """Sets columns of the workload that `of` names."""
    values: dict[str, Any] = {each: bindparam(each) for each in columns}
    return Prepared(update(workloads).where(workloads.c.id == bindparam("of")).values(values))


_NEW_CYCLE, _NEW_EVENTS, _NEW_CUT = (Prepared(insert(each)) for each in (cycles, events, cuts))
_NEW_WORKLOADS = Prepared(insert(workloads))
_CHANGED, _ENDED = _changing("queue", "body"), _changing("ended", "state", "detail")
_KNOWN = Prepared(select(workloads.c.number).where(workloads.c.request_key == bindparam("key")))


class Ledger(Reader):
    """Everything that happened, in order, for ever.

    `seq` and `cycle` count from 1 without gaps. One ledger has one writer: opening takes a
    lock. Reading is safe from any thread, `append` from one.

    Attributes:
        head: `seq` of the newest event; 0 = none.
        cycle: number of the newest cycle; 0 = none.
        checksum: of the newest event.
        tail: checksums of the newest events.
        executors: which home executes the ledger.
        spacing: which snapshots stay.
        generation: its term in which this writer writes; 0 = it executes nothing.
    """

    def __init__(
        self,
        engine: Engine,
        writer: Connection,
        where: str,
        lock: FileLock | None,
        randomness: Randomness,
    ) -> None:
        super().__init__(engine, where)
        self._writer, self._lock, self._randomness = writer, lock, randomness
        self.executors, self.generation = Executors(engine, where, randomness), 0
        self.spacing, self._intervals, self.tail = Spacing(), IntervalNumbers(), ChainTail()
        self.refresh()

    @classmethod
    def open(
        cls, target: str | Path, progress: Progress = silent, effects: Effects = SYSTEM
    ) -> Self:
        """Open or make a ledger and bring it to the newest schema.

        Args:
            target: path of a SQLite file, or a database URL.
            progress: called with how far a long migration is.
            effects: files, databases and chance.

        Raises:
            InputError: a URL of something that cannot hold a ledger.
            EnvironmentFault: it is damaged, read-only, in use, from a newer version, or gone.
        """
        url = database.parse(target)
        where = database.shown(url)
        with ExitStack() as undo:
            lock = database.file_lock(url, effects)
            if lock:
                undo.callback(lock.release)
            engine = database.connect(url, effects.connections)
            undo.callback(engine.dispose)
            writer = database.writer(engine, where)
            undo.callback(database.release, writer)
            database.check(writer, where)
            migrate(writer, where, progress)
            made = cls(engine, writer, where, lock, effects.randomness)
            undo.pop_all()
        return made

    def close(self) -> None:
        """Let go of the database; the next server may open it."""
        database.release(self._writer)
        self._engine.dispose()
        if self._lock:
            self._lock.release()

    def _connected(self) -> None:
        """Connect again where the connection is lost, and take the lock again."""
        if self._writer.invalidated or self._writer.closed:
            self._writer.close()
            self._writer = database.writer(self._engine, self.where)

    def refresh(self) -> None:
        """Read again where the ledger ends, after a failed `append` or a lost connection.

        Raises:
            EnvironmentFault: the database does not answer, or another server took over.
        """
        self._connected()
        with faults(self.where), self._writer.begin():
            self.head = self._top(events.c.seq)
            self.cycle = self._top(cycles.c.cycle)
            self._intervals.refresh(self._writer)
            known = self._writer.execute(select(people.c.token, people.c.salt, people.c.name))
            self._names = Names((Pseudonym(*row) for row in known), self._randomness)
            self._numbers = count(self._top(workloads.c.number) + 1)
            newest = select(events.c.checksum).where(events.c.seq == self.head)
            self.checksum = bytes(self._writer.scalar(newest) or GENESIS)

    def confirm(self) -> None:
        """Check that no other home took the ledger over.

        Raises:
            Superseded: one did.
            EnvironmentFault: the database does not answer.
        """
        if self.generation:
            self.executors.confirm(self.generation)

    def _top(self, column: Column[int]) -> int:
        return int(self._writer.scalar(select(func.max(column))) or 0)

    def next_number(self) -> int:
        """Take the number of a new workload.

        Numbers are kept with the workload: one that is not appended before `refresh` or a
        restart is given again.
        """
        return next(self._numbers)

    def is_known(self, key: str) -> bool:
        """Whether a workload was submitted with an idempotency key. For the thread that appends.

        Raises:
            EnvironmentFault: the database does not answer.
        """
        with faults(self.where):
            return first(self._writer, _KNOWN, {"key": key}) is not None

    def append(self, batch: Batch) -> list[Entry]:
        """Write one cycle; when this returns, it survives a power cut.

        Returns:
            its events with their numbers.

        Raises:
            Superseded: another home took over; nothing was written.
            EnvironmentFault: nothing was written; call `refresh` before the next try.
        """
        entries, new = self._entries(batch)
        with faults(self.where), transaction(self._writer) as session:
            if self.generation:
                self.executors.confirm(self.generation, session)
            self._write_events(session, batch, entries)
            if new:
                session.execute(NEW_PEOPLE, [msgspec.structs.asdict(each) for each in new])
            if batch.erased:
                erase(session, self, self.names, batch.erased)
            _write_workloads(session, batch)
            self._intervals.write(session, self.cycle + 1, batch)
            if batch.cut:
                session.execute(_NEW_CUT, [msgspec.structs.asdict(batch.cut)])
        for each in batch.erased:
            self.names.forget(self.names.token(each))
        self.tail.add(self.head + 1, [each.checksum or b"" for each in entries])
        self.head += len(entries)
        self.cycle += 1
        self._intervals.written(batch)
        self.checksum = entries[-1].checksum or self.checksum if entries else self.checksum
        return entries

    def _entries(self, batch: Batch) -> tuple[list[Entry], list[Pseudonym]]:
        """The events of a cycle with their checksums, and people whom none before them named."""
        at, number, new = batch.at, self.cycle + 1, list[Pseudonym]()
        bodies, rows = list[bytes](), list[Row]()
        for seq, event in enumerate((*batch.incoming, *batch.decisions), self.head + 1):
            body = _ENCODE.encode(event)
            stored, others = self.names.hidden(body)
            new += others
            bodies.append(body)
            kind = str(event.__struct_config__.tag)
            rows.append((seq, event.at, number, kind, stored))
        sums = chained(self.checksum, rows, at, len(batch.incoming))
        found = zip(rows, bodies, sums, strict=True)
        return [_entry(row, body, checksum) for row, body, checksum in found], new

    def _write_events(self, session: Session, batch: Batch, entries: list[Entry]) -> None:
        cycle = {"cycle": self.cycle + 1, "at": batch.at, "incoming": len(batch.incoming)}
        session.execute(_NEW_CYCLE, [cycle])
        if entries:
            session.execute(_NEW_EVENTS, [each.columns for each in entries])

    def mend(self, rows: Sequence[Submitted]) -> None:
        """Write rows of live workloads again, which were damaged or gone.

        Raises:
            EnvironmentFault: nothing was written.
        """
        if not rows:
            return
        with faults(self.where), self._writer.begin():
            for each in rows:
                same = (workloads.c.number == each.number) | (workloads.c.id == each.id)
                known = self._writer.execute(
                    select(workloads.c.request_key, workloads.c.request_hash).where(same)
                ).first()
                self._writer.execute(delete(workloads).where(same))
                kept = {"request_key": known[0], "request_hash": known[1]} if known else {}
                self._writer.execute(insert(workloads), row_of(each) | kept)
        self.refresh()

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """The connection that writes, inside one transaction. Call `refresh` afterwards.

        Raises:
            EnvironmentFault: nothing was written.
        """
        with faults(self.where), self._writer.begin():
            yield self._writer

    def keep(self, snapshot: Snapshot) -> None:
        """Write a snapshot; of those before it the newest stays, and those of `spacing`.

        Raises:
            EnvironmentFault: it was not written.
        """
        older = select(snapshots.c.seq, snapshots.c.at).where(snapshots.c.seq < snapshot.seq)
        base = select(func.max(cuts.c.seq))
        with faults(self.where), self._writer.begin():
            known = [tuple(row) for row in self._writer.execute(older.order_by(snapshots.c.seq))]
            stays = [*_spaced(known, self.spacing, self._writer.scalar(base) or 0)]
            self._writer.execute(delete(snapshots).where(snapshots.c.seq.not_in(stays)))
            self._writer.execute(insert(snapshots), msgspec.structs.asdict(snapshot))

    def drop_cut(self, limit: int) -> int:
        """Remove some of the events that were cut off, the oldest first. Safe from any thread.

        Args:
            limit: most events.

        Returns:
            how many were removed; below `limit` = none is left.

        Raises:
            EnvironmentFault: the database refuses.
        """
        base = self.base()
        if base is None:
            return 0
        with faults(self.where), self._engine.connect() as other:
            connection = other.execution_options(writer=True)
            with connection.begin():
                first = connection.scalar(select(func.min(events.c.seq))) or base.seq
                last = min(first + limit - 1, base.seq)
                gone = connection.execute(delete(events).where(events.c.seq <= last)).rowcount
                needed = select(func.min(events.c.cycle)).scalar_subquery()
                connection.execute(delete(cycles).where(cycles.c.cycle < needed))
        return int(gone)

    def give_back(self, limit: int) -> int:
        """Make a file smaller by some of its free pages. Safe from any thread.

        A file that an earlier version made keeps them: it has to be vacuumed once.

        Args:
            limit: most pages.

        Returns:
            how many were given back; below `limit` = no more can be.

        Raises:
            EnvironmentFault: the disk refuses.
        """
        if self._engine.dialect.name != "sqlite":
            return 0
        with faults(self.where), self._engine.connect() as other:
            connection = other.execution_options(writer=True)
            with connection.begin():
                free = connection.exec_driver_sql("PRAGMA freelist_count").scalar() or 0
                able = connection.exec_driver_sql("PRAGMA auto_vacuum").scalar() == INCREMENTAL
                found = min(limit, max(free - SPARE_PAGES, 0)) if able else 0
                for _ in range(found):  # the driver takes one step, which is one page
                    connection.exec_driver_sql("PRAGMA incremental_vacuum(1)")
            if found:  # the file gets smaller once the log is folded in, as far as none reads it
                connection.connection.cursor().execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        return found

    def trim(self, before: int, limit: int) -> int:
        """Of some workloads that ended before a time, keep what lists show. From any thread.

        Args:
            before: the time in ms.
            limit: most workloads.

        Returns:
            how many were trimmed; 0 = none is left.

        Raises:
            EnvironmentFault: the database refuses.
        """
        table = workloads.c
        due = select(table.number, table.detail).where(
            table.ended < before, table.document != TRIMMED
        )
        change = update(workloads).where(table.number == bindparam("of"))
        change = change.values(document=TRIMMED, detail=bindparam("shown"))
        with faults(self.where), self._engine.connect() as other:
            connection = other.execution_options(writer=True)
            with connection.begin():
                rows = connection.execute(due.order_by(table.number).limit(limit)).all()
                found = [{"of": row.number, "shown": trimmed(row.detail)} for row in rows]
                if found:
                    connection.execute(change, found)
        return len(found)

    def wipe(self) -> bool:
        """Leave nothing of names that were erased in the file; whether it is so.

        Raises:
            EnvironmentFault: the database refuses, or is in use.
        """
        tokens = unwiped(self)
        return not tokens or wipe(self._engine, self.where, tokens)

    def probe(self, size: int) -> None:
        """Find out whether the database accepts writes, by one that is taken back.

        Args:
            size: bytes to write.

        Raises:
            EnvironmentFault: it does not, or another server took over.
        """
        self._connected()
        scratch = Snapshot(SCRATCH, 0, 0, "", b"", b"\0" * size)
        with faults(self.where), self._writer.begin():
            self._writer.execute(delete(snapshots).where(snapshots.c.seq == SCRATCH))
            self._writer.execute(insert(snapshots), msgspec.structs.asdict(scratch))
        with faults(self.where), self._writer.begin():
            self._writer.execute(delete(snapshots).where(snapshots.c.seq == SCRATCH))


def _spaced(known: list[Any], spacing: Spacing, base: int) -> Iterator[int]:
    """Which snapshots stay: the newest, the one that the ledger was cut at, and some between."""
    last_seq, last_at = base, -spacing.ms
    for seq, at in known:
        apart = spacing.ms and at - last_at >= spacing.ms
        apart = apart or (spacing.events and seq - last_seq >= spacing.events)
        if seq == base or (seq > base and apart) or seq == known[-1][0]:
            last_seq, last_at = seq, at
            yield seq


def _write_workloads(session: Session, batch: Batch) -> None:
    if batch.submitted:
        session.execute(_NEW_WORKLOADS, [row_of(new) for new in batch.submitted])
    if batch.changed:
        session.execute(_CHANGED, [{"of": each.id, **columns_of(each)} for each in batch.changed])
    if batch.ended:
        session.execute(_ENDED, [{"of": each.id, **ending_of(each)} for each in batch.ended])
    if batch.past:
        session.execute(_NEW_WORKLOADS, [row_of(new) | ending_of(end) for new, end in batch.past])


def _entry(row: Row, body: bytes, checksum: bytes) -> Entry:
    seq, at, cycle, kind, stored = row
    return Entry(seq, at, cycle, kind, body, checksum, b"" if stored == body else stored)
