"""A ledger is moved and backed up, and is the same afterwards."""

import gzip
import sqlite3
import threading
from pathlib import Path

import pytest
from tests.ledger.test_audit import EVENTS, fill
from tests.ledger.test_ledger import Target, submitted

from ganglion.ledger.audit import audited
from ganglion.ledger.ledger import Ledger
from ganglion.ledger.reader import Reader
from ganglion.ledger.records import Batch, Ended
from ganglion.ledger.transfer import backed_up, exported, imported
from ganglion.model.errors import Conflict, FileError
from ganglion.model.events import NodeLost


def filled(ledger: Ledger) -> None:
    fill(ledger)
    new = submitted(ledger, "a", request_key="k", request_hash="h")
    ledger.append(Batch(9, submitted=[new, submitted(ledger, "b")]))
    ledger.append(Batch(10, ended=[Ended(new.id, 10, "FAILED", b'{"x":"\xc3\xbc"}')]))


def content(reader: Reader) -> object:
    history = reader.history
    return (
        reader.events(0, 1000),
        list(reader.cycles()),
        history.live(),
        history.ended(below=99, limit=9),
    )


@pytest.mark.parametrize("name", ["ledger.jsonl", "ledger.jsonl.gz"])
def test_an_export_is_imported_as_it_was_from_any_database(
    ledger: Ledger, tmp_path: Path, name: str
) -> None:
    filled(ledger)
    end = exported(ledger, tmp_path / name)
    assert (end.events, end.workloads) == (EVENTS, 2)
    assert oct((tmp_path / name).stat().st_mode)[-3:] == "600"
    other = Ledger.open(tmp_path / "other.db")
    assert imported(other, tmp_path / name) == end
    assert content(other) == content(ledger)
    assert (other.head, other.cycle, other.checksum) == (ledger.head, ledger.cycle, ledger.checksum)
    assert audited(other).flaws == []
    assert other.append(Batch(11, [NodeLost(11, "x")]))[0].seq == EVENTS + 1
    assert audited(other).flaws == []
    other.close()


def test_a_ledger_moves_into_any_database(target: Target, tmp_path: Path) -> None:
    first = Ledger.open(tmp_path / "first.db")
    filled(first)
    exported(first, tmp_path / "file")
    second = Ledger.open(target)
    imported(second, tmp_path / "file")
    assert content(second) == content(first)
    first.close()
    second.close()


@pytest.mark.parametrize("damage", ["cut", "edit", "line", "noise"])
def test_a_file_that_is_not_as_it_was_written_is_refused_and_nothing_is_taken_from_it(
    tmp_path: Path, damage: str
) -> None:
    first = Ledger.open(tmp_path / "first.db")
    filled(first)
    file = tmp_path / "file"
    exported(first, file)
    first.close()
    lines = file.read_bytes().splitlines(keepends=True)
    if damage == "cut":
        lines.pop()
    elif damage == "line":
        del lines[20]
    elif damage == "edit":
        lines[20] = lines[20].replace(b"n", b"m")
    else:
        lines[20] = b"\xff\n"
    file.write_bytes(b"".join(lines))
    second = Ledger.open(tmp_path / "second.db")
    with pytest.raises(FileError):
        imported(second, file)
    second.refresh()
    assert (second.head, second.cycle, second.history.live()) == (0, 0, [])
    second.close()


def test_a_ledger_that_is_in_use_is_not_written_over(ledger: Ledger, tmp_path: Path) -> None:
    filled(ledger)
    exported(ledger, tmp_path / "file.gz")
    with gzip.open(tmp_path / "file.gz") as file:
        assert file.readline().startswith(b'{"format":1')
    with pytest.raises(Conflict, match="not empty"):
        imported(ledger, tmp_path / "file.gz")
    with pytest.raises(Conflict, match="there already"):
        exported(ledger, tmp_path / "file.gz")


def test_a_backup_while_a_server_writes_is_whole(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path / "ledger.db")
    filled(ledger)
    ended = threading.Event()

    def write() -> None:
        while not ended.is_set():
            ledger.append(Batch(11, [NodeLost(11, f"x{each}") for each in range(50)]))

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for number in range(5):
            backed_up(tmp_path / "ledger.db", tmp_path / f"copy-{number}.db")
    finally:
        ended.set()
        writer.join()
    ledger.close()
    for number in range(5):
        copy = Reader.at_rest(tmp_path / f"copy-{number}.db")
        found = audited(copy)
        copy.leave()
        assert (found.flaws, found.head % 50) == ([], EVENTS % 50)
        restored = Ledger.open(tmp_path / f"copy-{number}.db")
        assert restored.append(Batch(12, [NodeLost(12, "y")]))[0].seq == found.head + 1
        restored.close()
    with sqlite3.connect(tmp_path / "copy-0.db") as raw:
        assert raw.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    raw.close()
