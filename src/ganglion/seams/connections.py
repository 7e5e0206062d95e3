"""Connections to databases."""

import sqlite3
from typing import Protocol

from sqlalchemy import URL, Engine, create_engine


class Connections(Protocol):
    """Connects to databases. Safe from any thread."""

    def engine(self, url: URL) -> Engine:
        """A pool of connections; none is opened yet.

        Raises:
            ModuleNotFoundError, NoSuchModuleError: the driver is not installed.
        """

    def sqlite(self, database: str, *, uri: bool = False) -> sqlite3.Connection:
        """A connection of SQLite's own driver.

        Args:
            database: the file, or with `uri` its URI.
            uri: whether it is a URI.

        Raises:
            sqlite3.Error: the file cannot be opened.
        """


class SystemConnections:
    """Real databases."""

    def engine(self, url: URL) -> Engine:
        """A pool of connections; none is opened yet."""
        return create_engine(url, pool_pre_ping=url.get_backend_name() == "postgresql")

    def sqlite(self, database: str, *, uri: bool = False) -> sqlite3.Connection:
        """A connection of SQLite's own driver."""
        return sqlite3.connect(database, uri=uri)


SYSTEM_CONNECTIONS = SystemConnections()
