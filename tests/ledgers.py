"""New ledgers of tests are copies of one that the migrations have made.

Some hundred statements and Alembic make a ledger, which takes longer than all else that most tests
do with it. tests/ledger and programs that no test forks run them every time.
"""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from sqlalchemy import Connection

from ganglion.ledger import ledger
from ganglion.ledger.chain import Progress, silent
from ganglion.ledger.sql.faults import faults
from ganglion.ledger.sql.migrate import migrate

NAME = "migrate"
"""Of the function that makes the tables of a ledger, where `Ledger` finds it."""


@cache
def _pattern() -> sqlite3.Connection:
    """A ledger that nothing was written to, in memory."""
    pattern = sqlite3.connect(":memory:", check_same_thread=False)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "ledger.db"
        ledger.Ledger.open(path).close()
        made = sqlite3.connect(path)
        made.backup(pattern)
        made.close()
    return pattern


def copied(connection: Connection, where: str, progress: Progress = silent) -> None:
    """Stand in for `migrate`: a file without a table becomes a copy first."""
    driver = connection.connection.driver_connection
    if isinstance(driver, sqlite3.Connection):
        with faults(where):
            if not driver.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                _pattern().backup(driver)
    migrate(connection, where, progress)


def copied_from_now_on() -> None:
    """Have every ledger that this process makes copied."""
    _pattern()
    setattr(ledger, NAME, copied)


@contextmanager
def made_by(function: Callable[[Connection, str, Progress], None]) -> Iterator[None]:
    """Have a function make the tables of every ledger meanwhile: `copied` or `migrate`."""
    _pattern()
    before = getattr(ledger, NAME)
    setattr(ledger, NAME, function)
    try:
        yield
    finally:
        setattr(ledger, NAME, before)
