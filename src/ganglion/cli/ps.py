"""`ganglion ps`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import rich_click as click

from ganglion.cli.connect import complete_queues, connect
from ganglion.cli.contexts import Where, context_options
from ganglion.cli.formats import DASH, age, clock, now_ms
from ganglion.cli.options import command, list_output, watch
from ganglion.cli.tables import Column, print_list, table_of
from ganglion.cli.watching import watch_screen
from ganglion.client.states import style

if TYPE_CHECKING:
    from ganglion.client import Client
    from ganglion.client.views import WorkloadBase, WorkloadView


MOST_ROWS = 1000
"""Most rows that one request may ask for."""


def columns(now_ms: int) -> "list[Column[WorkloadBase]]":
    """Return the columns of a list of workloads, with ages as of `now_ms`."""
    return [
        Column("ID", lambda w: w.id, least=14),
        Column("KIND", lambda w: w.kind),
        Column("QUEUE", lambda w: w.queue),
        Column("USER", lambda w: w.user or DASH, wide=True),
        Column("PRIORITY", lambda w: str(w.priority), right=True, wide=True),
        Column("GPUS", gpus, right=True),
        Column("PODS", lambda w: str(w.pods), right=True, wide=True),
        Column("STATE", lambda w: w.state, style=lambda w: style(w.state)),
        Column("REASON", _reason, least=10),
        Column("POS", lambda w: str(w.position) if w.position else DASH, right=True),
        Column("AGE", lambda w: age(now_ms - (w.submitted or now_ms)), right=True),
        Column("GANGS", lambda w: progress(w) or DASH, least=5),
        Column("STARTED", lambda w: clock(w.started), wide=True),
        Column("ENDED", lambda w: clock(w.ended), wide=True),
        Column("EXIT", lambda w: DASH if w.exit_code is None else str(w.exit_code), wide=True),
        Column("PREEMPTED", lambda w: str(w.preemptions or DASH), right=True, wide=True),
        Column("MESSAGE", lambda w: w.message or DASH, wide=True, least=12),
    ]


def gpus(view: "WorkloadBase") -> str:
    """Return the GPUs that a workload holds, and those it asked for where they differ: `8/16`.

    What holds none shows what it asks for.
    """
    asked = f"{view.gpus:g}"
    held = f"{view.gpus_held:g}" if view.gpus_held else asked
    return asked if held == asked else f"{held}/{asked}"


def progress(view: "WorkloadBase") -> str:
    """Return how many gangs of a workload are how far; empty where it has only one."""
    counts = {
        "run": view.running,
        "wait": view.waiting,
        "on standby": view.standby,
        "done": view.succeeded,
        "stopped early": view.stopped_early,
        "failed": view.failed,
        "cancelled": view.cancelled,
    }
    if sum(counts.values()) < 2 and not view.stopped_early:
        return ""
    return ", ".join(f"{count:,} {what}" for what, count in counts.items() if count)


def _reason(view: "WorkloadBase") -> str:
    """Return why it waits; one that has been promised a place waits for those who leave it.

    What needs a person goes before that.
    """
    if view.alarms:
        return f"! {min(view.alarms)}"
    if not view.waits_for:
        return view.reason or DASH
    more = len(view.waits_for) - 1
    return f"after {view.waits_for[0]}" + (f" +{more}" if more else "")


@command("ps", "ps --watch", "ps --all -n 20", "ps -q research -o wide")
@click.option("-a", "--all", "ended", is_flag=True, help="Also those that have ended.")
@click.option("-u", "--user", metavar="NAME", help="Those of this user.")
@click.option(
    "-q", "--queue", metavar="NAME", shell_complete=complete_queues, help="Those of this queue."
)
@click.option("--kind", metavar="KIND", help="Those of this kind, as train or service.")
@click.option("-n", "--limit", type=click.IntRange(min=1), help="At most so many rows.")
@context_options
@watch
@list_output
def ps(
    ended: bool,
    user: str | None,
    queue: str | None,
    kind: str | None,
    limit: int | None,
    watch: bool,
    form: str,
    where: Where | None,
) -> None:
    """List your workloads.

    Only those that have not ended, unless --all is given. `ganglion queue` shows everyone's.
    In a cluster: those of the namespace.
    """
    with connect(where=where) as client:

        def rows() -> "Sequence[WorkloadView]":
            return fetch(client, ended=ended, user=user, queue=queue, kind=kind, limit=limit)

        if watch:
            watch_screen(lambda: table_of(shown(form), rows()))
        else:
            empty = "no workloads" if ended else "nothing runs or waits; --all shows what ended"
            print_list(rows(), columns(now_ms()), form, empty=empty)


def fetch(
    client: "Client",
    *,
    ended: bool = False,
    user: str | None = None,
    queue: str | None = None,
    kind: str | None = None,
    limit: int | None = None,
) -> "list[WorkloadView]":
    """Return up to `limit` workloads, all of them without a limit, page by page."""
    found: list[WorkloadView] = []
    after: str | None = None
    while limit is None or len(found) < limit:
        left = MOST_ROWS if limit is None else min(limit - len(found), MOST_ROWS)
        page = client.workloads(
            ended=ended, user=user, queue=queue, kind=kind, limit=left, after=after
        )
        found += page.items
        after = page.next
        if not after:
            break
    return found


def shown(form: str) -> "list[Column[WorkloadBase]]":
    """Return the columns of a form, as of now."""
    return [c for c in columns(now_ms()) if form == "wide" or not c.wide]
