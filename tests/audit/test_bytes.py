"""One byte that was changed: of an export, of a row, of a file of the home."""

import random
import shutil
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from sqlite3 import IntegrityError, connect

import pytest
from tests.audit.trail import at_rest, lines_of, signed, write
from tests.effort import examples

from ganglion.audit.export import exported
from ganglion.audit.folder import CHECKPOINTS, PUBLIC, AuditFolder
from ganglion.audit.sealing import contradicted
from ganglion.audit.verify import AuditFlaw, verified
from ganglion.ledger.ledger import Ledger
from ganglion.model.errors import FileError, GanglionError

SEED = 14
CHANGES = examples(50)
COLUMNS = {
    "events": ("seq", "at", "cycle", "kind", "body", "checksum"),
    "cycles": ("cycle", "at", "incoming"),
}
ROWS = "SELECT e.seq, e.at, e.cycle, e.kind, e.body, e.checksum, c.at, c.incoming FROM events e"
ROWS += " LEFT JOIN cycles c ON c.cycle = e.cycle ORDER BY e.seq"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """60 events: checkpoints after 20 and 60, so that nothing is unsigned."""
    folder = tmp_path_factory.mktemp("home")
    signed(folder, 10, 20)
    return folder


def other(byte: int, chance: random.Random) -> int:
    """A byte that is not this one."""
    return (byte + chance.randrange(1, 256)) % 256


def changed(whole: bytes, chance: random.Random) -> tuple[int, bytes]:
    """A place and the content with another byte there."""
    at = chance.randrange(len(whole))
    return at, whole[:at] + bytes([other(whole[at], chance)]) + whole[at + 1 :]


def flaws_of(home: Path) -> list[AuditFlaw]:
    """What `audit verify` finds in a home; an error that it ends with is a flaw, too."""
    folder = AuditFolder(home)
    try:
        with at_rest(home) as reader:
            found = verified(exported(reader, folder), folder.public()).flaws
            return [*found, *contradicted(reader, folder)]
    except GanglionError as error:
        return [AuditFlaw(0, error.message)]


def test_every_changed_byte_of_an_export_is_found_in_its_line(home: Path) -> None:
    whole, key = b"".join(lines_of(home)), AuditFolder(home).public()
    chance, missed = random.Random(SEED), []
    for _ in range(CHANGES):
        at, text = changed(whole, chance)
        number = whole[:at].count(b"\n") + 1
        try:
            found = verified(text.splitlines(keepends=True), key)
        except FileError:
            assert number == 1
            continue
        # What a wrong first line says is found in the line that does not fit it.
        if not found.flaws or found.flaws[0].line not in {number, 2 if number == 1 else number}:
            missed.append((at, number, found.flaws[:1]))
    assert not missed


def test_every_changed_byte_of_a_row_is_found_at_its_event(home: Path, tmp_path: Path) -> None:
    chance, missed = random.Random(SEED), []
    copy, done = tmp_path / "home", 0
    while done < CHANGES:
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(home, copy)
        before = done
        table = chance.choice(sorted(COLUMNS))
        column = chance.choice(COLUMNS[table])
        key = COLUMNS[table][0]
        with closing(connect(copy / "ledger.db")) as database, suppress(IntegrityError), database:
            query = f"SELECT {key}, {column} FROM {table} ORDER BY {key}"
            row, value = chance.choice(database.execute(query).fetchall())
            database.execute("PRAGMA foreign_keys = OFF")
            update = f"UPDATE {table} SET {column} = ? WHERE {key} = ?"
            database.execute(update, (another(value, chance), row))
            done += 1
        # Of a cycle, both of its events have the columns; a changed number is found where the
        # event is missing, or where it is one too many.
        first = row if table == "events" else 2 * row - 1
        found = flaws_of(copy)
        if done == before:
            continue  # the database refuses a number twice
        if not found or (found[0].seq not in {first, first + 1} and column != "seq"):
            missed.append((table, column, row, found[:1]))
    assert not missed


def another(value: object, chance: random.Random) -> object:
    """The same value with one byte changed, of the type that it has."""
    if isinstance(value, int):
        _, raw = changed(value.to_bytes(8, "big", signed=True), chance)
        return int.from_bytes(raw, "big", signed=True)
    if isinstance(value, str):
        at = chance.randrange(len(value))
        return f"{value[:at]}{chr(97 + other(ord(value[at]) - 97, chance) % 26)}{value[at + 1 :]}_"
    assert isinstance(value, bytes)
    return changed(value, chance)[1]


def test_no_changed_byte_of_the_database_file_shows_another_event(
    home: Path, tmp_path: Path
) -> None:
    original, chance, missed, found = rows(home), random.Random(SEED), [], 0
    copy = tmp_path / "home"
    for _ in range(CHANGES):
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(home, copy)
        file = copy / "ledger.db"
        at, content = changed(file.read_bytes(), chance)
        file.write_bytes(content)
        if flaws_of(copy):
            found += 1
        elif rows(copy) != original:
            missed.append(at)
    assert not missed
    assert found


def test_a_row_without_columns_is_named(home: Path, tmp_path: Path) -> None:
    copy = tmp_path / "home"
    shutil.copytree(home, copy)
    with closing(connect(copy / "ledger.db")) as database, database:
        database.execute("PRAGMA writable_schema = ON")
        database.execute("UPDATE sqlite_master SET sql = replace(sql, 'NOT NULL', '')")
    with closing(connect(copy / "ledger.db")) as database, database:
        database.execute("UPDATE events SET body = NULL, checksum = NULL WHERE seq = 7")
    assert flaws_of(copy)[0].seq == 7


def test_a_schema_that_is_no_text_is_called_damage(home: Path, tmp_path: Path) -> None:
    copy = tmp_path / "home"
    shutil.copytree(home, copy)
    file = copy / "ledger.db"
    file.write_bytes(file.read_bytes().replace(b"CREATE TABLE events", b"CREATE TABLE \x8avents"))
    assert "is damaged" in flaws_of(copy)[0].problem


def rows(home: Path) -> list[tuple[object, ...]]:
    with closing(connect(home / "ledger.db")) as database:
        return database.execute(ROWS).fetchall()


@pytest.mark.parametrize("name", [CHECKPOINTS, PUBLIC])
def test_every_changed_byte_of_the_audit_folder_is_found(
    home: Path, tmp_path: Path, name: str
) -> None:
    copy, chance, missed = tmp_path / "home", random.Random(SEED), []
    shutil.copytree(home, copy)
    file, key = copy / "audit" / name, AuditFolder(home).public()
    whole = file.read_bytes()
    for _ in range(CHANGES):
        at, content = changed(whole, chance)
        file.write_bytes(content)
        # A blank in place of the last line feed leaves the key what it is.
        if not flaws_of(copy) and not (name == PUBLIC and AuditFolder(copy).public() == key):
            missed.append(at)
    assert not missed


def test_a_checkpoint_that_names_another_event_is_found(home: Path, tmp_path: Path) -> None:
    copy = tmp_path / "home"
    shutil.copytree(home, copy)
    file = AuditFolder(copy).checkpoints
    file.write_bytes(file.read_bytes().replace(b'"seq":20', b'"seq":21'))
    said = "the checkpoint of 20 records names event 21, which the ledger does not hold like that"
    assert said in [each.problem for each in flaws_of(copy)]


def test_a_ledger_whose_newest_events_are_gone_is_found_by_its_checkpoints(
    home: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "home"
    shutil.copytree(home, copy)
    with closing(connect(copy / "ledger.db")) as database, database:
        database.execute("DELETE FROM events WHERE seq > 40")
        database.execute("DELETE FROM cycles WHERE cycle > 20")
    found = flaws_of(copy)
    assert "is of event 60: events are missing" in found[0].problem
    assert found[0].seq == 40


@pytest.mark.parametrize("change", [lambda key: key[:60] + "AAAA" + key[64:], lambda _key: ""])
def test_a_signing_key_that_is_not_the_one_of_the_public_key_signs_nothing(
    home: Path, tmp_path: Path, change: Callable[[str], str]
) -> None:
    copy = tmp_path / "home"
    shutil.copytree(home, copy)
    file = copy / "audit" / "key"
    file.write_text(change(file.read_text("utf-8")), "utf-8")
    public = (copy / "audit" / PUBLIC).read_bytes()
    with pytest.raises(GanglionError, match=r"no pair|damaged"):
        AuditFolder(copy).signer()
    assert (copy / "audit" / PUBLIC).read_bytes() == public


def test_a_ledger_that_goes_on_is_signed_on(home: Path, tmp_path: Path) -> None:
    copy = tmp_path / "home"
    shutil.copytree(home, copy)
    ledger = Ledger.open(copy / "ledger.db")
    write(ledger, 1)
    ledger.close()
    assert signed(copy, 1).newest()
    assert flaws_of(copy) == []
