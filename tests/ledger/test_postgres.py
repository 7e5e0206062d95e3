"""What can happen to a database server but not to a file."""

from collections.abc import Iterator

import pytest
from sqlalchemy import create_engine, text

from ganglion.ledger.ledger import Ledger
from ganglion.ledger.records import Batch
from ganglion.model.errors import EnvironmentFault
from ganglion.model.events import NodeLost


@pytest.fixture
def ledger(database: str) -> Iterator[Ledger]:
    opened = Ledger.open(database)
    opened.append(Batch(1, [NodeLost(1, "a")]))
    yield opened
    opened.close()


def hang_up(database: str) -> None:
    """The server ends every connection but the one that asks, within 10 s."""
    admin = create_engine(database)
    with admin.begin() as connection:
        connection.execute(
            text(
                "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        )
    admin.dispose()


def test_a_lost_connection_loses_nothing(database: str, ledger: Ledger) -> None:
    hang_up(database)
    with pytest.raises(EnvironmentFault):
        ledger.append(Batch(2, [NodeLost(2, "b")]))
    ledger.refresh()
    assert ledger.append(Batch(2, [NodeLost(2, "b")]))[0].seq == 2
    assert list(ledger.replay()) == [NodeLost(1, "a"), NodeLost(2, "b")]


def test_who_lost_its_connection_does_not_write_beside_its_successor(
    database: str, ledger: Ledger
) -> None:
    hang_up(database)
    successor = Ledger.open(database)
    with pytest.raises(EnvironmentFault):
        ledger.append(Batch(2, [NodeLost(2, "b")]))
    with pytest.raises(EnvironmentFault, match="in use by another server"):
        ledger.refresh()
    assert successor.append(Batch(2, [NodeLost(2, "c")]))[0].seq == 2
    successor.close()
    ledger.refresh()
    assert ledger.head == 2


def test_the_lock_of_a_ledger_that_is_closed_is_free_at_once(database: str) -> None:
    watcher = create_engine(database)
    held = text(
        "SELECT count(*) FROM pg_locks JOIN pg_database ON pg_locks.database = pg_database.oid"
        " WHERE locktype = 'advisory' AND datname = current_database()"
    )
    with watcher.connect() as connection:
        for _ in range(5):
            ledger = Ledger.open(database)
            assert connection.scalar(held) == 1
            ledger.close()
            assert connection.scalar(held) == 0
    watcher.dispose()
