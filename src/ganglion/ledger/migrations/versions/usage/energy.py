"""What said how much GPUs drew."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    """Add it; so far it was the driver's counter alone."""
    op.add_column(
        "activity", sa.Column("energy_source", sa.String, nullable=False, server_default="nvml")
    )
