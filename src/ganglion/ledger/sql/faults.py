"""Database errors in plain words."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from ganglion.model.errors import EnvironmentFault

_SQLITE = {
    "SQLITE_FULL": (
        "the disk is full: {where} cannot grow",
        "free some space; nothing that was accepted is lost",
    ),
    "SQLITE_READONLY": (
        "{where} cannot be written: the disk or the file is read-only",
        "set GANGLION_HOME to a folder on a writable disk",
    ),
    "SQLITE_CANTOPEN": (
        "{where} cannot be opened or made",
        "check that its folder exists and belongs to you",
    ),
    "SQLITE_CORRUPT": (
        "{where} is damaged",
        "put back a backup, or move the file away to begin anew; "
        "see 'damaged ledger' in docs/runbooks/server.md",
    ),
    "SQLITE_NOTADB": (
        "{where} is not a ledger",
        "another file lies where the ledger should be: move it away",
    ),
    "SQLITE_BUSY": (
        "{where} is locked by another program",
        "close the program that has the file open",
    ),
    "SQLITE_IOERR": (
        "the disk under {where} fails to read or write",
        "look at the kernel log; put back a backup on a sound disk",
    ),
}


@contextmanager
def faults(where: str) -> Iterator[None]:
    """Translate what a database raises.

    Args:
        where: the database as the user knows it, without any password.

    Raises:
        EnvironmentFault: in place of every database error.
    """
    try:
        yield
    except DBAPIError as error:
        raise _fault(where, error.orig) from error
    except SQLAlchemyError as error:
        raise EnvironmentFault(f"{where}: {error}") from error
    except sqlite3.Error as error:
        raise _fault(where, error) from error
    except UnicodeDecodeError as error:  # the driver reads its own message about a damaged schema
        raise EnvironmentFault(*_damaged(where)) from error


def _damaged(where: str) -> tuple[str, str]:
    message, hint = _SQLITE["SQLITE_CORRUPT"]
    return message.format(where=where), hint


def _fault(where: str, error: BaseException | None) -> EnvironmentFault:
    name = getattr(error, "sqlite_errorname", "")
    for known, (message, hint) in _SQLITE.items():
        if name.startswith(known):
            return EnvironmentFault(message.format(where=where), hint)
    said = " ".join(str(error).split())
    return EnvironmentFault(f"{where}: {said}", "check that the database is up and the URL right")
