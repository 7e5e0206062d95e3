"""Opening a database so that what it has accepted survives a power cut."""

from contextlib import suppress
from pathlib import Path
from sqlite3 import Connection as Sqlite

from sqlalchemy import URL, Connection, Engine, event, make_url, text
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError

from ganglion.ledger.lock import FileLock
from ganglion.ledger.sql.faults import faults
from ganglion.model.errors import EnvironmentFault, InputError, InUse
from ganglion.seams.connections import SYSTEM_CONNECTIONS, Connections
from ganglion.seams.effects import SYSTEM, Effects
from ganglion.seams.files import Files

# In WAL mode NORMAL does not sync the log at a commit: after a power cut the last cycles
# would be gone although their processes run. FULL costs one sync per cycle.
_PRAGMAS = ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "busy_timeout=5000")

_LOCK_KEY = 0x67616E676C696F6E
"""Key of PostgreSQL's advisory lock, held for as long as a server writes."""


def parse(target: str | Path) -> URL:
    """Turn a path or a database URL into a URL.

    Raises:
        InputError: not a URL of SQLite or PostgreSQL.
    """
    if isinstance(target, Path):
        return URL.create("sqlite", database=str(target))
    try:
        url = make_url(target)
    except ArgumentError as error:
        raise _bad_url(target) from error
    if url.drivername == "postgresql":
        return url.set(drivername="postgresql+psycopg")
    if url.drivername not in ("sqlite", "postgresql+psycopg"):
        raise _bad_url(url.render_as_string(hide_password=True))
    return url


def _bad_url(shown: str) -> InputError:
    return InputError(
        f"{shown!r} is not a database that can hold a ledger",
        "write sqlite:///path/to/ledger.db or postgresql+psycopg://user:password@host/name",
    )


def connect(url: URL, connections: Connections = SYSTEM_CONNECTIONS) -> Engine:
    """Make the engine; nothing is opened yet.

    Raises:
        EnvironmentFault: the driver is not installed.
    """
    try:
        engine = connections.engine(url)
    except (ModuleNotFoundError, NoSuchModuleError) as error:
        raise EnvironmentFault(
            f"no driver for {url.drivername} is installed", "pip install 'ganglion[postgres]'"
        ) from error
    if url.get_backend_name() == "sqlite":
        event.listen(engine, "connect", _prepare)
        event.listen(engine, "begin", _begin)
    return engine


def _prepare(connection: Sqlite, _record: object) -> None:
    # The driver must not open transactions by its own rules; `_begin` does.
    connection.isolation_level = None
    if not connection.execute("PRAGMA page_count").fetchone()[0]:
        # Before the first page is written, so that freed pages can be given back while in use.
        connection.execute("PRAGMA auto_vacuum=INCREMENTAL")
    for pragma in _PRAGMAS:
        connection.execute(f"PRAGMA {pragma}")


def _begin(connection: Connection) -> None:
    driver = connection.connection.driver_connection
    if isinstance(driver, Sqlite) and driver.in_transaction:
        # A commit that failed: neither SQLite nor SQLAlchemy takes its transaction back.
        driver.rollback()
    writes = connection.get_execution_options().get("writer", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def writer(engine: Engine, where: str) -> Connection:
    """Open the one connection that writes.

    Raises:
        EnvironmentFault: the database refuses, or another server writes to it.
    """
    with faults(where):
        connection = engine.connect().execution_options(writer=True)
        if engine.dialect.name != "postgresql":
            return connection
        with connection.begin():
            taken = connection.scalar(text("SELECT pg_try_advisory_lock(:k)"), {"k": _LOCK_KEY})
    if taken:
        return connection
    connection.close()
    raise InUse(f"{where} is in use by another server", "stop it, or name another database")


def release(connection: Connection) -> None:
    """Close the one connection that writes, so that the next may be opened at once.

    PostgreSQL gives the lock of a closed connection back only once it notices the end of it. The
    lock of a connection that was lost goes with that.
    """
    if connection.engine.dialect.name == "postgresql" and not connection.closed:
        with suppress(SQLAlchemyError), connection.begin():
            connection.execute(text("SELECT pg_advisory_unlock(:k)"), {"k": _LOCK_KEY})
    connection.close()


def file_lock(url: URL, effects: Effects = SYSTEM) -> FileLock | None:
    """Lock the file of a SQLite database; None for others and for one in memory.

    A symbolic link and another spelling lead to the same lock.

    Raises:
        InUse: another server holds it.
        EnvironmentFault: the file has several names, or the lock cannot be written.
    """
    path = file_of(url)
    if path is None:
        return None
    names = _names(effects.files, path)
    if names > 1:
        # SQLite names its log after the file: two names have two logs, which damages the file.
        raise EnvironmentFault(
            f"{path} has {names} names (hard links)",
            "remove the others; how to copy a ledger: Backup in docs/runbooks/server.md",
        )
    lock = path.with_name(path.name + ".lock")
    return FileLock(lock, str(path), effects.files, effects.processes)


def is_there(path: Path, files: Files) -> bool:
    """Whether a file is there.

    Raises:
        EnvironmentFault: the machine does not say.
    """
    return _names(files, path) > 0


def _names(files: Files, path: Path) -> int:
    """How many names a file has; 0 = it is not there."""
    try:
        return files.stat(path).st_nlink
    except (FileNotFoundError, NotADirectoryError):
        return 0
    except OSError as error:
        raise EnvironmentFault(f"cannot look at {path}: {error.strerror}", "") from error


def file_of(url: URL) -> Path | None:
    """The file of a SQLite database; None for others and for one in memory."""
    if url.get_backend_name() != "sqlite" or url.database in (None, "", ":memory:"):
        return None
    return Path(str(url.database).removeprefix("file:")).resolve()


def shown(url: URL) -> str:
    """The database as messages name it, without a password."""
    return str(url.database) if url.get_backend_name() == "sqlite" else str(url)


def check(connection: Connection, where: str) -> None:
    """Look through a SQLite file for damage before anything is built on it.

    Raises:
        EnvironmentFault: the file is damaged or no database at all.
    """
    if connection.dialect.name != "sqlite":
        return
    with faults(where), connection.begin():
        found = connection.exec_driver_sql("PRAGMA quick_check(1)").scalar()
    if found != "ok":
        raise EnvironmentFault(
            f"{where} is damaged: {found}",
            "put back a backup; see 'damaged ledger' in docs/runbooks/server.md",
        )
