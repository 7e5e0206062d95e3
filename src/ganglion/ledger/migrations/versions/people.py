"""Names of people, which events hold salted digests of."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Add a table of names; events of before hold theirs in clear, as the chain covers them."""
    op.create_table(
        "people",
        sa.Column("token", sa.String(64), primary_key=True),
        sa.Column("salt", sa.LargeBinary, nullable=False),
        sa.Column("name", sa.String, nullable=False),
    )
