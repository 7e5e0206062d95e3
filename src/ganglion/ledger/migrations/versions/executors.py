"""Which home executes the ledger."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

LONG = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Add a table of terms; the home that opens the ledger next has the first one."""
    op.create_table(
        "executors",
        sa.Column("generation", LONG, primary_key=True, autoincrement=False),
        sa.Column("ledger", sa.String(32), nullable=False),
        sa.Column("home", sa.String(32), nullable=False),
        sa.Column("path", sa.String(4096), nullable=False),
        sa.Column("machine", sa.String(64), nullable=False),
        sa.Column("boot", sa.String(64), nullable=False),
        sa.Column("host", sa.String(255), nullable=False),
        sa.Column("at", LONG, nullable=False),
        sa.Column("begun", LONG),
        sa.Column("ended", LONG),
    )
