"""`ganglion report`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import rich_click as click

from ganglion.cli.connection.connect import connect
from ganglion.cli.options import command, moment, output, since_ms
from ganglion.cli.output.formats import DASH, age, now_ms
from ganglion.cli.output.tables import Column, print_data, print_list
from ganglion.cli.queues.usage import (
    activity_told,
    hours,
    known_hours,
    kwh,
    lost_told,
    metered_told,
    of_period,
)

if TYPE_CHECKING:
    from ganglion.api.use import OverheadRow, Report, ReportSpan, UtilisationRow, WaitRow

ALL = "(all)"
UNKNOWN = "unknown"
STEPS = {
    "decision": "decide",
    "running": "decision to running",
    "ready": "decision to ready",
}


@command("report", "report", "report --since 30d", "report -q research --since 2026-11-01 -o json")
@of_period
@output("text", "wide", "json", "yaml")
def report(since: str, until: str | None, queues: Sequence[str], form: str) -> None:
    """Report GPU utilisation, waiting times and scheduling overhead.

    Of the fleet and by queue, with history by day, by week in more than 62 days. What is not
    measured is unknown.

    ALLOCATED are GPU-hours that were held, USED the part of all that there were. ACTIVE is what
    GPUs did in the period, as far as it was sampled, as in `usage`. LOST are GPU-hours held whose
    work was thrown away by preemptions, nodes and failures, USEFUL those of ACTIVE that were not.
    ACTIVE NOW is the part of the GPUs held at this moment that compute. A wait is the time from
    the submission of a workload to its first place; P50 and P95 are at most a quarter too large.
    `-o wide` adds energy.
    """
    now = now_ms()
    begin, end = since_ms(since, now), moment(until, now, "--until") if until else ""
    with connect() as client:
        found = client.daily.report(since=begin, until=end, queues=queues)
    if form in ("json", "yaml"):
        print_data(found, form)
        return
    for title, show in (
        ("GPU utilisation", _print_utilisation),
        ("Waiting time", _print_waits),
        ("Scheduling overhead", _print_overhead),
        ("History", _print_history),
    ):
        if title != "Scheduling overhead" or found.overhead:
            click.echo(f"{'' if title == 'GPU utilisation' else chr(10)}{title}")
            show(found, form)
    known = metered_told(found) + lost_told(found)
    for line in ["", *known] if known else ():
        click.echo(line)


def _print_utilisation(found: "Report", form: str) -> None:
    every = next((each for each in found.utilisation if not each.queue), None)
    columns: list[Column[UtilisationRow]] = [
        Column("QUEUE", lambda row: row.queue or ALL),
        Column("ALLOCATED", lambda row: hours(row.allocated_gpu_us), right=True),
        Column("USED", _used, right=True),
        *(_ACTIVITY if every and (every.sampled_gpu_us or every.energy_gpu_us) else ()),
        Column("LOST", lambda row: known_hours(row.lost_gpu_us), right=True),
        Column("HELD NOW", lambda row: f"{row.held_milli / 1000:g}", right=True),
        Column("ACTIVE NOW", _active, right=True),
    ]
    print_list(found.utilisation, columns, form, empty="nothing was held")
    for line in activity_told(every, every.allocated_gpu_us) if every else ():
        click.echo(line)


def _drawn(row: "UtilisationRow") -> str:
    return UNKNOWN if row.energy_mj is None else kwh(row.energy_mj)


_ACTIVITY: "tuple[Column[UtilisationRow], ...]" = (
    Column("KWH", _drawn, right=True, wide=True),
    Column("ACTIVE", lambda row: known_hours(row.active_gpu_us), right=True),
    Column("USEFUL", lambda row: known_hours(row.useful_gpu_us), right=True),
)


def _used(row: "UtilisationRow | ReportSpan") -> str:
    there = row.capacity_gpu_us
    return f"{row.allocated_gpu_us * 100 // there}%" if there else DASH


def _active(row: "UtilisationRow") -> str:
    if not row.held_milli:
        return DASH
    return UNKNOWN if row.active_milli is None else f"{row.active_milli * 100 // row.held_milli}%"


def _print_waits(found: "Report", _form: str) -> None:
    columns: list[Column[WaitRow]] = [
        Column("QUEUE", lambda row: row.queue or ALL),
        Column("GPUS", lambda row: row.size or ALL),
        Column("STARTED", lambda row: str(row.started), right=True),
        Column("P50", lambda row: _lasting(row.p50_ms), right=True),
        Column("P95", lambda row: _lasting(row.p95_ms), right=True),
        Column("WAITING", lambda row: str(row.waiting), right=True),
        Column("LONGEST", lambda row: _lasting(row.longest_ms), right=True),
    ]
    print_list(found.waits, columns, "table", empty="nothing was started")


def _print_overhead(found: "Report", _form: str) -> None:
    columns: list[Column[OverheadRow]] = [
        Column("STEP", lambda row: STEPS.get(row.step, row.step)),
        Column("COUNT", lambda row: str(row.count), right=True),
        Column("P50", lambda row: _within(row.count, row.p50_ms), right=True),
        Column("P95", lambda row: _within(row.count, row.p95_ms), right=True),
    ]
    print_list(found.overhead, columns, "table", empty="nothing was measured")
    spent = UNKNOWN if found.cpu_ms is None else f"{found.cpu_ms / 1000:.1f} s"
    click.echo(f"CPU time since the server started: {spent}")


def _print_history(found: "Report", _form: str) -> None:
    columns: list[Column[ReportSpan]] = [
        Column("BEGIN", lambda row: row.begin),
        Column("ALLOCATED", lambda row: hours(row.allocated_gpu_us), right=True),
        Column("USED", _used, right=True),
        Column("USEFUL", lambda row: known_hours(row.useful_gpu_us), right=True),
        Column("LOST", lambda row: known_hours(row.lost_gpu_us), right=True),
        Column("STARTED", lambda row: str(row.started), right=True),
        Column("P50", lambda row: _lasting(row.p50_ms), right=True),
        Column("P95", lambda row: _lasting(row.p95_ms), right=True),
    ]
    print_list(found.spans, columns, "table", empty="nothing is metered yet")


def _lasting(ms: int | None) -> str:
    return DASH if ms is None else age(ms)


def _within(count: int, ms: float | None) -> str:
    if ms is None:
        return "longer" if count else DASH
    return f"{ms:g} ms" if ms < 1000 else f"{ms / 1000:g} s"
