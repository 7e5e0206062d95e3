"""`ganglion queues describe`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import rich_click as click

from ganglion.cli.connection.connect import complete_queues, connect
from ganglion.cli.options import command, output
from ganglion.cli.output.formats import age, clock, memory, milli
from ganglion.cli.output.tables import Column, print_data, print_list
from ganglion.model.errors import NotFound
from ganglion.model.queue import CLUSTER_SIGN

if TYPE_CHECKING:
    from ganglion.api.money.usage import UsagePage, UsageRow
    from ganglion.api.queues import BoundView, PastUseView, QueueView, ReclaimPage, ReclaimView

OTHER = "another queue"
BOUNDED = {"gpu_milli": "GPUs", "cpu_milli": "CPUs", "memory_mib": "memory"}


@command("describe", "queues describe research", "queues describe research --since 30d -o json")
@click.argument("name", shell_complete=complete_queues)
@click.option(
    "--since",
    metavar="TIME",
    default="7d",
    show_default=True,
    help="Begin of what was used and reclaimed: 24h (ago), 2026-11-01.",
)
@output("text", "json", "yaml")
def describe_queue(name: str, since: str, form: str) -> None:
    """Describe a queue: what bounds it, what it has used, who reclaimed from whom.

    LIMIT and QUOTA bound it by rules of its own and of queues above it; * marks what leaves least
    now. A quota bounds work that may not be stopped for others. Of a queue of a cluster, as
    east:team, the server knows what it has used and what was reclaimed.
    """
    with connect() as client:
        away = CLUSTER_SIGN in name
        queue = next((each for each in client.queues() if each.name == name and not away), None)
        if queue is None and not away:
            raise NotFound(f"there is no queue {name!r}", "see `ganglion queues`")
        used = client.daily.usage(by=("day",), since=since, queues=(name,))
        taken = client.daily.reclaims(since=since, queues=(name,))
    if form != "text":
        print_data(_data(queue, used, taken), form)
        return
    if queue:
        _print_bounds(queue)
    else:
        click.echo("what bounds a queue of a cluster is in the cluster")
    click.echo("\nWhat it has used")
    for line in past_lines(queue) if queue else ():
        click.echo(line)
    _print_past(used, taken)


def tightest(queue: "QueueView") -> "BoundView | None":
    """Return the limit of GPUs that leaves a queue the least now; None = there is none."""
    limits = (
        each
        for each in queue.bounds
        if each.binds and each.rule == "limit" and each.resource == "gpu_milli"
    )
    return min(limits, key=lambda each: each.most - each.used, default=None)


def _data(queue: "QueueView | None", used: "UsagePage", taken: "ReclaimPage") -> dict[str, Any]:
    return {"queue": queue, "usage": used, "reclaims": taken}


def _print_bounds(queue: "QueueView") -> None:
    click.echo(
        f"{queue.name} uses {milli(queue.gpu_used_milli)} GPUs, deserves"
        f" {milli(queue.deserved_gpu_milli)}, and others may reclaim"
        f" {milli(queue.reclaimable_gpu_milli)}"
    )
    click.echo("\nWhat bounds it")
    print_list(queue.bounds, BOUNDS, "table", empty="nothing but the GPUs that there are")


def _print_past(used: "UsagePage", taken: "ReclaimPage") -> None:
    print_list(sorted(used.items, key=lambda row: row.day), DAYS, "table", empty="nothing was held")
    click.echo("\nWho reclaimed from whom")
    print_list(taken.items, RECLAIMS, "table", empty="no queue took anything back")
    if taken.known_since is not None:
        click.echo(f"what was before {clock(taken.known_since)} is not known")
    if taken.left_out:
        click.echo("there are more stops than are read: the oldest are left out")


def past_lines(queue: "QueueView") -> Iterator[str]:
    """Yield what the past of a queue does to it."""
    past = queue.past
    if past is None:
        yield "the policy does not remember use"
        return
    yield (
        f"use counts for half after {age(past.half_life_ms)}: what it has used counts like"
        f" {milli(past.gpu_milli)} GPUs held all the time"
    )
    if past.used_permille is not None and past.weight_permille is not None:
        yield (
            f"that is {past.used_permille / 10:g}% of what it and the queues beside it have used;"
            f" its weight is {past.weight_permille / 10:g}% of theirs"
        )
    yield (
        f"it deserves {milli(queue.deserved_gpu_milli)} GPUs now, and"
        f" {milli(past.deserved_without_gpu_milli)} if no queue had used anything"
    )
    yield from _places(past)


def _places(past: "PastUseView") -> Iterator[str]:
    if past.place == 0:
        yield "the order of work does not look at what queues have used"
    elif past.place is not None:
        yield (
            f"in the order it is number {past.place} of {past.beside} beside it, and number"
            f" {past.place_without} without its past"
        )


def _about(bound: "BoundView") -> str:
    what = BOUNDED.get(bound.resource, bound.resource)
    return what if bound.flavor == "*" else f"{bound.flavor} {what}"


def _amount(bound: "BoundView", value: int) -> str:
    return memory(value) if bound.resource == "memory_mib" else milli(value)


def _gave(row: "ReclaimView") -> str:
    if row.unknown == row.count:
        return "unknown"
    return f"{'>= ' if row.unknown else ''}{milli(row.gpu_milli)}"


def _last(row: "ReclaimView") -> str:
    last = row.last[0]
    names = (last.workload or "another workload", last.for_workload or "another workload")
    return " for ".join(names)


def _hours(row: "UsageRow") -> str:
    return f"{row.held_gpu_us / 3_600_000_000:.2f}"


BOUNDS: "list[Column[BoundView]]" = [
    Column("RULE", lambda b: b.rule.upper()),
    Column("OF QUEUE", lambda b: b.queue),
    Column("WHAT", _about),
    Column("USED", lambda b: _amount(b, b.used), right=True),
    Column("MOST", lambda b: _amount(b, b.most), right=True),
    Column("BINDS", lambda b: "*" if b.binds else ""),
]
DAYS: "list[Column[UsageRow]]" = [
    Column("DAY", lambda row: row.day),
    Column("GPU-HOURS", _hours, right=True),
]
RECLAIMS: "list[Column[ReclaimView]]" = [
    Column("TAKEN BY", lambda row: row.taker or OTHER),
    Column("FROM", lambda row: row.giver or OTHER),
    Column("GPUS", _gave, right=True),
    Column("TIMES", lambda row: str(row.count), right=True),
    Column("LAST", lambda row: clock(row.last_at)),
    Column("LAST WORKLOAD", _last),
    Column("WHY", lambda row: row.why, least=20),
]
