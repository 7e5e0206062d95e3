"""Databases that fail statement by statement.

A SQLite file lies on a disk that is full or broken; a PostgreSQL server loses connections.
"""

import sqlite3
from collections.abc import Callable
from functools import partial
from typing import Any

from sqlalchemy import URL, Connection, Engine, PoolProxiedConnection, create_engine, event

from ganglion.seams.connections import SYSTEM_CONNECTIONS
from tests.faults.plan import Plan

FULL, BROKEN = "SQLITE_FULL", "SQLITE_IOERR_FSYNC"


class FaultyConnections:
    """Connections of which some statements and commits fail.

    `execute` fails before it has an effect; `commit` does too, and `committed` after it took
    effect: its answer is lost. With PostgreSQL the connection is lost as well.

    Args:
        plan: which calls.
        name: of SQLite's error.

    Attributes:
        plan: may be replaced at any time.
    """

    def __init__(self, plan: Plan, name: str = FULL) -> None:
        self.plan, self._name = plan, name

    def engine(self, url: URL) -> Engine:
        if url.get_backend_name() == "postgresql":
            return _hanging_up(SYSTEM_CONNECTIONS.engine(url), self._strikes)
        return create_engine(url, connect_args={"factory": partial(_Connection, self._fails)})

    def sqlite(self, database: str, *, uri: bool = False) -> sqlite3.Connection:
        self._fails("connect")
        return sqlite3.connect(database, uri=uri, factory=partial(_Connection, self._fails))  # type: ignore[arg-type]  # made like one

    def _strikes(self, call: str) -> bool:
        return self.plan.strikes(call)

    def _fails(self, call: str) -> None:
        if self.plan.strikes(call):
            error = sqlite3.OperationalError(f"{call} was made to fail")
            error.sqlite_errorname = self._name
            raise error


def _hanging_up(engine: Engine, strikes: Callable[[str], bool]) -> Engine:
    """Close connections before statements, before commits, and before the answers of commits."""
    commit = engine.dialect.do_commit

    def lose(connection: PoolProxiedConnection) -> None:
        connection.driver_connection.close()  # type: ignore[union-attr]  # it is open

    def committing(connection: PoolProxiedConnection) -> None:
        if strikes("commit"):
            lose(connection)
        commit(connection)
        if strikes("committed"):
            lose(connection)
            raise engine.dialect.loaded_dbapi.OperationalError("the connection is lost")

    def executing(connection: Connection, *_: object) -> None:
        if strikes("execute"):
            lose(connection.connection)

    event.listen(engine, "before_cursor_execute", executing)
    engine.dialect.do_commit = committing  # type: ignore[method-assign]  # of this engine alone
    return engine


class _Connection(sqlite3.Connection):
    def __init__(self, fails: Callable[[str], None], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._fails = fails

    def execute(self, *args: Any) -> sqlite3.Cursor:
        self._fails("execute")
        return super().execute(*args)

    def executemany(self, *args: Any) -> sqlite3.Cursor:
        self._fails("execute")
        return super().executemany(*args)

    def cursor(self, *_: Any, **__: Any) -> Any:
        return super().cursor(partial(_Cursor, self._fails))

    def commit(self) -> None:
        began = self.in_transaction
        if began:
            self._fails("commit")
        super().commit()
        if began:
            self._fails("committed")


class _Cursor(sqlite3.Cursor):
    def __init__(self, fails: Callable[[str], None], connection: sqlite3.Connection) -> None:
        super().__init__(connection)
        self._fails = fails

    def execute(self, *args: Any) -> Any:
        self._fails("execute")
        return super().execute(*args)

    def executemany(self, *args: Any) -> Any:
        self._fails("execute")
        return super().executemany(*args)
