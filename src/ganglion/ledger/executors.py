"""Which home executes a ledger.

Every term has a row, and the newest row says who executes the ledger. A row may be added
without the ledger's lock: this is how a server that holds the lock learns that its term is over.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, Row, func, insert, inspect, select, update

from ganglion.ledger.sql import database
from ganglion.ledger.sql.faults import faults
from ganglion.ledger.sql.statements import Prepared, Session
from ganglion.ledger.sql.tables import executors
from ganglion.model.errors import NotExecutor, Superseded
from ganglion.model.executor import Executor, Term, is_one_home
from ganglion.seams.effects import SYSTEM, Effects
from ganglion.seams.randomness import Randomness, unique_id

TAKE_OVER = "ganglion up --take-over"

_HIGHEST = Prepared(select(func.max(executors.c.generation)))


class Executors:
    """The terms of one ledger; safe from any thread.

    Every call may raise `EnvironmentFault`.

    Args:
        engine: the database.
        where: the database as messages name it.
        randomness: makes the id of a ledger.
    """

    def __init__(self, engine: Engine, where: str, randomness: Randomness) -> None:
        self._engine, self._where, self._randomness = engine, where, randomness

    def terms(self) -> list[Term]:
        """All terms, oldest first."""
        with faults(self._where), self._engine.connect() as connection:
            return _terms(connection)

    def claim(self, here: Executor, at: int, *, least: int = 1, take_over: bool = False) -> Term:
        """Execute the ledger from now on, or go on with that.

        Args:
            here: the home that asks.
            at: the time in ms.
            least: least generation that its supervisors accept.
            take_over: end the term of another home.

        Raises:
            NotExecutor: another home executes it.
        """
        with faults(self._where), self._writing() as connection, connection.begin():
            found = _terms(connection)
            now = found[-1] if found else None
            is_ours = now is not None and is_one_home(now.executor, here)
            if now and is_ours and now.generation >= least:
                return _renewed(connection, now, here)
            if now and not is_ours and not take_over:
                raise refusal(now, here)
            ledger = now.ledger if now else unique_id(self._randomness)
            generation = max(now.generation + 1 if now else 1, least)
            connection.execute(insert(executors), _row(ledger, generation, here, at))
            return Term(ledger, generation, here, at)

    def begun(self, generation: int, at: int) -> None:
        """The first turn of a term was written."""
        self._note(generation, begun=at)

    def ended(self, generation: int, at: int) -> None:
        """All processes of a term are gone, or nothing more can be learnt of them."""
        self._note(generation, ended=at)

    def _note(self, generation: int, **values: int) -> None:
        wanted = update(executors).where(executors.c.generation == generation).values(**values)
        with faults(self._where), self._writing() as connection, connection.begin():
            connection.execute(wanted)

    def _writing(self) -> Connection:
        return self._engine.connect().execution_options(writer=True)

    def confirm(self, generation: int, session: Session | None = None) -> None:
        """Check that a term has not been ended by a later one.

        Args:
            generation: the term.
            session: an open transaction to look in; None = a transaction of its own.

        Raises:
            Superseded: another home has taken over.
        """
        if session is None:
            with faults(self._where), self._engine.connect() as own:
                found = own.scalar(_HIGHEST.statement)
        else:
            found = session.first(_HIGHEST, {})
        if found != generation:
            raise Superseded(
                f"{self._where} is executed by another home now (generation {found})",
                f"to run its gangs here again: {TAKE_OVER}",
            )


def refusal(now: Term, here: Executor) -> NotExecutor:
    """Why a home may not execute a ledger."""
    return NotExecutor(
        f"the gangs of this ledger are run by {now.executor}, not by {here}",
        f"use that home, or end what it runs and go on here: {TAKE_OVER}",
        now,
    )


def newest(target: str | Path, effects: Effects = SYSTEM) -> Term | None:
    """The newest term of a ledger that another server may have open; None = there is none yet.

    Raises:
        EnvironmentFault: the database does not answer.
    """
    with _beside(target, effects) as found:
        return found.terms()[-1] if found and found.terms() else None


def depose(target: str | Path, here: Executor, at: int, effects: Effects = SYSTEM) -> bool:
    """End the term of a server that may hold the ledger's lock; it stops its ranks and ends.

    Returns:
        whether a term of another home is over and may not have been cleared yet.

    Raises:
        EnvironmentFault: the database does not answer.
    """
    with _beside(target, effects) as found:
        if not found or not found.terms():
            return False
        term = found.claim(here, at, take_over=True)
        return term.generation > 1 and term.begun is None


@contextmanager
def _beside(target: str | Path, effects: Effects) -> Iterator[Executors | None]:
    """The terms of a ledger without its lock; None = it has no table of them yet."""
    url = database.parse(target)
    where, path = database.shown(url), database.file_of(url)
    if path and not database.is_there(path, effects.files):
        yield None
        return
    engine = database.connect(url, effects.connections)
    try:
        with faults(where):
            there = inspect(engine).has_table(executors.name)
        yield Executors(engine, where, effects.randomness) if there else None
    finally:
        engine.dispose()


def _terms(connection: Connection) -> list[Term]:
    return [_term(row) for row in connection.execute(select(executors).order_by("generation"))]


def _renewed(connection: Connection, now: Term, here: Executor) -> Term:
    if now.executor == here:
        return now
    values = {name: getattr(here, name) for name in ("path", "machine", "boot", "host")}
    wanted = update(executors).where(executors.c.generation == now.generation)
    connection.execute(wanted.values(**values))
    return Term(now.ledger, now.generation, here, now.at, now.begun, now.ended)


def _row(ledger: str, generation: int, here: Executor, at: int) -> dict[str, Any]:
    fields = {name: getattr(here, name) for name in here.__struct_fields__}
    return {"ledger": ledger, "generation": generation, "at": at, **fields}


def _term(row: Row[Any]) -> Term:
    executor = Executor(row.home, row.path, row.machine, row.boot, row.host)
    return Term(row.ledger, row.generation, executor, row.at, row.begun, row.ended)
