"""What GPUs did while attempts had them alone."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"

LONG = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Add a table of looks at GPUs, summed up; of what is over they stay unknown."""
    texts = ("queue", "user", "workload", "gang", "kind", "flavor", "node", "source")
    amounts = ("sampled_gpu_us", "active_gpu_us", "energy_gpu_us", "energy_mj")
    op.create_table(
        "activity",
        sa.Column("number", LONG, primary_key=True, autoincrement=False),
        *(sa.Column(name, LONG, nullable=False) for name in ("cycle", "begin_ms", "end_ms")),
        *(sa.Column(name, sa.String, nullable=False) for name in texts),
        *(sa.Column(name, LONG, nullable=False) for name in ("attempt", *amounts)),
    )
    op.create_index("activity_ended", "activity", ["end_ms"])
