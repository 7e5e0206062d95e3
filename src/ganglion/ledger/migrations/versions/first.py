"""Events, cycles and workloads."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

LONG = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Make the first tables."""
    op.create_table(
        "cycles",
        sa.Column("cycle", LONG, primary_key=True, autoincrement=False),
        sa.Column("at", LONG, nullable=False),
        sa.Column("incoming", LONG, nullable=False),
    )
    op.create_table(
        "events",
        sa.Column("seq", LONG, primary_key=True, autoincrement=False),
        sa.Column("at", LONG, nullable=False),
        sa.Column("cycle", LONG, sa.ForeignKey("cycles.cycle"), nullable=False),
        sa.Column("kind", sa.String(40), nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
    )
    _workloads()


def _workloads() -> None:
    op.create_table(
        "workloads",
        sa.Column("number", LONG, primary_key=True, autoincrement=False),
        sa.Column("id", sa.String(200), nullable=False, unique=True),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("at", LONG, nullable=False),
        sa.Column("user", sa.String(200), nullable=False),
        sa.Column("queue", sa.String(200), nullable=False),
        sa.Column("kind", sa.String(40), nullable=False),
        sa.Column("document", sa.LargeBinary, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.Column("request_key", sa.String(200), unique=True),
        sa.Column("request_hash", sa.String(64), nullable=False),
        sa.Column("ended", LONG),
        sa.Column("state", sa.String(20), nullable=False),
        sa.Column("detail", sa.LargeBinary, nullable=False),
    )
    op.create_index("workloads_by_name", "workloads", ["name", "number"])
    op.create_index("workloads_ended", "workloads", ["ended"])
    op.create_index(
        "one_live_workload_of_a_name",
        "workloads",
        ["name"],
        unique=True,
        sqlite_where=sa.text("ended IS NULL"),
        postgresql_where=sa.text("ended IS NULL"),
    )
