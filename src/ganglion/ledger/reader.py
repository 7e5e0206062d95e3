"""Reading a ledger: events, cycles, workloads, snapshots. Takes no lock."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self, TypeVar

from sqlalchemy import (
    Connection,
    Engine,
    LargeBinary,
    Select,
    bindparam,
    cast,
    inspect,
    select,
    text,
)

from ganglion.ledger.codec import UNREADABLE, decoded, decoded_all
from ganglion.ledger.history import WorkloadHistory
from ganglion.ledger.people.names import Names, Pseudonym
from ganglion.ledger.records import Cut, Cycle, Entry, Flaw, Snapshot
from ganglion.ledger.sql import database
from ganglion.ledger.sql.faults import faults
from ganglion.ledger.sql.tables import SCHEMA, cuts, cycles, events, people, snapshots
from ganglion.model.errors import EnvironmentFault
from ganglion.model.events import Event
from ganglion.seams.effects import SYSTEM, Effects

T = TypeVar("T")

PAGE = 5_000
"""Events read at once."""

# A manual edit may have left text where bytes belong.
_ROW = select(
    events.c.seq,
    events.c.at,
    events.c.cycle,
    events.c.kind,
    cast(events.c.body, LargeBinary).label("body"),
    cast(events.c.checksum, LargeBinary).label("checksum"),
)

_GANG = re.compile(rb'"gang":(?:\{"id":)?"([^"\\]{1,200})"')
_ATTEMPT = re.compile(rb'"attempt":(\d{1,9})\b')
# Every checkpoint asks this, and to make the statement takes longer than to ask.
_CHECKSUMS = (
    select(events.c.seq, cast(events.c.checksum, LargeBinary))
    .where(events.c.seq > bindparam("after"))
    .order_by(events.c.seq)
    .limit(bindparam("most"))
)


class Reader:
    """Reads a ledger.

    Args:
        engine: of the database.
        where: the database as messages name it.
        pinned: a connection inside a transaction that everything is read through, so that all
            of it is of one moment; None = every read takes a connection of its own.

    Attributes:
        where: the database as messages name it.
        history: the workloads.
    """

    def __init__(self, engine: Engine, where: str, pinned: Connection | None = None) -> None:
        self._engine, self._pinned = engine, pinned
        self._heads: dict[int, tuple[int, int]] = {}
        self._names: Names | None = None
        self.where = where
        self.history = WorkloadHistory(engine, where, pinned)

    @classmethod
    def at_rest(cls, target: str | Path, effects: Effects = SYSTEM) -> Self:
        """Open a ledger as it is at this moment, also while a server writes to it.

        Nothing is changed: a ledger of another schema is refused.

        Raises:
            InputError: a URL of something that cannot hold a ledger.
            EnvironmentFault: it is not there, damaged beyond reading, or of another version.
        """
        url = database.parse(target)
        where = database.shown(url)
        path = database.file_of(url)
        if path and not database.is_there(path, effects.files):
            raise EnvironmentFault(f"there is no ledger {where}", "name its home or its database")
        engine = database.connect(url, effects.connections)
        try:
            with faults(where):
                pinned = engine.connect()
                if engine.dialect.name == "postgresql":
                    pinned = pinned.execution_options(isolation_level="REPEATABLE READ")
                pinned.begin()
                _same_schema(pinned, where)
        except BaseException:
            engine.dispose()
            raise
        return cls(engine, where, pinned)

    @contextmanager
    def still(self) -> Iterator["Reader"]:
        """The same ledger as it is at this moment, whatever is written meanwhile."""
        with faults(self.where), self._engine.connect() as connection:
            if self._engine.dialect.name == "postgresql":
                connection = connection.execution_options(isolation_level="REPEATABLE READ")  # noqa: PLW2901 - the same one
            connection.begin()
            yield Reader(self._engine, self.where, connection)

    def leave(self) -> None:
        """Let go of the database after `at_rest`."""
        if self._pinned:
            self._pinned.close()
        self._engine.dispose()

    def rows(self, query: Select[Any], values: Mapping[str, object] | None = None) -> list[Any]:
        """Read rows; `values` are those of the query's parameters.

        Raises:
            EnvironmentFault: the database does not answer.
        """
        return self._read(lambda connection: list(connection.execute(query, values).all()))

    def _read(self, read: Callable[[Connection], list[T]]) -> list[T]:
        """Read by the pinned connection, or by one of the pool. Raises EnvironmentFault."""
        with faults(self.where):
            if self._pinned:
                return read(self._pinned)
            with self._engine.connect() as connection:
                return read(connection)

    def events(self, after: int = 0, limit: int = PAGE) -> list[Entry]:
        """Events with `seq` above `after`, oldest first, at most `limit`.

        Raises:
            EnvironmentFault: the database does not answer.
        """
        found = _ROW.where(events.c.seq > after).order_by(events.c.seq).limit(limit)
        return [self._entry(row) for row in self.rows(found)]

    @property
    def names(self) -> Names:
        """The names that events hold digests of."""
        if self._names is None:
            self._names = Names(self.people())
        return self._names

    def people(self) -> list[Pseudonym]:
        """Rows of the table of names, by pseudonym.

        Raises:
            EnvironmentFault: the database does not answer.
        """
        token, salt = people.c.token, cast(people.c.salt, LargeBinary)
        found = self.rows(select(token, salt, people.c.name).order_by(token))
        return [Pseudonym(str(token), salt or b"", str(name)) for token, salt, name in found]

    def _entry(self, row: Any) -> Entry:  # noqa: ANN401 - of SQLAlchemy
        stored = row.body or b""
        body = self.names.shown(stored)
        other = b"" if body is stored else stored
        return Entry(row.seq, row.at, row.cycle, row.kind, body, row.checksum, other)

    def checksums(self, after: int, limit: int = PAGE) -> list[tuple[int, bytes]]:
        """Number and checksum of events with `seq` above `after`, oldest first, at most `limit`.

        Raises:
            EnvironmentFault: the database does not answer.
        """
        values = {"after": after, "most": limit}

        def read(connection: Connection) -> list[tuple[int, bytes | None]]:
            # Rows of the driver cost half of what those of SQLAlchemy do, and every event is one.
            return list(connection.execute(_CHECKSUMS, values).cursor.fetchall())

        return [(seq, checksum or b"") for seq, checksum in self._read(read)]

    def plain_rows(self, query: Select[Any], values: Mapping[str, object]) -> list[tuple[Any, ...]]:
        """As `rows`, as the driver has them: of columns that need no conversion.

        Raises:
            EnvironmentFault: the database does not answer.
        """
        return self._read(lambda connection: [*connection.execute(query, values).cursor.fetchall()])

    def heads(self, numbers: Collection[int]) -> dict[int, tuple[int, int]]:
        """Cycle -> its time in ms, and how many of its events came from outside."""
        named = select(cycles).where(cycles.c.cycle.in_(numbers))
        return {row.cycle: (row.at, row.incoming) for row in self.rows(named)}

    def newest(self, kind: type[Event]) -> Event | None:
        """The newest event of a sort that can be read; None = there is none.

        Raises:
            EnvironmentFault: the database does not answer.
        """
        found = self.newest_entry(kind)
        return decoded(found.body) if found else None

    def newest_entry(self, kind: type[Event]) -> Entry | None:
        """The row of the newest event of a sort that can be read; None = there is none."""
        tag = str(kind.__struct_config__.tag)
        found = _ROW.where(events.c.kind == tag).order_by(events.c.seq.desc())
        for row in self.rows(found.limit(1)) or ():
            if _readable(row.body):
                return self._entry(row)
            others = (each for each in self.rows(found) if _readable(each.body))
            return next(map(self._entry, others), None)
        return None

    def base(self) -> Cut | None:
        """The newest cut, before which there are no events; None = the ledger is whole."""
        found = self.rows(select(cuts).order_by(cuts.c.seq.desc()).limit(1))
        return Cut(*found[0]) if found else None

    def replay(self) -> Iterator[Event]:
        """Every event that can be read, from the first on."""
        for cycle in self.cycles():
            yield from cycle.incoming
            yield from cycle.decisions

    def cycles(self, after: int = 0) -> Iterator[Cycle]:
        """Every cycle from the first on, or from the cut on; those without events are left out.

        Args:
            after: only cycles whose events have greater numbers; the last event of a cycle, or 0.

        Raises:
            EnvironmentFault: the database does not answer.
        """
        base = self.base()
        after = max(after, base.seq if base else 0)
        gathered, last = list[Entry](), after
        for page in self._pages(after):
            for cut in _cuts(page):
                if gathered and gathered[0].cycle != cut[0].cycle:
                    yield self._cycle(gathered, last)
                    last, gathered = gathered[-1].seq, []
                gathered += cut
        if gathered:
            yield self._cycle(gathered, last)

    def snapshots(self) -> list[Snapshot]:
        """The snapshots of the state, the newest first."""
        found = select(snapshots).where(snapshots.c.seq > 0).order_by(snapshots.c.seq.desc())
        return [Snapshot(*row) for row in self.rows(found)]

    def _pages(self, after: int) -> Iterator[list[Entry]]:
        while page := self.events(after, PAGE):
            yield page
            after = page[-1].seq

    def _cycle(self, entries: list[Entry], last: int) -> Cycle:
        """Decode one cycle; what cannot be read becomes a flaw of it."""
        number = entries[0].cycle
        at, incoming = self._head(entries)
        first = last + 1
        happened = _all_decoded(entries) if entries[-1].seq == last + len(entries) else None
        if happened is not None:
            seqs = range(first, first + len(entries))
            return Cycle(number, at, happened[:incoming], happened[incoming:], seqs)
        flaws = list[Flaw]()
        facts, decisions = list[tuple[int, Event]](), list[tuple[int, Event]]()
        for entry in entries:
            if entry.seq != last + 1:
                flaws.append(_missing(last + 1, entry.seq - 1))
            last = entry.seq
            try:
                event = decoded(entry.body)
            except UNREADABLE as error:
                flaws.append(_unreadable(entry, error))
            else:
                (facts if entry.seq < first + incoming else decisions).append((last, event))
        kept = [seq for seq, _ in (*facts, *decisions)]
        return Cycle(number, at, [e for _, e in facts], [e for _, e in decisions], kept, flaws)

    def _head(self, entries: list[Entry]) -> tuple[int, int]:
        """Time of a cycle, and how many of its events came from outside."""
        number = entries[0].cycle
        if number not in self._heads:
            wanted = select(cycles).where(cycles.c.cycle.between(number, number + PAGE))
            self._heads = {row.cycle: (row.at, row.incoming) for row in self.rows(wanted)}
        # A row that is gone: all of its cycle counts as facts.
        return self._heads.get(number, (entries[0].at, len(entries)))


def _cuts(page: list[Entry]) -> Iterator[list[Entry]]:
    """Split a page where cycles change."""
    begin = 0
    for index in range(1, len(page)):
        if page[index].cycle != page[begin].cycle:
            yield page[begin:index]
            begin = index
    yield page[begin:]


def _all_decoded(entries: list[Entry]) -> list[Event] | None:
    """The events of a cycle; None = one of them cannot be read."""
    try:
        found = decoded_all([entry.body for entry in entries])
    except UNREADABLE:
        return None
    return found if len(found) == len(entries) else None


def _readable(body: bytes) -> bool:
    try:
        decoded(body)
    except UNREADABLE:
        return False
    return True


def _missing(first: int, last: int) -> Flaw:
    what = f"event {first} is missing" if first == last else f"events {first}..{last} are missing"
    return Flaw(first, "", what)


def _unreadable(entry: Entry, error: Exception) -> Flaw:
    gang, attempt = _about(entry.body)
    return Flaw(entry.seq, entry.kind, f"cannot be read: {error}", gang, attempt)


def _about(body: bytes) -> tuple[str, int]:
    """The gang and attempt that an event which cannot be decoded names; empty = unknown."""
    gang, attempt = _GANG.search(body), _ATTEMPT.search(body)
    return gang[1].decode("utf-8", "replace") if gang else "", int(attempt[1]) if attempt else 0


def _same_schema(connection: Connection, where: str) -> None:
    """Raises EnvironmentFault: the tables are not those of this version."""
    found = ""
    if inspect(connection).has_table("alembic_version"):
        found = str(connection.scalar(text("SELECT version_num FROM alembic_version")) or "")
    if found != SCHEMA:
        raise EnvironmentFault(
            f"{where} has schema {found or 'none'}, this version reads {SCHEMA}",
            "an older ledger is brought up to date when a server opens it: ganglion up",
        )
