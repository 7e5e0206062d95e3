"""Entry point that Alembic executes; the connection and its transaction are the caller's."""

from alembic import context

from ganglion.ledger.sql.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    transactional_ddl=True,
    render_as_batch=True,
)
context.run_migrations()
