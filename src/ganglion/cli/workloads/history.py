"""`ganglion history`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import rich_click as click

from ganglion.cli.connection.connect import complete_queues, connect
from ganglion.cli.options import command, list_output, moment, since_ms
from ganglion.cli.output.formats import DASH, HOUR_MS, age, clock, now_ms, plural
from ganglion.cli.output.screen import note
from ganglion.cli.output.tables import Column, print_list
from ganglion.cli.workloads.ps import gpus
from ganglion.client.states import style

if TYPE_CHECKING:
    from ganglion.api.workloads import HistoryItem

ENDED = ("succeeded", "failed", "cancelled", "timed_out")


def columns() -> "list[Column[HistoryItem]]":
    """Return the columns of a list of ended workloads."""
    return [
        Column("ID", lambda w: w.id, key=True),
        Column("KIND", lambda w: w.kind, wide=True),
        Column("QUEUE", lambda w: w.queue),
        Column("USER", lambda w: w.user or DASH, wide=True),
        Column("GPUS", gpus, right=True),
        Column("STATE", lambda w: w.state, style=lambda w: style(w.state)),
        Column("EXIT", lambda w: DASH if w.exit_code is None else str(w.exit_code), right=True),
        Column("TRIES", lambda w: str(w.spent.attempts) if w.spent else DASH, right=True),
        Column("WAIT", lambda w: age(w.spent.wait_ms) if w.spent else DASH, right=True),
        Column("RUN", lambda w: age(w.spent.run_ms) if w.spent else DASH, right=True),
        Column("GPU-H", lambda w: hours(w.spent.gpu_ms) if w.spent else DASH, right=True),
        Column("WAITED FOR", lambda w: _waited(w) or DASH, wide=True),
        Column("SUBMITTED", lambda w: clock(w.submitted), wide=True),
        Column("ENDED", lambda w: clock(w.ended), wide=True),
        Column("PREEMPTED", lambda w: str(w.preemptions or DASH), right=True, wide=True),
        Column("MESSAGE", lambda w: w.message or DASH, wide=True, least=12),
    ]


@command(
    "history",
    "history",
    "history --since 24h --state failed",
    "history -q research -u ada --since 2026-11-01 --until 2026-12-01 -o csv",
    "history 'sweep-*' -n 20 -o wide",
)
@click.argument("name", required=False, metavar="[NAME]")
@click.option(
    "--since",
    metavar="TIME",
    default="7d",
    show_default=True,
    help="Ended since: 24h (ago), 2026-11-01, 2026-11-01T08:00; all = ever.",
)
@click.option("--until", metavar="TIME", help="Ended before: 1h (ago), 2026-12-01.")
@click.option(
    "--state",
    "states",
    multiple=True,
    type=click.Choice(ENDED, case_sensitive=False),
    help="Only this final state; may be repeated.",
)
@click.option("-u", "--user", metavar="NAME", help="Only this user.")
@click.option(
    "-q", "--queue", metavar="NAME", shell_complete=complete_queues, help="Only this queue."
)
@click.option("--kind", metavar="KIND", help="Only this kind, as train or service.")
@click.option("-n", "--limit", type=click.IntRange(min=1), help="Most rows to print.")
@list_output
def history(
    name: str | None,
    since: str,
    until: str | None,
    states: tuple[str, ...],
    user: str | None,
    queue: str | None,
    kind: str | None,
    limit: int | None,
    form: str,
) -> None:
    """List what has ended, with waits and GPU-hours.

    WAIT is the time in which none of a workload's gangs ran, RUN the time in which at least one
    did. WAITED FOR (-o wide) adds up all gangs, by reason. GPU-H counts the GPUs that were held, of
    every attempt (TRIES). A dash means unknown.
    The last line, on stderr, sums up the rows.

    NAME is the name of a workload, or a pattern in which * is any text and ? any character.
    """
    now = now_ms()
    begin = since_ms(since, now)
    with connect() as client:
        rows = client.daily.history(
            since_ms=begin,
            until_ms=moment(until, now, "--until") if until else 0,
            states=[state.upper() for state in states],
            queue=queue,
            user=user,
            kind=kind,
            name=name,
            limit=limit,
        )
    span = "" if since == "all" else f" since {clock(begin)}"
    print_list(rows, columns(), form, empty=f"nothing that fits has ended{span}")
    if rows and form in ("table", "wide"):
        note(totals(rows))


def _waited(item: "HistoryItem") -> str:
    from ganglion.cli.output.explanation import waits

    return waits(item.spent.waited) if item.spent else ""


def hours(gpu_ms: int) -> str:
    """Return GPU time in hours with two digits: `12.50`; less than that as `<0.01`."""
    return f"{gpu_ms / HOUR_MS:,.2f}" if gpu_ms == 0 or gpu_ms >= HOUR_MS / 100 else "<0.01"


def totals(rows: "Sequence[HistoryItem]") -> str:
    """Return the sums of some rows as one line."""
    counts: dict[str, int] = {}
    for row in rows:
        counts[row.state] = counts.get(row.state, 0) + 1
    known = [row.spent for row in rows if row.spent]
    states = ", ".join(f"{count:,} {state.lower()}" for state, count in sorted(counts.items()))
    unknown = f"; {len(rows) - len(known):,} unknown" if len(known) < len(rows) else ""
    mean = age(sum(each.wait_ms for each in known) // len(known)) if known else "unknown"
    gpu = f"{sum(each.gpu_ms for each in known) / HOUR_MS:,.2f}"
    return f"{plural(len(rows), 'workload')}: {states}; {gpu} GPU-hours, mean wait {mean}{unknown}"
