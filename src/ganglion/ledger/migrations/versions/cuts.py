"""Where a ledger was cut."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

LONG = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Add a table of cuts; no ledger has one yet."""
    op.create_table(
        "cuts",
        sa.Column("seq", LONG, primary_key=True, autoincrement=False),
        sa.Column("at", LONG, nullable=False),
        sa.Column("checksum", sa.LargeBinary, nullable=False),
        sa.Column("digest", sa.LargeBinary, nullable=False),
        sa.Column("archive", sa.String(4096), nullable=False),
    )
