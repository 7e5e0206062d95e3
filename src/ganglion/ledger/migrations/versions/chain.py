"""Checksums of events, each chained to the one before it; snapshots of the state."""

from typing import Any

import sqlalchemy as sa
from alembic import context, op

from ganglion.ledger.chain import GENESIS, link, silent

revision = "0003"
down_revision = "0002"

LONG = sa.BigInteger().with_variant(sa.Integer, "sqlite")
PAGE = 5_000


def upgrade() -> None:
    """Add the column and compute it for every event that there is; make the new table."""
    op.add_column("events", sa.Column("checksum", sa.LargeBinary, nullable=True))
    op.create_table(
        "snapshots",
        sa.Column("seq", LONG, primary_key=True, autoincrement=False),
        sa.Column("cycle", LONG, nullable=False),
        sa.Column("at", LONG, nullable=False),
        sa.Column("version", sa.String(64), nullable=False),
        sa.Column("checksum", sa.LargeBinary, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
    )
    _compute(op.get_bind())


def _compute(connection: sa.Connection) -> None:
    """Chain all events, page by page."""
    progress = context.config.attributes.get("progress", silent)
    last = connection.scalar(sa.text("SELECT max(seq) FROM events")) or 0
    after, previous = 0, GENESIS
    select = sa.text(
        "SELECT e.seq, e.at, e.cycle, e.kind, e.body, c.at, c.incoming FROM events e"
        " JOIN cycles c ON c.cycle = e.cycle WHERE e.seq > :after ORDER BY e.seq LIMIT :page"
    )
    update = sa.text("UPDATE events SET checksum = :checksum WHERE seq = :seq")
    while rows := connection.execute(select, {"after": after, "page": PAGE}).all():
        values: list[dict[str, Any]] = []
        for *row, cycle_at, incoming in rows:
            seq, at, cycle, kind, body = row
            previous = link(previous, (seq, at, cycle, kind, bytes(body)), cycle_at, incoming)
            values.append({"seq": seq, "checksum": previous})
        connection.execute(update, values)
        after = rows[-1][0]
        progress("chaining the events of the ledger", after, last)
