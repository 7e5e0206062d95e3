"""Whatever is done to a row of a ledger, the audit names it."""

import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import text
from tests.ledger.test_ledger import life

from ganglion.ledger.audit import Audit, audited
from ganglion.ledger.chain import GENESIS, link
from ganglion.ledger.ledger import Ledger
from ganglion.ledger.reader import Reader
from ganglion.ledger.records import Batch
from ganglion.model.events import Event, NodeLost

EVENTS = 40


def fill(ledger: Ledger) -> None:
    for number in range(EVENTS // 8):
        facts: list[Event] = [NodeLost(number, f"n{number}-{each}") for each in range(4)]
        ledger.append(Batch(number, facts, life(f"a-{number}/0", number)))


def looked_through(target: str | Path) -> Audit:
    reader = Reader.at_rest(target)
    try:
        return audited(reader)
    finally:
        reader.leave()


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sound") / "ledger.db"
    ledger = Ledger.open(path)
    fill(ledger)
    ledger.close()
    return path


@pytest.fixture
def copy(sound: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(sound, tmp_path / "ledger.db"))


def edit(path: Path, statement: str, *values: Any) -> None:
    with sqlite3.connect(path) as raw:
        assert raw.execute(statement, values).rowcount > 0
    raw.close()


def test_a_ledger_that_nobody_touched_has_no_flaw_on_any_database(ledger: Ledger) -> None:
    fill(ledger)
    found = audited(ledger)
    assert (found.events, found.head, found.flaws) == (EVENTS, EVENTS, [])
    assert found.checksum == ledger.checksum != GENESIS


def test_an_edited_row_is_named_on_any_database(ledger: Ledger) -> None:
    fill(ledger)
    with ledger._engine.connect().execution_options(writer=True) as raw, raw.begin():
        raw.execute(text("UPDATE events SET at = at + 1 WHERE seq = 7"))
    assert {flaw.seq for flaw in audited(ledger).flaws} == {7}


def test_the_chain_goes_on_after_a_restart(tmp_path: Path) -> None:
    for _ in range(3):
        ledger = Ledger.open(tmp_path / "ledger.db")
        fill(ledger)
        ledger.close()
    assert looked_through(tmp_path / "ledger.db").flaws == []


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    seq=st.integers(1, EVENTS),
    column=st.sampled_from(["body", "checksum", "kind"]),
    place=st.integers(0, 10_000),
    bit=st.integers(0, 7),
)
def test_a_flipped_bit_is_found_in_its_row(
    copy: Path, sound: Path, seq: int, column: str, place: int, bit: int
) -> None:
    shutil.copy(sound, copy)
    with sqlite3.connect(copy) as raw:
        select = f"SELECT CAST({column} AS BLOB) FROM events WHERE seq = ?"
        (value,) = raw.execute(select, (seq,)).fetchone()
        flipped = bytearray(value)
        flipped[place % len(value)] ^= 1 << bit
        kept = bytes(flipped) if column != "kind" else flipped.decode("latin-1")
        raw.execute(f"UPDATE events SET {column} = ? WHERE seq = ?", (kept, seq))
    raw.close()
    # A checksum is part of its own row and of the next one.
    assert seq in {flaw.seq for flaw in looked_through(copy).flaws} <= {seq, seq + 1}


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seq=st.integers(1, EVENTS), column=st.sampled_from(["at", "cycle"]), by=st.integers(1, 3))
def test_an_edited_number_is_found_in_its_row(
    copy: Path, sound: Path, seq: int, column: str, by: int
) -> None:
    shutil.copy(sound, copy)
    value = f"({column} + {by}) % 5 + 1" if column == "cycle" else f"{column} + {by}"
    with sqlite3.connect(copy) as raw:
        before = raw.execute("SELECT at, cycle FROM events WHERE seq = ?", (seq,)).fetchone()
        raw.execute(f"UPDATE events SET {column} = {value} WHERE seq = ?", (seq,))
        after = raw.execute("SELECT at, cycle FROM events WHERE seq = ?", (seq,)).fetchone()
    raw.close()
    assert ({flaw.seq for flaw in looked_through(copy).flaws} == {seq}) is (before != after)


def test_a_row_whose_own_checksum_was_made_to_fit_is_found_by_the_next(copy: Path) -> None:
    with sqlite3.connect(copy) as raw:
        (previous,) = raw.execute("SELECT checksum FROM events WHERE seq = 4").fetchone()
        row = raw.execute("SELECT seq, at, cycle, kind, body FROM events WHERE seq = 5").fetchone()
        head = raw.execute("SELECT at, incoming FROM cycles WHERE cycle = 1").fetchone()
        body = row[4].replace(b"a-0", b"b-0")
        raw.execute(
            "UPDATE events SET body = ?, checksum = ? WHERE seq = 5",
            (body, link(previous, (*row[:4], body), *head)),
        )
    raw.close()
    assert [flaw.seq for flaw in looked_through(copy).flaws] == [6]


def test_rows_that_are_gone_are_named(copy: Path) -> None:
    edit(copy, "DELETE FROM events WHERE seq BETWEEN 10 AND 12")
    found = [(flaw.seq, flaw.problem) for flaw in looked_through(copy).flaws]
    assert found[0] == (10, "events 10..12 are missing")
    assert found[1][0] == 13


def test_newest_rows_that_are_gone_are_named_as_long_as_their_cycle_is_there(copy: Path) -> None:
    edit(copy, "DELETE FROM events WHERE cycle = 5")
    (flaw,) = looked_through(copy).flaws
    assert (flaw.seq, flaw.problem) == (33, "the events of cycle 5 are missing")


def test_a_changed_cycle_is_found_in_its_events(copy: Path) -> None:
    edit(copy, "UPDATE cycles SET incoming = 3 WHERE cycle = 2")
    assert {flaw.seq for flaw in looked_through(copy).flaws} == set(range(9, 17))


def test_nothing_is_changed_and_no_lock_is_taken(sound: Path) -> None:
    ledger = Ledger.open(sound)
    assert looked_through(sound).head == EVENTS
    ledger.close()


def test_what_is_read_at_rest_is_of_one_moment_on_any_database(target: str | Path) -> None:
    ledger = Ledger.open(target)
    fill(ledger)
    reader = Reader.at_rest(target)
    before = reader.events(0, 10_000)
    fill(ledger)
    assert reader.events(0, 10_000) == before
    assert audited(reader).flaws == []
    reader.leave()
    assert looked_through(target).head == 2 * EVENTS
    ledger.close()
