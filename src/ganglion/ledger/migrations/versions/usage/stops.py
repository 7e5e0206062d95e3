"""Which attempts were asked to stop or to shrink, and which started ahead of older ones."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"

STOPS = sa.text("kind IN ('gang_stopping', 'gang_resized')")


def upgrade() -> None:
    """Add an index of the few events that stop others, and whom attempts went ahead of."""
    op.create_index("events_stops", "events", ["at"], sqlite_where=STOPS, postgresql_where=STOPS)
    op.add_column("usage", sa.Column("ahead_of", sa.String, nullable=False, server_default=""))
