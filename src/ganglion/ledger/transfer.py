"""Ledgers as files: export, import, and backup while a server writes.

An export is one JSON object a line: a header, the cycles, the events, the workloads, the intervals
of usage and what comes with it, the names of people, and a last line that counts them and names the
head of the chain. A name that ends in `.gz` is compressed.
"""

import contextlib
import gzip
import io
import os
from base64 import b64decode, b64encode
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import IO, Any, cast

import msgspec
from msgspec import Struct
from sqlalchemy import Connection, Table, insert, select

from ganglion.ledger.chain import GENESIS, Progress, link, silent
from ganglion.ledger.ledger import Ledger
from ganglion.ledger.people.names import Pseudonym
from ganglion.ledger.reader import PAGE, Reader
from ganglion.ledger.records import Cut, Entry, Snapshot
from ganglion.ledger.sql import database
from ganglion.ledger.sql.faults import faults
from ganglion.ledger.sql.tables import (
    SCHEMA,
    activity,
    cuts,
    cycles,
    events,
    lent,
    lost,
    people,
    snapshots,
    supply,
    usage,
    workloads,
)
from ganglion.model.errors import Conflict, EnvironmentFault, FileError
from ganglion.seams.effects import SYSTEM, Effects
from ganglion.seams.files import SYSTEM_FILES, Files, FileStream, install, remove

FORMAT, CUT, METERED, NAMED, ACTIVE, LOSSES = 1, 2, 3, 4, 5, 6
"""Of exports of whole ledgers, of those that were cut, of those with intervals, names of people,
activity or lending, or lost work: each cannot be read by the versions before it."""
MOST = (1 << 63) - 1
BINARY = ("document", "body", "detail")
"""Columns of workloads that hold bytes."""

_INTERVALS = (usage, supply, activity, lent, lost)
_BY_COLUMN = {"held_milli": usage, "sampled_gpu_us": activity, "lent_gpu_us": lent, "gang": lost}
"""A column that tells rows of intervals from those after them; those of supply have none."""


class Header(Struct, frozen=True, omit_defaults=True):
    """The first line; `cut`: whether a ledger with intervals was cut."""

    format: int
    schema: str
    cut: bool = False


class _Base(Struct, frozen=True):
    """The line after the header of a ledger that was cut: the cut, and its snapshot."""

    cut: Cut
    snapshot: Snapshot


class TransferEnd(Struct, frozen=True, omit_defaults=True):
    """The last line: how much there is, and the checksum of the newest event in hexadecimal."""

    cycles: int
    events: int
    workloads: int
    checksum: str
    intervals: int = 0
    people: int = 0


class _Event(Struct, frozen=True, omit_defaults=True):
    """An event; a body that is no UTF-8 is in `raw`, in base 64."""

    seq: int
    at: int
    cycle: int
    kind: str
    checksum: str
    body: str = ""
    raw: str = ""


def exported(
    reader: Reader,
    file: Path,
    progress: Progress = silent,
    until: Snapshot | None = None,
    effects: Effects = SYSTEM,
) -> TransferEnd:
    """Write a ledger to a file, which appears when it is complete.

    Args:
        reader: of the ledger.
        file: JSON lines; a name that ends in `.gz` is compressed.
        progress: called with how far it is.
        until: only what happened up to a snapshot, without workloads; None = everything.
        effects: files.

    Raises:
        EnvironmentFault: the database does not answer, or the file cannot be written.
    """
    counts, checksum = [0, 0, 0, 0], GENESIS
    with _appearing(file, effects) as scratch, _stream(scratch, file, effects.files) as out:
        base = _base(reader)
        metered, known = () if until else _metered(reader), reader.people()
        _line(out, _header(base is not None, metered, named=bool(known)))
        if base:
            _line(out, base)
            checksum = base.cut.checksum
        last = until.cycle if until else MOST
        for row in _table(reader, cycles, cycles.c.cycle, base.snapshot.cycle if base else -1):
            if row["cycle"] > last:
                break
            _line(out, row)
            counts[0] += 1
        after, last = base.cut.seq if base else 0, until.seq if until else MOST
        while page := [each for each in reader.events(after, PAGE) if each.seq <= last]:
            for entry in page:
                _line(out, _event(entry))
            counts[1] += len(page)
            after, checksum = page[-1].seq, page[-1].checksum or b""
            progress("writing events", counts[1], 0)
        for row in () if until else _table(reader, workloads, workloads.c.number):
            _line(out, row | {name: _text(row, name) for name in BINARY})
            counts[2] += 1
        for table in metered:
            for row in _table(reader, table, table.c.number):
                _line(out, row)
                counts[3] += 1
        for person in known:
            _line(out, person)
        end = TransferEnd(counts[0], counts[1], counts[2], checksum.hex(), counts[3], len(known))
        _line(out, end)
    return end


def imported(
    ledger: Ledger, file: Path, progress: Progress = silent, files: Files = SYSTEM_FILES
) -> TransferEnd:
    """Fill an empty ledger from a file, in one transaction; every checksum has to fit.

    Raises:
        Conflict: the ledger is not empty.
        FileError: the file is no export, is cut off, or an event does not fit its checksum.
        EnvironmentFault: the database refuses.
    """
    if ledger.cycle or ledger.head:
        raise Conflict(
            f"{ledger.where} is not empty: it has {ledger.head} events",
            "import into a home or a database that was not used yet",
        )
    with _lines(file, files) as lines, ledger.writing() as connection:
        try:
            end = _Import(connection, file, progress).read(lines)
        except (msgspec.MsgspecError, ValueError, KeyError, OSError, EOFError) as error:
            raise FileError(f"{file} is not a complete export of a ledger: {error}") from error
    ledger.refresh()
    return end


def backed_up(target: str | Path, file: Path, effects: Effects = SYSTEM) -> None:
    """Copy a SQLite ledger as it is at this moment, while a server may write to it.

    Raises:
        EnvironmentFault: the database or the file refuses.
        Conflict: it is no SQLite ledger; `exported` writes those.
    """
    path = database.file_of(database.parse(target))
    if path is None:
        raise Conflict("only a ledger in a SQLite file is copied", "export it instead")
    if not database.is_there(path, effects.files):
        raise EnvironmentFault(f"there is no ledger {path}", "name its home or its database")
    with _appearing(file, effects) as scratch, faults(str(path)):
        source = effects.connections.sqlite(f"file:{path}?mode=ro", uri=True)
        copy = effects.connections.sqlite(str(scratch))
        try:
            source.backup(copy)  # one step: readers and writers of the source go on
            (found,) = copy.execute("PRAGMA quick_check(1)").fetchone()
        finally:
            copy.close()
            source.close()
        if found != "ok":
            raise EnvironmentFault(
                f"the copy of {path} is damaged: {found}", "see what: ganglion ledger verify"
            )


class _Import:
    """Reads one file into an empty ledger.

    Args:
        connection: writes, inside a transaction.
        file: for messages.
        progress: called with how far it is.
    """

    def __init__(self, connection: Connection, file: Path, progress: Progress) -> None:
        self._connection, self._file, self._progress = connection, file, progress
        self._heads: dict[int, tuple[int, int]] = {}
        self._checksum, self._events = GENESIS, 0
        self._workloads = self._intervals = self._people = 0

    def read(self, lines: IO[bytes]) -> TransferEnd:
        """Take every line in."""
        header = msgspec.json.decode(lines.readline(), type=Header)
        if header.format > LOSSES:
            raise ValueError(f"format {header.format} is of a newer version")
        if header.cut or header.format == CUT:
            self._begin(msgspec.json.decode(lines.readline(), type=_Base))
        page = list[dict[str, Any]]()
        for line in lines:
            row = msgspec.json.decode(line)
            if "checksum" in row and "events" in row:
                self._write(page)
                return self._ended(msgspec.convert(row, TransferEnd))
            if page and (len(page) == PAGE or page[0].keys() != row.keys()):
                self._write(page)
                page = []
            page.append(row)
        raise ValueError("the last line is missing")

    def _begin(self, base: _Base) -> None:
        """Begin where the ledger was cut."""
        if sha256(base.snapshot.body).digest() != base.cut.digest:
            raise ValueError("the snapshot that the ledger was cut at was changed")
        self._connection.execute(insert(cuts), msgspec.structs.asdict(base.cut))
        self._connection.execute(insert(snapshots), msgspec.structs.asdict(base.snapshot))
        self._checksum = base.cut.checksum

    def _write(self, page: list[dict[str, Any]]) -> None:
        if not page:
            return
        if "salt" in page[0]:
            rows = [msgspec.structs.asdict(msgspec.convert(row, Pseudonym)) for row in page]
            self._connection.execute(insert(people), rows)
            self._people += len(page)
        elif "begin_ms" in page[0]:
            kind = next((each for name, each in _BY_COLUMN.items() if name in page[0]), supply)
            self._connection.execute(insert(kind), page)
            self._intervals += len(page)
        elif "number" in page[0]:
            rows = [row | {name: _bytes(row[name]) for name in BINARY} for row in page]
            self._connection.execute(insert(workloads), rows)
            self._workloads += len(rows)
        elif "seq" in page[0]:
            self._connection.execute(insert(events), [self._fitting(row) for row in page])
            self._events += len(page)
            self._progress("reading events", self._events, 0)
        else:
            self._connection.execute(insert(cycles), page)
            self._heads |= {row["cycle"]: (row["at"], row["incoming"]) for row in page}

    def _fitting(self, row: dict[str, Any]) -> dict[str, Any]:
        event = msgspec.convert(row, _Event)
        body = b64decode(event.raw) if event.raw else event.body.encode()
        columns = (event.seq, event.at, event.cycle, event.kind, body)
        self._checksum = link(self._checksum, columns, *self._heads[event.cycle])
        if self._checksum.hex() != event.checksum:
            raise FileError(
                f"{self._file}: event {event.seq} does not fit its checksum",
                "the file was changed, or the ledger was: ganglion ledger verify, there",
            )
        names = ("seq", "at", "cycle", "kind", "body")
        return dict(zip(names, columns, strict=True)) | {"checksum": self._checksum}

    def _ended(self, end: TransferEnd) -> TransferEnd:
        counts = (len(self._heads), self._events, self._workloads)
        found = TransferEnd(*counts, self._checksum.hex(), self._intervals, self._people)
        if found != end:
            raise ValueError(f"it should have {end}, and has {found}")
        return end


def _header(cut: bool, metered: tuple[Table, ...], *, named: bool) -> Header:
    if metered or named:
        found = ACTIVE if {activity, lent} & {*metered} else NAMED if named else METERED
        return Header(LOSSES if lost in metered else found, SCHEMA, cut)
    return Header(CUT if cut else FORMAT, SCHEMA)


def _metered(reader: Reader) -> tuple[Table, ...]:
    """The tables of intervals that have rows."""
    return tuple(each for each in _INTERVALS if reader.rows(select(each.c.number).limit(1)))


def _base(reader: Reader) -> _Base | None:
    """Where a ledger was cut; None = nowhere. Raises Conflict: its snapshot is gone."""
    cut = reader.base()
    if cut is None:
        return None
    for snapshot in reader.snapshots():
        if snapshot.seq == cut.seq:
            return _Base(cut, snapshot)
    raise Conflict(
        f"the snapshot at event {cut.seq}, where the ledger was cut, is gone", "restore a backup"
    )


def _table(
    reader: Reader,
    table: Any,  # noqa: ANN401 - of SQLAlchemy
    key: Any,  # noqa: ANN401 - of SQLAlchemy
    after: int = -1,
) -> Iterator[dict[str, Any]]:
    """Rows of a table by key above `after`, page by page."""
    while rows := reader.rows(select(table).where(key > after).order_by(key).limit(PAGE)):
        yield from (dict(row._mapping) for row in rows)
        after = rows[-1]._mapping[key.name]


def _event(entry: Entry) -> _Event:
    checksum = (entry.checksum or b"").hex()
    head = (entry.seq, entry.at, entry.cycle, entry.kind, checksum)
    try:
        return _Event(*head, body=entry.linked.decode())
    except UnicodeDecodeError:
        return _Event(*head, raw=b64encode(entry.linked).decode())


def _text(row: dict[str, Any], name: str) -> str:
    try:
        return bytes(row[name]).decode()
    except UnicodeDecodeError as error:
        raise Conflict(
            f"the row of workload {row['id']} is damaged: {name} is no text",
            "move the ledger by `ganglion ledger backup`",
        ) from error


def _bytes(value: str) -> bytes:
    return value.encode()


def _line(out: IO[bytes], value: object) -> None:
    out.write(msgspec.json.encode(value) + b"\n")


@contextlib.contextmanager
def _lines(path: Path, files: Files) -> Iterator[IO[bytes]]:
    """An export, to read."""
    try:
        plain = io.BufferedReader(FileStream(files, path, os.O_RDONLY))
    except OSError as error:
        raise EnvironmentFault(f"cannot open {path}: {error.strerror}", "") from error
    with plain:
        if path.suffix != ".gz":
            yield plain
            return
        with gzip.GzipFile(fileobj=plain, mode="rb") as packed:
            yield cast("IO[bytes]", packed)


@contextlib.contextmanager
def _stream(scratch: Path, named: Path, files: Files) -> Iterator[IO[bytes]]:
    """A file to write, compressed where the name that it will have ends in `.gz`."""
    with io.BufferedWriter(FileStream(files, scratch, os.O_WRONLY)) as plain:
        if named.suffix != ".gz":
            yield plain
            return
        with gzip.GzipFile(fileobj=plain, mode="wb", compresslevel=1) as packed:
            yield cast("IO[bytes]", packed)


@contextlib.contextmanager
def _appearing(file: Path, effects: Effects) -> Iterator[Path]:
    """A file of the owner's beside the one that is asked for, which takes its place at the end.

    Raises:
        Conflict: something of that name is there.
        EnvironmentFault: it cannot be made.
    """
    files = effects.files
    if database.is_there(file, files):
        raise Conflict(f"{file} is there already", "name another file, or move it away")
    scratch = file.with_name(f".{file.name}.{effects.processes.own()}")
    try:
        remove(files, scratch)
        files.close(files.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
        yield scratch
        install(files, scratch, file)
    except OSError as error:
        raise EnvironmentFault(f"cannot write {file}: {error.strerror}", "") from error
    finally:
        with contextlib.suppress(OSError):  # what fails to write may fail to remove
            remove(files, scratch)
