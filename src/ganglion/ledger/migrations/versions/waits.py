"""When work of clusters got its first place, and its name in usage."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    """Add them; of what is over they stay unknown."""
    op.add_column("workloads", sa.Column("metered", sa.String))
    long = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    op.add_column("workloads", sa.Column("first_at", long))
    op.add_column("workloads", sa.Column("first_milli", long))
    op.create_index("workloads_first", "workloads", ["first_at"])
