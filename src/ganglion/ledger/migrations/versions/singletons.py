"""Several live workloads of one name: those that wait for each other, or come by the clock."""

from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Names of live workloads are checked by the code that accepts them."""
    op.drop_index("one_live_workload_of_a_name", "workloads")
