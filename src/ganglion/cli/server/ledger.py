"""`ganglion ledger`."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from ganglion.cli.connection.connect import connect
from ganglion.cli.options import command, output, settings
from ganglion.cli.output.formats import plural
from ganglion.cli.output.screen import bar, note
from ganglion.cli.output.tables import print_data
from ganglion.extras import require

if TYPE_CHECKING:
    from ganglion.ledger.chain import Progress
    from ganglion.ledger.reader import Reader
    from ganglion.server.recovery.verify import LedgerVerdict

SHOWN = 50
"""Flaws that are printed; -o json has all of them."""

DB = click.option(
    "--db", default="", metavar="URL", help="A database or file instead of the home's ledger."
)
FILE = click.argument("file", metavar="FILE", type=click.Path(path_type=Path))


@click.group("ledger", cls=click.RichGroup, context_settings=settings())
def ledger() -> None:
    """Check, back up and move what the server has written.

    The ledger is that of $GANGLION_HOME, or ~/.ganglion. The commands read it directly: all but
    import work with or without a running server.
    """
    require("server")


@command("verify", "ledger verify", "ledger verify --db /backup/ledger.db -o json")
@DB
@output("text", "json")
def verify(db: str, form: str) -> int:
    """Check the whole ledger, and name every row that is wrong.

    Numbers, checksums and the chain of them, whether events can be read, a replay of all of them,
    the invariants of the state that it gives, snapshots against it, and what was metered. Exit
    code 1 when anything is wrong.
    """
    from ganglion.server.recovery.verify import verified

    with reading(db) as reader, _progress() as progress:
        found = verified(reader, progress)
    if form == "json":
        print_data(found, form)
    else:
        _print(found)
    return 0 if found.sound else 1


@command("export", "ledger export ledger.jsonl.gz")
@FILE
@DB
def export(file: Path, db: str) -> None:
    """Write the ledger to a file of JSON lines, to move it or to read it.

    A name that ends in .gz is compressed. The file does not hold snapshots, logs or checkpoints.
    """
    from ganglion.ledger.transfer import exported

    with reading(db) as reader, _progress() as progress:
        end = exported(reader, file, progress)
    click.echo(f"{plural(end.events, 'event')} written to {file}; head {end.checksum}")


@command("import", "ledger import ledger.jsonl.gz", "ledger import ledger.jsonl.gz --db URL")
@FILE
@DB
def import_(file: Path, db: str) -> None:
    """Fill an empty ledger from a file that export wrote.

    Every checksum has to fit; else nothing is written.
    """
    from ganglion.ledger.ledger import Ledger
    from ganglion.ledger.transfer import imported
    from ganglion.server.rest.listening.home import Home

    with _progress() as progress:
        opened = Ledger.open(_target(db) if db else Home(_home()).ledger)
        try:
            end = imported(opened, file, progress)
        finally:
            opened.close()
    click.echo(f"{plural(end.events, 'event')} read from {file}; head {end.checksum}")


@command("backup", "ledger backup /backup/ledger.db")
@FILE
@DB
def backup(file: Path, db: str) -> None:
    """Copy the ledger as it is at this moment, while a server may write to it.

    The copy of a file is a ledger.db that a home can be started with. Of a PostgreSQL database the
    file is an export, as of one moment; `ganglion ledger import` restores it.
    """
    from ganglion.ledger.sql import database
    from ganglion.ledger.transfer import backed_up, exported

    if database.file_of(database.parse(_target(db))):
        backed_up(_target(db), file)
    else:
        with reading(db) as reader, _progress() as progress:
            exported(reader, file, progress)
    click.echo(f"backup written to {file}")
    note(f"To check it: ganglion ledger verify --db {file}")


for each in (verify, export, import_, backup):
    ledger.add_command(each)


def _home() -> Path:
    from ganglion.client.home import home

    return home()


def _target(db: str) -> str | Path:
    """Return the database that is meant: a URL, a file, or that of the home."""
    if not db:
        return _home() / "ledger.db"
    return db if "://" in db else Path(db)


@contextmanager
def reading(db: str) -> "Iterator[Reader]":
    """The ledger at a URL or in a file, or that of the home, as it is at this moment."""
    import logging

    import structlog

    from ganglion.ledger.reader import Reader

    # What a server would log is part of the answer.
    quiet = structlog.make_filtering_bound_logger(logging.CRITICAL)
    structlog.configure(wrapper_class=quiet)
    try:
        reader = Reader.at_rest(_target(db))
        try:
            yield reader
        finally:
            reader.leave()
    finally:
        structlog.reset_defaults()


def is_elsewhere(db: str) -> bool:
    """Whether a server is meant whose ledger is not the home's: by $GANGLION_URL, or by a login.

    Args:
        db: what `--db` says.
    """
    from ganglion.client.home import home
    from ganglion.client.logins import chosen_login

    if db:
        return False
    if os.environ.get("GANGLION_URL"):
        return True
    return not (home() / "ledger.db").exists() and chosen_login() is not None


def is_served(db: str) -> bool:
    """Whether a server can be asked for an export, so that it signs what is new before."""
    from ganglion.client.home import home, read_server

    return is_elsewhere(db) or (not db and read_server(home()) is not None)


@contextmanager
def downloaded() -> Iterator[Path]:
    """The trail of the server, in a file for this user alone that is gone afterwards.

    Raises:
        GanglionError: what the server answered, or that it could not be reached.
    """
    with (
        tempfile.NamedTemporaryFile(prefix="ganglion-audit-", suffix=".jsonl") as file,
        connect() as client,
        client.access.audit_export() as parts,
    ):
        file.writelines(parts)
        file.flush()
        yield Path(file.name)


@contextmanager
def _progress() -> "Iterator[Progress]":
    """Show a bar on a terminal."""
    with bar() as show:
        yield lambda what, done, of: show(done, of, what)


def _print(found: "LedgerVerdict") -> None:
    click.echo(f"{found.ledger}: {plural(found.events, 'event')}, head {found.head}")
    click.echo(f"checksum {found.checksum}")
    for snapshot in found.snapshots:
        click.echo(f"snapshot at event {snapshot.seq}: {snapshot.verdict}")
    for flaw in found.flaws[:SHOWN]:
        where = f"event {flaw.seq}" if flaw.seq > 0 else "ledger"
        click.echo(f"{where}{f' {flaw.kind}' if flaw.kind else ''}: {flaw.problem}")
    if len(found.flaws) > SHOWN:
        click.echo(f"and {len(found.flaws) - SHOWN} more: -o json lists them all")
    click.echo("sound" if found.sound else f"{plural(len(found.flaws), 'flaw')}")
    if not found.sound:
        note("What to do: 'damaged ledger' in docs/runbooks/server.md")
