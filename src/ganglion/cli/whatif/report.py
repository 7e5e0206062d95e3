"""The answer to a question about the past, for people."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import click

from ganglion.cli.output.formats import DASH, age, clock, gpu_time, plural
from ganglion.cli.output.tables import Column, print_list

if TYPE_CHECKING:
    from ganglion.api.whatif.report import (
        WhatIf,
        WhatIfFigure,
        WhatIfMover,
        WhatIfReport,
        WhatIfStart,
    )

NONE = "none we can see"

Printer = Callable[[int], str]


class FigureLine(NamedTuple):
    """One figure of one group, as text."""

    group: str
    jobs: str
    figure: str
    past: str
    replay: str
    changed: str
    bar: str
    difference: str


def print_report(found: "WhatIf", *, wide: bool) -> None:
    """Print an answer.

    Args:
        found: the question with its answer.
        wide: print every figure of every group, not only those that differ.
    """
    report = found.report
    assert report is not None
    period = f"{clock(report.since)} to {clock(report.until)}"
    click.echo(f"{period}, {plural(report.jobs, 'job')}")
    click.echo("\n".join(f"  {each}" for each in report.changes) or "  nothing changed")
    print_list(list(_lines(report, wide=wide)), COLUMNS, "table")
    for name, movers in (("waits less", report.winners), ("waits longer", report.losers)):
        if movers:
            click.echo("")
            print_list(movers, _mover_columns(name), "table")
    others = report.others_shorter, report.others_longer
    if any(others):
        less, more = others
        click.echo(f"Of others, {plural(less, 'workload')} would wait less and {more} longer.")
    if report.changes and not report.winners and not report.losers and not any(others):
        click.echo("No workload waits longer or shorter by more than the error.")
    for each in report.starts:
        click.echo(f"{each.name}, submitted at {clock(each.submitted)}, {_start(each)}")
    for line in report.assumptions:
        click.echo(line)


def _start(job: "WhatIfStart") -> str:
    if job.started is not None:
        waited = age(job.started - job.submitted)
        return f"would have started at {clock(job.started)}, after {waited}"
    if job.starting is not None:
        return f"would be starting since {clock(job.starting)}"
    return f"would still wait: {job.message or 'the reason is unknown'}"


def _lines(report: "WhatIfReport", *, wide: bool) -> Iterator[FigureLine]:
    printers = _printers(report.currency)
    whole = any(each.by == "all" for each in report.groups)
    for group in report.groups:
        name = "others" if group.by == "others" else group.name and f"{group.by} {group.name}"
        for key, figure in group.figures.items():
            if whole and group.name and not wide and not figure.visible:
                continue
            label, printer = printers[key]
            yield FigureLine(
                name or "all jobs",
                str(group.jobs),
                label,
                printer(figure.past),
                printer(figure.replay),
                printer(figure.changed),
                printer(figure.bar),
                _difference(figure, printer),
            )


def _difference(figure: "WhatIfFigure", printer: Printer) -> str:
    change = figure.changed - figure.replay
    if not figure.visible:
        return NONE
    return f"{'+' if change > 0 else '-'}{printer(abs(change))}"


def _printers(currency: str) -> dict[str, tuple[str, Printer]]:
    from ganglion.specs.grammar.money import cut_money

    return {
        "wait_p50_ms": ("wait p50", age),
        "wait_p95_ms": ("wait p95", age),
        "lost_gpu_ms": ("work lost", gpu_time),
        "held_gpu_ms": ("held", gpu_time),
        "fairness_permille": ("fairness", lambda value: f"{value / 1000:.3f}"),
        "spend_micro": (f"spend {currency}", cut_money),
    }


COLUMNS: "list[Column[FigureLine]]" = [
    Column("GROUP", lambda line: line.group, key=True),
    Column("JOBS", lambda line: line.jobs, right=True),
    Column("FIGURE", lambda line: line.figure),
    Column("PAST", lambda line: line.past, right=True),
    Column("REPLAY", lambda line: line.replay, right=True),
    Column("CHANGED", lambda line: line.changed, right=True),
    Column("ERROR", lambda line: line.bar, right=True),
    Column("DIFFERENCE", lambda line: line.difference),
]


def _mover_columns(name: str) -> "Sequence[Column[WhatIfMover]]":
    return [
        Column(name.upper(), lambda each: each.name, key=True),
        Column("ID", lambda each: each.workload),
        Column("QUEUE", lambda each: each.queue),
        Column("USER", lambda each: each.user or DASH),
        Column("REPLAY", lambda each: age(each.replay_ms), right=True),
        Column("CHANGED", lambda each: age(each.changed_ms), right=True),
        Column("ERROR", lambda each: age(each.bar_ms), right=True),
    ]
