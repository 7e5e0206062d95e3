"""Which GPUs attempts held."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Add the GPUs to what attempts held; of what is over they stay unknown."""
    op.add_column("usage", sa.Column("devices", sa.String, nullable=False, server_default=""))
