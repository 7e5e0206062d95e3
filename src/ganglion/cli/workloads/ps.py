"""`ganglion ps`."""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Unpack

import rich_click as click

from ganglion.cli.connection.connect import complete_jobs, connect
from ganglion.cli.connection.contexts import ChosenCluster, context_options
from ganglion.cli.filters import filter_options, with_names
from ganglion.cli.options import command, list_output, watch
from ganglion.cli.output.formats import DASH, age, clock, now_ms
from ganglion.cli.output.tables import Column, print_pages, table_of
from ganglion.cli.output.watching import on_screen, watch_screen
from ganglion.client.calls.paging import paged
from ganglion.client.states import style

if TYPE_CHECKING:
    from ganglion.api.workloads import WorkloadBase, WorkloadView
    from ganglion.cli.output.tables import TextTable
    from ganglion.client.filters import Filters
    from ganglion.client.workload_client import WorkloadClient


def columns(now_ms: int, currency: str = "") -> "list[Column[WorkloadBase]]":
    """Return the columns of a list of workloads.

    Args:
        now_ms: ages are as of then.
        currency: of what they cost; empty = no price is set.
    """
    money = [Column(f"COST {currency}", _cost, right=True)] if currency else []
    return [
        Column("ID", lambda w: w.id, key=True),
        Column("KIND", lambda w: w.kind),
        Column("QUEUE", lambda w: w.queue),
        Column("USER", lambda w: w.user or DASH, wide=True),
        Column("PRIORITY", lambda w: str(w.priority), right=True, wide=True),
        Column("GPUS", gpus, right=True),
        Column("PODS", lambda w: str(w.pods), right=True, wide=True),
        Column("STATE", _state, style=lambda w: style(w.state), stays=True),
        Column("REASON", _reason, least=10, stays=True),
        Column("POS", lambda w: str(w.position) if w.position else DASH, right=True),
        Column("AGE", lambda w: age(now_ms - (w.submitted or now_ms)), right=True),
        *money,
        Column("GANGS", lambda w: progress(w) or DASH, least=12),
        Column("STARTED", lambda w: clock(w.started), wide=True),
        Column("ENDED", lambda w: clock(w.ended), wide=True),
        Column("EXIT", lambda w: DASH if w.exit_code is None else str(w.exit_code), wide=True),
        Column("PREEMPTED", lambda w: str(w.preemptions or DASH), right=True, wide=True),
        Column("MESSAGE", lambda w: w.message or DASH, wide=True, least=12),
    ]


def _state(view: "WorkloadBase") -> str:
    """Return its state; of a cluster whose scheduler is silent, the one that it had."""
    return f"was {view.state}" if view.silent_since else view.state


def currency_of(views: "Sequence[WorkloadBase]") -> str:
    """Return the currency of what workloads cost; empty = no price is set."""
    return next((each.cost.currency for each in views if each.cost), "")


def _cost(view: "WorkloadBase") -> str:
    """Return what it costs so far and at most: `1.20/20.00`; `?` = the most is unknown."""
    from ganglion.specs.grammar.money import cut_money, raised_money

    found = view.cost
    if found is None:
        return DASH
    most = "?" if found.most_micro is None else raised_money(found.most_micro)
    so_far = cut_money(found.so_far_micro)
    return so_far if view.over else f"{so_far}/{most}"


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
    """Return why it waits; one that has been promised a place waits for those that leave it.

    What needs a person goes before that.
    """
    if view.alarms:
        return f"! {min(view.alarms)}"
    if not view.waits_for:
        return view.reason or DASH
    more = len(view.waits_for) - 1
    return f"after {view.waits_for[0]}" + (f" +{more}" if more else "")


@command(
    "ps", "ps --watch", "ps --all -n 20", "ps 'train-*' --state queued", "ps -q research -o wide"
)
@click.argument("names", nargs=-1, metavar="[NAME]...", shell_complete=complete_jobs)
@click.option("-a", "--all", "ended", is_flag=True, help="Include ended workloads.")
@filter_options()
@click.option("-n", "--limit", type=click.IntRange(min=1), help="Most rows to print.")
@context_options
@watch
@list_output
def ps(
    names: tuple[str, ...],
    ended: bool,
    filters: "Filters",
    limit: int | None,
    watch: bool,
    form: str,
    where: ChosenCluster | None,
) -> None:
    """List your workloads.

    Only those that have not ended, unless --all or such a --state is given. `ganglion queue`
    shows those of all users. In a cluster: those of the namespace.

    NAME is an id or a name, in which *, ? and [a-z] match as in file names.
    """
    filters = with_names(filters, names)
    with connect(where=where) as client:
        if watch:
            most = limit or on_screen()

            def looked() -> "TextTable[WorkloadBase]":
                rows: Sequence[WorkloadBase] = fetch(client, ended=ended, limit=most, **filters)
                return table_of(shown(form, rows), rows)

            watch_screen(looked)
            return
        narrow = ended or bool(filters)
        empty = "no workloads" if narrow else "nothing runs or waits; --all shows what ended"
        found = pages(client, ended=ended, limit=limit, **filters)
        first = next(found, ())
        money = currency_of(first)
        print_pages(chain([first], found), columns(now_ms(), money), form, empty=empty)


def pages(
    client: "WorkloadClient",
    *,
    ended: bool = False,
    limit: int | None = None,
    **filters: "Unpack[Filters]",
) -> "Iterator[Sequence[WorkloadView]]":
    """Return pages of workloads, `limit` workloads in all; all of them without a limit."""
    return paged(
        lambda most, after: client.workloads(ended=ended, limit=most, after=after, **filters),
        limit,
    )


def fetch(
    client: "WorkloadClient",
    *,
    ended: bool = False,
    limit: int | None = None,
    **filters: "Unpack[Filters]",
) -> "list[WorkloadView]":
    """Return the workloads of all pages."""
    return [each for page in pages(client, ended=ended, limit=limit, **filters) for each in page]


def shown(form: str, views: "Sequence[WorkloadBase]" = ()) -> "list[Column[WorkloadBase]]":
    """Return the columns of a form, as of now, for some workloads."""
    return [c for c in columns(now_ms(), currency_of(views)) if form == "wide" or not c.wide]
