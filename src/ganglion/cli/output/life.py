"""What happened to the gangs of a workload beside their attempts, as `describe` prints it."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ganglion.api.workloads import GangView, LifeChange, LifeEvent

MOST = 20
"""Most events that are shown: the newest."""
NAMES = {"time_limit_ms": "time limit", "deadline_at": "deadline"}


class _Row(NamedTuple):
    gang: int
    event: "LifeEvent"


def print_life(gangs: "Iterable[GangView]") -> None:
    """Print what happened to gangs; nothing where nothing did."""
    from ganglion.cli.output.formats import DASH, clock, plural
    from ganglion.cli.output.screen import out
    from ganglion.cli.output.tables import Column, print_table, table_of

    gangs = list(gangs)
    rows = [_Row(gang.index, each) for gang in gangs for each in gang.life]
    rows.sort(key=lambda row: row.event.at)
    if not rows:
        return
    columns: list[Column[_Row]] = [
        Column("AT", lambda row: clock(row.event.at)),
        Column("ATTEMPT", lambda row: str(row.event.attempt or DASH), right=True),
        Column("EVENT", lambda row: row.event.kind),
        Column("WHAT", lambda row: what(row.event) or DASH, least=30),
    ]
    if len(gangs) > 1:
        columns.insert(1, Column("GANG", lambda row: str(row.gang), right=True))
    out().print("\nLife", style="bold")
    print_table(table_of(columns, rows[-MOST:]))
    older = len(rows[:-MOST]) + sum(gang.life_left_out for gang in gangs)
    if older:
        out().print(f"… and {plural(older, 'older event')}; -o json has those that are kept")


def what(event: "LifeEvent") -> str:
    """Return what an event says beside its kind: `pods of main 16 -> 8: others want them`."""
    step = f"step {event.step:,}" if event.step else ""
    path = f"in {event.path}" if event.path else ""
    saved = f"goes on from attempt {event.saved_by}" if event.saved_by else ""
    said = ", ".join(filter(None, (saved, step, path, *map(_changed, event.changes))))
    return f"{said}: {event.why}" if event.why else said


def _changed(change: "LifeChange") -> str:
    name = NAMES.get(change.name, change.name)
    return f"{name} {_value(change.name, change.before)} -> {_value(change.name, change.after)}"


def _value(name: str, text: str) -> str:
    from ganglion.cli.output.formats import age, clock

    if not text:
        return "none"
    if name.endswith("_ms"):
        return age(int(text))
    return clock(int(text)) if name == "deadline_at" else text
