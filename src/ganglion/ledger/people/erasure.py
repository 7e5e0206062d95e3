"""Erasing a person: rows of a ledger that name them, and what a database keeps of such rows."""

import re
import zlib
from collections.abc import Iterator
from typing import Any

from sqlalchemy import Engine, bindparam, delete, insert, select, update

from ganglion.ledger.history import TRIMMED, trimmed
from ganglion.ledger.people.names import Names, escaped, swap, swap_words
from ganglion.ledger.reader import Reader
from ganglion.ledger.sql.faults import faults
from ganglion.ledger.sql.statements import Prepared, Session
from ganglion.ledger.sql.tables import activity, people, snapshots, usage, workloads
from ganglion.model.errors import Conflict

WAIT_MS = 5_000
"""How long PostgreSQL waits for a table to be free."""

NEW_PEOPLE = Prepared(insert(people))
_GONE = Prepared(
    update(people)
    .where(people.c.token == bindparam("of"))
    .values(salt=bindparam("no_salt"), name=bindparam("no_name"))
)
_USAGE = [
    Prepared(update(each).where(each.c.user == bindparam("of")).values(user=bindparam("now")))
    for each in (usage, activity)
]
_WORKLOAD = Prepared(
    update(workloads)
    .where(workloads.c.number == bindparam("of"))
    .values({name: bindparam(f"new_{name}") for name in ("user", "document", "body", "detail")})
)
_SNAPSHOTS = Prepared(delete(snapshots).where(snapshots.c.seq > bindparam("above")))


def check_erasable(reader: Reader, user: str) -> None:
    """Check that nothing which the chain covers as it is names a user.

    Raises:
        Conflict: the checkpoint does that the ledger was cut at.
    """
    base = reader.base()
    kept = next((each for each in reader.snapshots() if base and each.seq == base.seq), None)
    if base and kept and b'"%b"' % escaped(user) in zlib.decompress(kept.body):
        raise Conflict(
            f"the ledger was cut at event {base.seq}, and the checkpoint there names {user}",
            "the chain covers that checkpoint, which cannot be changed",
        )


def erase(session: Session, reader: Reader, names: Names, erased: tuple[str, ...]) -> None:
    """Write pseudonyms in the place of a person's names, and forget the names.

    Args:
        session: of the transaction that records the erasure.
        reader: of the ledger, as it was before.
        names: of the ledger; the caller has them forgotten once all is written.
        erased: names of the person, that of the user first; each has a token.
    """
    user, token = erased[0], names.token(erased[0])
    rows = [*_rewritten(reader, user, token)]
    if rows:
        session.execute(_WORKLOAD, rows)
    for each in _USAGE:
        session.execute(each, [{"of": user, "now": token}])
    # The state is made anew from the events, which have nothing but the pseudonyms now.
    base = reader.base()
    session.execute(_SNAPSHOTS, [{"above": base.seq if base else -1}])
    gone = [{"of": names.token(each), "no_salt": b"", "no_name": ""} for each in erased]
    session.execute(_GONE, gone)


def _rewritten(reader: Reader, user: str, token: str) -> Iterator[dict[str, Any]]:
    """What becomes of the user's workloads, which have ended: what lists show stays."""
    table, known = workloads.c, {escaped(user): token.encode()}
    own = select(table.number, table.body, table.detail).where(table.user == user)
    for row in reader.rows(own):
        body, detail = (
            swap_words(swap(bytes(each), known.get), known.get)
            for each in (row.body, trimmed(row.detail))
        )
        yield {
            "of": row.number,
            "new_user": token,
            "new_document": TRIMMED,
            "new_body": body,
            "new_detail": detail,
        }


def unwiped(reader: Reader) -> list[str]:
    """Tokens of erased names of which the database may still keep something."""
    gone = select(people.c.token).where(people.c.name == "").order_by(people.c.token)
    return [token for (token,) in reader.rows(gone)]


def wipe(engine: Engine, where: str, tokens: list[str]) -> bool:
    """Have a database give up what it keeps of rows that were changed; safe to repeat.

    SQLite rewrites its file, and empties its log; PostgreSQL rewrites the tables.

    Args:
        engine: of the database.
        where: the database as messages name it.
        tokens: of names that were erased before.

    Returns:
        whether nothing is left; else a reader of the file is in the way.

    Raises:
        EnvironmentFault: the database refuses, or is in use.
    """
    with faults(where):
        is_done = _vacuumed(engine)
        if is_done:
            with engine.connect() as other:
                connection = other.execution_options(writer=True)
                with connection.begin():
                    gone = people.c.token.in_(tokens) & (people.c.name == "")
                    connection.execute(delete(people).where(gone))
    return is_done


def _vacuumed(engine: Engine) -> bool:
    if engine.dialect.name == "sqlite":
        with engine.connect() as connection:
            cursor = connection.connection.cursor()
            cursor.execute("VACUUM")
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            (blocked, *_), *_ = cursor.fetchall()
            cursor.close()
        return int(blocked) == 0
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql(f"SET lock_timeout = {WAIT_MS}")
        for table in (people, workloads, usage, activity, snapshots):
            connection.exec_driver_sql(f"VACUUM (FULL) {table.name}")
        connection.exec_driver_sql("RESET lock_timeout")
    return True


def named_in_clear(reader: Reader, user: str) -> int:
    """How many events hold the name of a user in clear, as earlier versions wrote them."""
    name = escaped(user)
    fields = re.compile(rb'"(?:actor|user|by|subject)":"(?:user:)?%b"' % re.escape(name))
    found = after = 0
    while page := reader.events(after):
        found += sum(bool(fields.search(entry.linked)) for entry in page)
        after = page[-1].seq
    return found
