"""Bring a database to the newest schema."""

from sqlalchemy import Connection, inspect, text

from ganglion.ledger.chain import Progress, silent
from ganglion.ledger.sql.faults import faults
from ganglion.ledger.sql.tables import SCHEMA
from ganglion.model.errors import EnvironmentFault


def migrate(connection: Connection, where: str, progress: Progress = silent) -> None:
    """Run the migrations that are missing, all in one transaction.

    Args:
        connection: that writes.
        where: the database as messages name it.
        progress: called with how far a long migration is.

    Raises:
        EnvironmentFault: a newer version of Ganglion wrote the database, or it refuses.
    """
    with faults(where), connection.begin():
        found = _revision(connection)
        if found != SCHEMA:
            _upgrade(connection, where, found, progress)
        # A database that cannot be written is found out now, not when a job is submitted.
        connection.execute(text("UPDATE alembic_version SET version_num = version_num"))


def _revision(connection: Connection) -> str:
    if not inspect(connection).has_table("alembic_version"):
        return ""
    return str(connection.scalar(text("SELECT version_num FROM alembic_version")) or "")


def _upgrade(connection: Connection, where: str, found: str, progress: Progress) -> None:
    # Alembic takes longer to import than a server to start, and is needed once per schema.
    from alembic import command  # noqa: PLC0415 - see above
    from alembic.config import Config  # noqa: PLC0415 - see above
    from alembic.script import ScriptDirectory  # noqa: PLC0415 - see above

    config = Config()
    config.set_main_option("script_location", "ganglion.ledger:migrations")
    config.set_main_option("recursive_version_locations", "true")
    config.attributes["connection"], config.attributes["progress"] = connection, progress
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    if found and found not in known:
        raise EnvironmentFault(
            f"{where} was written by a newer Ganglion (schema {found})",
            "install that version or a newer one; older ones cannot read it",
        )
    command.upgrade(config, "head")
