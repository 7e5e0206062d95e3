"""What queues lent and borrowed."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"

LONG = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Add a table of sums by queue; it begins with the next events."""
    op.create_table(
        "lent",
        sa.Column("number", LONG, primary_key=True, autoincrement=False),
        *(sa.Column(name, LONG, nullable=False) for name in ("cycle", "begin_ms", "end_ms")),
        sa.Column("queue", sa.String, nullable=False),
        *(sa.Column(name, LONG, nullable=False) for name in ("lent_gpu_us", "borrowed_gpu_us")),
    )
    op.create_index("lent_ended", "lent", ["end_ms"])
