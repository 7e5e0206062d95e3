"""The event store: gapless, one transaction per scheduling cycle, one writer."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any, Self

import msgspec
from sqlalchemy import Column, Connection, Engine, func, insert, select, update

from ganglion.ledger import database
from ganglion.ledger.faults import faults
from ganglion.ledger.history import History
from ganglion.ledger.lock import FileLock
from ganglion.ledger.migrate import migrate
from ganglion.ledger.records import Batch, Changed, Cycle, Ended, Entry, Submitted
from ganglion.ledger.tables import cycles, events, workloads
from ganglion.model.errors import EnvironmentFault
from ganglion.model.events import Event

_ENCODE = msgspec.json.Encoder()
_DECODE = msgspec.json.Decoder(list[Event])
_PAGE = 5_000


class Ledger:
    """Everything that happened, in order, for ever.

    `seq` and `cycle` count from 1 without gaps. One ledger has one writer: opening takes a
    lock. Reading is safe from any thread, `append` from one.

    Attributes:
        where: the database as messages name it.
        head: `seq` of the newest event; 0 = none.
        cycle: number of the newest cycle; 0 = none.
        history: the workloads.
    """

    def __init__(
        self, engine: Engine, writer: Connection, where: str, lock: FileLock | None
    ) -> None:
        self._engine, self._writer, self._lock = engine, writer, lock
        self.where = where
        self.history = History(engine, where)
        self.refresh()

    @classmethod
    def open(cls, target: str | Path) -> Self:
        """Open or make a ledger and bring it to the newest schema.

        Args:
            target: path of a SQLite file, or a database URL.

        Raises:
            InputError: a URL of something that cannot hold a ledger.
            EnvironmentFault: it is damaged, read-only, in use, from a newer version, or gone.
        """
        url = database.parse(target)
        where = str(url.database) if url.get_backend_name() == "sqlite" else str(url)
        lock = database.file_lock(url)
        engine = database.connect(url)
        try:
            return cls._opened(engine, where, lock)
        except BaseException:
            engine.dispose()
            if lock:
                lock.release()
            raise

    @classmethod
    def _opened(cls, engine: Engine, where: str, lock: FileLock | None) -> Self:
        writer = database.writer(engine, where)
        try:
            database.check(writer, where)
            migrate(writer, where)
            return cls(engine, writer, where, lock)
        except BaseException:
            writer.close()
            raise

    def close(self) -> None:
        """Let go of the database; the next server may open it."""
        self._writer.close()
        self._engine.dispose()
        if self._lock:
            self._lock.release()

    def refresh(self) -> None:
        """Read again where the ledger ends, after a failed `append` or a lost connection.

        Raises:
            EnvironmentFault: the database does not answer, or another server took over.
        """
        if self._writer.invalidated or self._writer.closed:
            self._writer.close()
            self._writer = database.writer(self._engine, self.where)
        with faults(self.where), self._writer.begin():
            self.head = self._top(events.c.seq)
            self.cycle = self._top(cycles.c.cycle)
            self._numbers = count(self._top(workloads.c.number) + 1)

    def _top(self, column: Column[int]) -> int:
        return int(self._writer.scalar(select(func.max(column))) or 0)

    def next_number(self) -> int:
        """Take the number of a new workload.

        Numbers are kept with the workload: one that is not appended before `refresh` or a
        restart is given again.
        """
        return next(self._numbers)

    def append(self, batch: Batch) -> list[Entry]:
        """Write one cycle; when this returns, it survives a power cut.

        Returns:
            its events with their numbers.

        Raises:
            EnvironmentFault: nothing was written; call `refresh` before the next try.
        """
        entries = self._entries(batch)
        with faults(self.where), self._writer.begin():
            self._write_events(batch, entries)
            self._write_workloads(batch)
        self.head += len(entries)
        self.cycle += 1
        return entries

    def _entries(self, batch: Batch) -> list[Entry]:
        happened = (*batch.incoming, *batch.decisions)
        return [
            Entry(seq, event.at, self.cycle + 1, _kind(event), _ENCODE.encode(event))
            for seq, event in enumerate(happened, self.head + 1)
        ]

    def _write_events(self, batch: Batch, entries: list[Entry]) -> None:
        cycle = {"cycle": self.cycle + 1, "at": batch.at, "incoming": len(batch.incoming)}
        self._writer.execute(insert(cycles), cycle)
        if entries:
            self._writer.execute(insert(events), [msgspec.structs.asdict(e) for e in entries])

    def _write_workloads(self, batch: Batch) -> None:
        if batch.submitted:
            self._writer.execute(insert(workloads), [_row(new) for new in batch.submitted])
        for change in batch.changed:
            self._change(change.id, _columns(change))
        for end in batch.ended:
            self._change(end.id, _ending(end))

    def _change(self, workload: str, values: dict[str, Any]) -> None:
        self._writer.execute(update(workloads).where(workloads.c.id == workload).values(values))

    def replay(self) -> Iterator[Event]:
        """Every event from the first on.

        Raises:
            EnvironmentFault: an event cannot be read.
        """
        for cycle in self.cycles():
            yield from cycle.incoming
            yield from cycle.decisions

    def cycles(self) -> Iterator[Cycle]:
        """Every cycle from the first on; those that recorded no event are left out.

        Raises:
            EnvironmentFault: an event cannot be read.
        """
        now, head, gathered = 0, (0, 0), list[Event]()
        for page in self._pages():
            heads = self._heads(page[0].cycle, page[-1].cycle)
            for entry, event in zip(page, self._decoded(page), strict=True):
                if entry.cycle != now:
                    if gathered:
                        yield _cycle(now, head, gathered)
                    now, head, gathered = entry.cycle, heads[entry.cycle], []
                gathered.append(event)
        if gathered:
            yield _cycle(now, head, gathered)

    def _heads(self, first: int, last: int) -> dict[int, tuple[int, int]]:
        """Cycle -> (its time, how many of its events came from outside)."""
        wanted = select(cycles).where(cycles.c.cycle.between(first, last))
        with faults(self.where), self._engine.connect() as connection:
            return {row.cycle: (row.at, row.incoming) for row in connection.execute(wanted)}

    def newest(self, kind: type[Event]) -> Event | None:
        """The newest event of a sort; None = there is none.

        Raises:
            EnvironmentFault: the database does not answer, or the event cannot be read.
        """
        tag = str(kind.__struct_config__.tag)
        found = select(events).where(events.c.kind == tag).order_by(events.c.seq.desc()).limit(1)
        with faults(self.where), self._engine.connect() as connection:
            rows = connection.execute(found).all()
        return self._decoded([Entry(*row) for row in rows])[0] if rows else None

    def _pages(self) -> Iterator[list[Entry]]:
        after = 0
        while page := self.events(after, _PAGE):
            if page[0].seq != after + 1 or page[-1].seq != after + len(page):
                raise EnvironmentFault(
                    f"{self.where} is damaged: events are missing after number {after}",
                    "put back a backup; see 'damaged ledger' in docs/runbooks/server.md",
                )
            yield page
            after = page[-1].seq

    def _decoded(self, page: list[Entry]) -> list[Event]:
        try:
            return _DECODE.decode(b"[" + b",".join(entry.body for entry in page) + b"]")
        except msgspec.MsgspecError as error:
            raise EnvironmentFault(
                f"{self.where}: an event of {page[0].seq}..{page[-1].seq} cannot be read: {error}",
                "it was written by another version of Ganglion, or the file is damaged",
            ) from error

    def events(self, after: int = 0, limit: int = _PAGE) -> list[Entry]:
        """Events with `seq` above `after`, oldest first, at most `limit`.

        Raises:
            EnvironmentFault: the database does not answer.
        """
        found = select(events).where(events.c.seq > after).order_by(events.c.seq).limit(limit)
        with faults(self.where), self._engine.connect() as connection:
            rows = connection.execute(found).all()
        return [Entry(*row) for row in rows]


def _cycle(number: int, head: tuple[int, int], happened: list[Event]) -> Cycle:
    at, incoming = head
    return Cycle(number, at, happened[:incoming], happened[incoming:])


def _kind(event: Event) -> str:
    return str(event.__struct_config__.tag)


def _row(new: Submitted) -> dict[str, Any]:
    return {
        "number": new.number,
        "id": new.id,
        "name": new.workload.name,
        "at": new.at,
        "user": new.workload.user,
        "kind": new.workload.kind.value,
        "document": new.document,
        "request_key": new.request_key,
        "request_hash": new.request_hash,
        "ended": None,
        "state": "",
        "detail": b"",
        **_columns(Changed(new.id, new.workload)),
    }


def _columns(change: Changed) -> dict[str, Any]:
    return {"queue": change.workload.queue, "body": _ENCODE.encode(change.workload)}


def _ending(end: Ended) -> dict[str, Any]:
    return {"ended": end.at, "state": end.state, "detail": end.detail}
