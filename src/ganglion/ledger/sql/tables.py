"""The tables, as the newest migration leaves them."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    literal_column,
)

SCHEMA = "0015"
"""Revision of the newest migration."""

metadata = MetaData()

LONG = BigInteger().with_variant(Integer, "sqlite")
"""A 64-bit integer; on SQLite its own spelling, so that it can name the row."""

cycles = Table(
    "cycles",
    metadata,
    Column("cycle", LONG, primary_key=True, autoincrement=False),
    Column("at", LONG, nullable=False),
    # The first `incoming` events of a cycle are facts, the rest are decisions: so a replay
    # can ask the engine again and compare.
    Column("incoming", LONG, nullable=False),
)

events = Table(
    "events",
    metadata,
    Column("seq", LONG, primary_key=True, autoincrement=False),
    Column("at", LONG, nullable=False),
    Column("cycle", LONG, ForeignKey("cycles.cycle"), nullable=False),
    Column("kind", String(40), nullable=False),
    Column("body", LargeBinary, nullable=False),
    # Chained to the checksum of the event before, see `chain`.
    Column("checksum", LargeBinary),
)

snapshots = Table(
    "snapshots",
    metadata,
    # The newest event that is in the state.
    Column("seq", LONG, primary_key=True, autoincrement=False),
    Column("cycle", LONG, nullable=False),
    Column("at", LONG, nullable=False),
    # Of the code that wrote it: others do not read it.
    Column("version", String(64), nullable=False),
    # Of that event.
    Column("checksum", LargeBinary, nullable=False),
    Column("body", LargeBinary, nullable=False),
)

cuts = Table(
    "cuts",
    metadata,
    # The last event that was cut off; the snapshot of that number takes the place of all of them.
    Column("seq", LONG, primary_key=True, autoincrement=False),
    Column("at", LONG, nullable=False),
    # Of that event: the head of the chain at the cut.
    Column("checksum", LargeBinary, nullable=False),
    # SHA-256 of the body of the snapshot; it is in the chain as well, in an event `ledger_cut`.
    Column("digest", LargeBinary, nullable=False),
    # The file that the events were written to; empty = none.
    Column("archive", String(4096), nullable=False),
)

workloads = Table(
    "workloads",
    metadata,
    Column("number", LONG, primary_key=True, autoincrement=False),
    Column("id", String(200), nullable=False, unique=True),
    Column("name", String(200), nullable=False),
    Column("at", LONG, nullable=False),
    Column("user", String(200), nullable=False),
    Column("queue", String(200), nullable=False),
    Column("kind", String(40), nullable=False),
    Column("document", LargeBinary, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Column("request_key", String(200), unique=True),
    Column("request_hash", String(64), nullable=False),
    Column("ended", LONG),
    Column("state", String(20), nullable=False),
    Column("detail", LargeBinary, nullable=False),
    # Of work of clusters, its name in usage, when it got its first place, and thousandths of its
    # GPUs there; intervals of usage say the latter of that of the server.
    Column("metered", String),
    Column("first_at", LONG),
    Column("first_milli", LONG),
)

executors = Table(
    "executors",
    metadata,
    Column("generation", LONG, primary_key=True, autoincrement=False),
    Column("ledger", String(32), nullable=False),
    Column("home", String(32), nullable=False),
    Column("path", String(4096), nullable=False),
    Column("machine", String(64), nullable=False),
    Column("boot", String(64), nullable=False),
    Column("host", String(255), nullable=False),
    Column("at", LONG, nullable=False),
    Column("begun", LONG),
    Column("ended", LONG),
)

usage = Table(
    "usage",
    metadata,
    Column("number", LONG, primary_key=True, autoincrement=False),
    # That closed the interval.
    Column("cycle", LONG, nullable=False),
    # Both lie in one day of UTC: so a day is a group.
    Column("begin_ms", LONG, nullable=False),
    Column("end_ms", LONG, nullable=False),
    Column("queue", String, nullable=False),
    Column("user", String, nullable=False),
    Column("workload", String, nullable=False),
    Column("gang", String, nullable=False),
    Column("attempt", LONG, nullable=False),
    Column("kind", String, nullable=False),
    Column("flavor", String, nullable=False),
    Column("node", String, nullable=False),
    Column("requested_milli", LONG, nullable=False),
    Column("held_milli", LONG, nullable=False),
    Column("cpu_milli", LONG, nullable=False),
    Column("memory_mib", LONG, nullable=False),
    Column("begun", Boolean, nullable=False),
    # As `0-3,6`; files that early versions exported have none.
    Column("devices", String, nullable=False, default=""),
    # The gang that the attempt went ahead of; files that early versions exported have none.
    Column("ahead_of", String, nullable=False, default=""),
)

supply = Table(
    "supply",
    metadata,
    Column("number", LONG, primary_key=True, autoincrement=False),
    Column("cycle", LONG, nullable=False),
    Column("begin_ms", LONG, nullable=False),
    Column("end_ms", LONG, nullable=False),
    Column("node", String, nullable=False),
    Column("flavor", String, nullable=False),
    Column("gpu_milli", LONG, nullable=False),
    Column("unavailable_milli", LONG, nullable=False),
)

activity = Table(
    "activity",
    metadata,
    Column("number", LONG, primary_key=True, autoincrement=False),
    # That it was written with.
    Column("cycle", LONG, nullable=False),
    # Both lie in one day of UTC: so a day is a group.
    Column("begin_ms", LONG, nullable=False),
    Column("end_ms", LONG, nullable=False),
    Column("queue", String, nullable=False),
    Column("user", String, nullable=False),
    Column("workload", String, nullable=False),
    Column("gang", String, nullable=False),
    Column("attempt", LONG, nullable=False),
    Column("kind", String, nullable=False),
    Column("flavor", String, nullable=False),
    Column("node", String, nullable=False),
    Column("source", String, nullable=False),
    Column("sampled_gpu_us", LONG, nullable=False),
    Column("active_gpu_us", LONG, nullable=False),
    Column("energy_gpu_us", LONG, nullable=False),
    Column("energy_mj", LONG, nullable=False),
    Column("energy_source", String, nullable=False, default="nvml"),
)

lent = Table(
    "lent",
    metadata,
    Column("number", LONG, primary_key=True, autoincrement=False),
    Column("cycle", LONG, nullable=False),
    Column("begin_ms", LONG, nullable=False),
    Column("end_ms", LONG, nullable=False),
    Column("queue", String, nullable=False),
    Column("lent_gpu_us", LONG, nullable=False),
    Column("borrowed_gpu_us", LONG, nullable=False),
)

lost = Table(
    "lost",
    metadata,
    Column("number", LONG, primary_key=True, autoincrement=False),
    Column("cycle", LONG, nullable=False),
    # What the attempt held and did in between was thrown away: rows of usage say how much it was.
    Column("begin_ms", LONG, nullable=False),
    Column("end_ms", LONG, nullable=False),
    Column("workload", String, nullable=False),
    Column("gang", String, nullable=False),
    Column("attempt", LONG, nullable=False),
)

people = Table(
    "people",
    metadata,
    # The pseudonym: a digest of salt and name, see `people.names`.
    Column("token", String(64), primary_key=True),
    # Both are empty from the erasure of a name until nothing of it is left in the file.
    Column("salt", LargeBinary, nullable=False),
    Column("name", String, nullable=False),
)

STOPS = events.c.kind.in_(
    [literal_column(f"'{kind}'", String) for kind in ("gang_stopping", "gang_resized")]
)
"""Attempts are asked to stop, or to go on with other pods; databases find these by an index."""

Index("events_stops", events.c.at, sqlite_where=STOPS, postgresql_where=STOPS)
Index("usage_ended", usage.c.end_ms)
Index("usage_attempts", usage.c.workload, usage.c.gang, usage.c.attempt)
Index("supply_ended", supply.c.end_ms)
Index("activity_ended", activity.c.end_ms)
Index("activity_attempts", activity.c.gang, activity.c.attempt)
Index("lent_ended", lent.c.end_ms)
Index("lost_ended", lost.c.end_ms)
Index("workloads_by_name", workloads.c.name, workloads.c.number)
Index("workloads_ended", workloads.c.ended)
Index("workloads_first", workloads.c.first_at)
