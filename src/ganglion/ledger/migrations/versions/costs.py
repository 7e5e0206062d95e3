"""Usage of workloads is found by their ids."""

from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Add an index, so that what a workload has cost is found without reading all usage."""
    op.create_index("usage_workload", "usage", ["workload"])
