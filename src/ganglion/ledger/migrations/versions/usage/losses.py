"""Which parts of attempts were thrown away."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"

LONG = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Add a table of them, and find rows of an attempt; what was lost before stays unknown."""
    op.create_table(
        "lost",
        sa.Column("number", LONG, primary_key=True, autoincrement=False),
        *(sa.Column(name, LONG, nullable=False) for name in ("cycle", "begin_ms", "end_ms")),
        *(sa.Column(name, sa.String, nullable=False) for name in ("workload", "gang")),
        sa.Column("attempt", LONG, nullable=False),
    )
    op.create_index("lost_ended", "lost", ["end_ms"])
    op.create_index("activity_attempts", "activity", ["gang", "attempt"])
    op.create_index("usage_attempts", "usage", ["workload", "gang", "attempt"])
    op.drop_index("usage_workload", "usage")
