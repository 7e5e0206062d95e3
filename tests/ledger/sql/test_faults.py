import os
import sqlite3
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from ganglion.ledger.audit import audited
from ganglion.ledger.ledger import Ledger
from ganglion.ledger.lock import FileLock
from ganglion.ledger.records import Batch
from ganglion.ledger.sql.migrate import migrate
from ganglion.ledger.sql.tables import SCHEMA, metadata
from ganglion.model.errors import EnvironmentFault, InputError
from ganglion.model.events import NodeLost


def filled(path: Path, events: int = 2000) -> None:
    ledger = Ledger.open(path)
    ledger.append(Batch(1, [NodeLost(1, f"node-{i}") for i in range(events)]))
    ledger.close()


def test_a_file_that_is_no_ledger_is_named(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    path.write_bytes(b"these are notes, not a database at all\n" * 100)
    with pytest.raises(EnvironmentFault, match=r"ledger\.db is not a ledger") as caught:
        Ledger.open(path)
    assert "move it away" in caught.value.hint


def test_a_damaged_ledger_is_refused_before_anything_is_built_on_it(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    filled(path)
    with path.open("r+b") as file:
        file.seek(path.stat().st_size // 2)
        file.write(os.urandom(20_000))
    with pytest.raises(EnvironmentFault, match="damaged") as caught:
        Ledger.open(path)
    assert "backup" in caught.value.hint


def test_events_that_are_gone_are_named_and_the_others_are_read(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    filled(path, 10)
    with sqlite3.connect(path) as raw:
        raw.execute("DELETE FROM events WHERE seq IN (5, 6)")
    ledger = Ledger.open(path)
    (cycle,) = ledger.cycles()
    ledger.close()
    assert [(flaw.seq, flaw.problem) for flaw in cycle.flaws] == [(5, "events 5..6 are missing")]
    assert [*cycle.seqs] == [1, 2, 3, 4, 7, 8, 9, 10]
    assert len(cycle.incoming) == 8


def test_an_event_of_an_unknown_kind_is_named_and_the_others_are_read(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    filled(path, 3)
    with sqlite3.connect(path) as raw:
        body = '{"type":"new","at":1,"gang":"a-1/0","attempt":3}'
        raw.execute("UPDATE events SET body = ? WHERE seq = 2", (body,))
    ledger = Ledger.open(path)
    (cycle,) = ledger.cycles()
    ledger.close()
    assert cycle.incoming == [NodeLost(1, "node-0"), NodeLost(1, "node-2")]
    (flaw,) = cycle.flaws
    assert (flaw.seq, flaw.gang, flaw.attempt) == (2, "a-1/0", 3)
    assert "cannot be read" in flaw.problem


def test_a_ledger_of_a_newer_version_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    filled(path, 3)
    with sqlite3.connect(path) as raw:
        raw.execute("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(EnvironmentFault, match="newer Ganglion"):
        Ledger.open(path)


def test_a_full_disk_is_named_and_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    filled(path, 10)
    ledger = Ledger.open(path)
    with ledger._writer.begin():
        pages = ledger._writer.exec_driver_sql("PRAGMA page_count").scalar()
        ledger._writer.exec_driver_sql(f"PRAGMA max_page_count={pages}")
    with pytest.raises(EnvironmentFault, match="the disk is full"):
        ledger.append(Batch(2, [NodeLost(1, "x" * 10_000)]))
    with ledger._writer.begin():
        ledger._writer.exec_driver_sql("PRAGMA max_page_count=100000")
    ledger.refresh()
    assert ledger.append(Batch(2, [NodeLost(1, "x" * 10_000)]))[0].seq == 11
    assert len(list(ledger.replay())) == 11
    ledger.close()


def test_a_read_only_ledger_is_named(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    filled(path, 3)
    with pytest.raises(EnvironmentFault, match="read-only"):
        Ledger.open(f"sqlite:///file:{path}?mode=ro&uri=true")


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentFault, match="cannot write"):
        Ledger.open(tmp_path / "none" / "ledger.db")


@pytest.mark.parametrize("url", ["mysql://u:secret@host/db", "what is this", ""])
def test_a_url_of_something_else_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(InputError, match="not a database") as caught:
        Ledger.open(url)
    assert "secret" not in str(caught.value)


def test_a_database_server_that_is_down_is_named_without_its_password() -> None:
    with pytest.raises(EnvironmentFault) as caught:
        Ledger.open("postgresql+psycopg://u:secret@127.0.0.1:1/ganglion?connect_timeout=2")
    assert "127.0.0.1:1" in caught.value.message
    assert "secret" not in caught.value.message


def test_every_commit_reaches_the_disk(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path / "ledger.db")
    with ledger._writer.begin():
        found = {
            name: ledger._writer.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        }
    ledger.close()
    assert found == {
        "journal_mode": "wal",
        "synchronous": 2,
        "foreign_keys": 1,
        "busy_timeout": 5000,
    }


def test_migrations_give_the_tables_that_the_code_expects(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path / "ledger.db")
    with ledger._writer.begin():
        context = MigrationContext.configure(ledger._writer)
        assert context.get_current_revision() == SCHEMA
        assert compare_metadata(context, metadata) == []
    migrate(ledger._writer, "again")
    ledger.close()


def test_a_lock_names_its_holder_and_ends_with_it(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    first = FileLock(path, "this home")
    with pytest.raises(EnvironmentFault, match=f"this home .*pid {os.getpid()}"):
        FileLock(path, "this home")
    first.release()
    FileLock(path, "this home").release()


def test_a_ledger_of_an_older_version_is_brought_up_to_date_with_all_that_is_in_it(
    tmp_path: Path,
) -> None:
    path = tmp_path / "ledger.db"
    filled(path, 12_000)
    index = "CREATE UNIQUE INDEX one_live_workload_of_a_name ON workloads (name)"
    with sqlite3.connect(path) as raw:
        before = raw.execute("SELECT * FROM events ORDER BY seq").fetchall()
        raw.execute("ALTER TABLE events DROP COLUMN checksum")
        raw.execute("DROP TABLE snapshots")
        raw.execute(f"{index} WHERE ended IS NULL")
        raw.execute("DROP TABLE executors")
        for table in ("cuts", "usage", "supply", "activity", "lent", "lost", "people"):
            raw.execute(f"DROP TABLE {table}")
        for index_name in ("workloads_first", "events_stops"):
            raw.execute(f"DROP INDEX {index_name}")
        for column in ("metered", "first_at", "first_milli"):
            raw.execute(f"ALTER TABLE workloads DROP COLUMN {column}")
        raw.execute("UPDATE alembic_version SET version_num = '0001'")
    told: list[tuple[int, int]] = []
    ledger = Ledger.open(path, lambda _what, done, of: told.append((done, of)))
    assert ledger.head == 12_000
    assert audited(ledger).flaws == []
    ledger.close()
    assert told == [(5_000, 12_000), (10_000, 12_000), (12_000, 12_000)]
    with sqlite3.connect(path) as raw:
        assert raw.execute("SELECT version_num FROM alembic_version").fetchall() == [(SCHEMA,)]
        assert raw.execute("SELECT * FROM events ORDER BY seq").fetchall() == before
        names = raw.execute("SELECT name FROM sqlite_master WHERE type = 'index'").fetchall()
    assert ("one_live_workload_of_a_name",) not in names
