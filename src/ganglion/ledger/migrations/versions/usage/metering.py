"""What attempts held and what nodes had."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

LONG = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Add tables of intervals; metering begins with the next start of a server."""
    op.create_table(
        "usage",
        sa.Column("number", LONG, primary_key=True, autoincrement=False),
        sa.Column("cycle", LONG, nullable=False),
        sa.Column("begin_ms", LONG, nullable=False),
        sa.Column("end_ms", LONG, nullable=False),
        sa.Column("queue", sa.String, nullable=False),
        sa.Column("user", sa.String, nullable=False),
        sa.Column("workload", sa.String, nullable=False),
        sa.Column("gang", sa.String, nullable=False),
        sa.Column("attempt", LONG, nullable=False),
        sa.Column("kind", sa.String, nullable=False),
        sa.Column("flavor", sa.String, nullable=False),
        sa.Column("node", sa.String, nullable=False),
        sa.Column("requested_milli", LONG, nullable=False),
        sa.Column("held_milli", LONG, nullable=False),
        sa.Column("cpu_milli", LONG, nullable=False),
        sa.Column("memory_mib", LONG, nullable=False),
        sa.Column("begun", sa.Boolean, nullable=False),
    )
    op.create_table(
        "supply",
        sa.Column("number", LONG, primary_key=True, autoincrement=False),
        sa.Column("cycle", LONG, nullable=False),
        sa.Column("begin_ms", LONG, nullable=False),
        sa.Column("end_ms", LONG, nullable=False),
        sa.Column("node", sa.String, nullable=False),
        sa.Column("flavor", sa.String, nullable=False),
        sa.Column("gpu_milli", LONG, nullable=False),
        sa.Column("unavailable_milli", LONG, nullable=False),
    )
    op.create_index("usage_ended", "usage", ["end_ms"])
    op.create_index("supply_ended", "supply", ["end_ms"])
