"""`ganglion usage`."""

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import rich_click as click

from ganglion.cli.connection.connect import complete_queues, connect
from ganglion.cli.options import command, list_output, moment, since_ms
from ganglion.cli.output.formats import DASH, clock, now_ms
from ganglion.cli.output.screen import note
from ganglion.cli.output.tables import Column, print_data, print_list

if TYPE_CHECKING:
    from ganglion.api.use import FlavorUsage, UsagePage, UsageRow

HUNDREDTH_US = 36_000_000
"""A hundredth of a GPU-hour, in GPU-microseconds."""
BY = ("queue", "user", "workload", "flavor", "day")


@command(
    "usage",
    "usage",
    "usage --by queue --by day --since 30d",
    "usage --by user -q research --since 2026-11-01 --until 2026-12-01 -o csv",
)
@click.option(
    "--by",
    multiple=True,
    type=click.Choice(BY),
    default=("queue",),
    show_default=True,
    help="What to sum up by; may be repeated. A day is one of UTC.",
)
@click.option(
    "--since",
    metavar="TIME",
    default="7d",
    show_default=True,
    help="Begin: 24h (ago), 2026-11-01, 2026-11-01T08:00; all = ever.",
)
@click.option("--until", metavar="TIME", help="End: 1h (ago), 2026-12-01; now if left out.")
@click.option(
    "-q",
    "--queue",
    "queues",
    multiple=True,
    metavar="NAME",
    shell_complete=complete_queues,
    help="Only this queue and those below it; may be repeated.",
)
@click.option("-n", "--limit", type=click.IntRange(min=1), help="Most rows to print.")
@list_output
def usage(
    by: tuple[str, ...],
    since: str,
    until: str | None,
    queues: tuple[str, ...],
    limit: int | None,
    form: str,
) -> None:
    """Sum up the GPU-hours that were held.

    HELD counts from the placement of an attempt to its end, also while it starts and while it
    stops; what runs counts until now. TRIES are attempts that were placed in the period. SHARE is
    the part of all that was held. The largest come first, days in their order.

    The lines below the table, on stderr, compare all that was held with the GPUs that there were,
    for those who may see the whole fleet.
    """
    now = now_ms()
    begin, end = since_ms(since, now), moment(until, now, "--until") if until else ""
    by = tuple(dict.fromkeys(by))
    with connect() as client:
        page = client.daily.usage(by=by, since=begin, until=end, queues=queues)
    if form in ("json", "yaml"):
        print_data(page, form)
        return
    rows = sorted(page.items, key=lambda row: (row.day, -row.held_gpu_us))[:limit]
    print_list(rows, columns(by, page.total.held_gpu_us), form, empty="nothing was held")
    if form != "csv":
        sys.stdout.flush()  # where both go to one place, the lines are below the table
        for line in told(page):
            note(line)


def columns(by: Sequence[str], total_gpu_us: int) -> "list[Column[UsageRow]]":
    """Return the columns: what is grouped by, and the sums."""

    def share(row: "UsageRow") -> str:
        return f"{row.held_gpu_us * 100 // total_gpu_us}%" if total_gpu_us else DASH

    return [
        *(Column(name.upper(), _group(name), least=8) for name in by),
        Column("HELD", lambda row: hours(row.held_gpu_us), right=True),
        Column("SHARE", share, right=True),
        Column("REQUESTED", lambda row: hours(row.requested_gpu_us), right=True, wide=True),
        Column("TRIES", lambda row: str(row.attempts), right=True),
    ]


def _group(name: str) -> "Callable[[UsageRow], str]":
    return lambda row: str(getattr(row, name)) or DASH


def hours(gpu_us: int) -> str:
    """Return GPU-microseconds in GPU-hours, cut to two digits: `12.50`."""
    return _hundredths(gpu_us // HUNDREDTH_US)


def _hundredths(value: int) -> str:
    return f"{value // 100}.{value % 100:02}"


def told(page: "UsagePage") -> list[str]:
    """Return what there is to say about all rows together."""
    lines = [f"{each.flavor}: {reconciled(each)}" for each in page.fleet or () if _counts(each)]
    if page.fleet is None:
        lines = [f"held {hours(page.total.held_gpu_us)} GPU-hours"]
    if page.metered_since is None:
        return [*lines, "nothing is metered yet"]
    if page.metered_since > page.since:
        lines.append(f"metered since {clock(page.metered_since)}")
    return lines


def _counts(each: "FlavorUsage") -> bool:
    return bool(each.capacity_gpu_us)


def reconciled(found: "FlavorUsage") -> str:
    """Return the GPUs of a flavor as one sum; idle takes up what cutting the others leaves."""
    held, shut, there = (
        value // HUNDREDTH_US
        for value in (found.held_gpu_us, found.unavailable_gpu_us, found.capacity_gpu_us)
    )
    idle = there - held - shut
    parts = [("held", held), ("idle", idle), ("unavailable", shut)]
    sums = " + ".join(f"{name} {_hundredths(value)}" for name, value in parts)
    return f"{sums} = capacity {_hundredths(there)} GPU-hours"
