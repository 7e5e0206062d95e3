"""Statements that every turn executes, through the driver itself where that is SQLite's.

To compile, bind and fetch through SQLAlchemy takes ten times as long as SQLite needs for the
statement itself.
"""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from sqlalchemy import Connection, Delete, Insert, Select, Update
from sqlalchemy.dialects import sqlite

_DIALECT = sqlite.dialect()
Row = Mapping[str, Any]


class Prepared:
    """A statement, and its text for SQLite.

    Args:
        statement: takes values of the types that the driver knows, as all columns here do.
    """

    def __init__(self, statement: Select[Any] | Insert | Update | Delete) -> None:
        compiled = statement.compile(dialect=_DIALECT)
        self.statement, self.text = statement, str(compiled)
        self._names = tuple(compiled.positiontup or ())

    def values(self, row: Row) -> list[Any]:
        """The values of a row, in the order of the text."""
        return [row[name] for name in self._names]


class Session(Protocol):
    """Executes prepared statements."""

    def execute(self, prepared: Prepared, rows: Sequence[Row]) -> None:
        """Execute a statement once for every row; a row has a value for each of its columns."""

    def first(self, prepared: Prepared, row: Row) -> Any:  # noqa: ANN401 - whatever the column holds
        """The first column of the first row that a query finds; None = it finds none."""


@contextmanager
def transaction(writer: Connection) -> Iterator[Session]:
    """A transaction of the connection that writes; what raises inside undoes it.

    Args:
        writer: with no open transaction.
    """
    driver = _driver(writer)
    if driver is None:
        with writer.begin():
            yield _Core(writer)
        return
    if driver.in_transaction:
        driver.rollback()  # a commit failed before, which ends no transaction
    driver.execute("BEGIN IMMEDIATE")
    try:
        yield _Driver(driver)
        driver.commit()
    except BaseException:
        driver.rollback()
        raise


def first(writer: Connection, prepared: Prepared, row: Row) -> Any:  # noqa: ANN401 - as of `Session`
    """What `Session.first` returns, outside of a transaction. For the thread that writes."""
    driver = _driver(writer)
    if driver:
        return _Driver(driver).first(prepared, row)
    # A connection of its own, which is made again where the one that writes is lost.
    with writer.engine.connect() as other:
        return _Core(other).first(prepared, row)


def _driver(writer: Connection) -> sqlite3.Connection | None:
    """The connection of SQLite's driver; None = the database is another one."""
    if writer.dialect.name != "sqlite":
        # Not even looked at: that would connect again where the connection is lost.
        return None
    found = writer.connection.driver_connection
    assert isinstance(found, sqlite3.Connection)
    return found


class _Driver:
    """Through the driver of SQLite."""

    def __init__(self, driver: sqlite3.Connection) -> None:
        self._driver = driver

    def execute(self, prepared: Prepared, rows: Sequence[Row]) -> None:
        self._driver.executemany(prepared.text, map(prepared.values, rows))

    def first(self, prepared: Prepared, row: Row) -> Any:  # noqa: ANN401 - as of `Session`
        found = self._driver.execute(prepared.text, prepared.values(row)).fetchone()
        return found[0] if found else None


class _Core:
    """Through SQLAlchemy, which knows when a connection over the network is lost."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def execute(self, prepared: Prepared, rows: Sequence[Row]) -> None:
        self._connection.execute(prepared.statement, [dict(row) for row in rows])

    def first(self, prepared: Prepared, row: Row) -> Any:  # noqa: ANN401 - as of `Session`
        return self._connection.scalar(prepared.statement, dict(row))
