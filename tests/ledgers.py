"""New ledgers of tests are copies of one that the migrations have made.

Some hundred statements and Alembic make a ledger, which takes longer than all else that most tests
do with it. tests/ledger and programs that no test forks run them every time.

SQLAlchemy compiles every statement once for each engine, and each ledger has its own. Those of
SQLite share what they have compiled.
"""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from sqlalchemy import URL, Connection, Dialect, Engine, create_engine

from ganglion.ledger import ledger
from ganglion.ledger.chain import Progress, silent
from ganglion.ledger.sql.faults import faults
from ganglion.ledger.sql.migrate import migrate
from ganglion.seams import connections

NAME = "migrate"
"""Of the function that makes the tables of a ledger, where `Ledger` finds it."""
ENGINE = "create_engine"
"""Of the function that makes an engine, where the seam finds it."""


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


@cache
def _sqlite() -> tuple[Dialect, dict[object, object]]:
    """The dialect of all engines, and what was compiled for it."""
    first = create_engine("sqlite://")
    first.connect().close()  # the dialect asks the database what it can do
    return first.dialect, {}


def sharing(url: URL, *, pool_pre_ping: bool) -> Engine:
    """Stand in for `create_engine`."""
    made = create_engine(url, pool_pre_ping=pool_pre_ping)
    if url.get_backend_name() != "sqlite":
        return made
    made.dialect, compiled = _sqlite()
    return made.execution_options(compiled_cache=compiled)


def copied_from_now_on() -> None:
    """Have every ledger that this process makes copied, and what is compiled shared."""
    _pattern()
    setattr(ledger, NAME, copied)
    setattr(connections, ENGINE, sharing)


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
