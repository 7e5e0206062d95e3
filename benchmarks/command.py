"""`python -m benchmarks`."""

from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from ganglion.cli.options import command, output
from ganglion.cli.output.screen import bar, out
from ganglion.cli.output.tables import Column, print_data, print_table, table_of
from ganglion.cli.simulation.figures import check_target, write_figures

if TYPE_CHECKING:
    from benchmarks.registry import Bench, Report, Table

PROGRAM = "python -m benchmarks"


def _days(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[int, int] | None:
    """First and last day of `8..15`, or of one day: `8`."""
    if value is None:
        return None
    first, _, last = value.partition("..")
    try:
        days = int(first), int(last or first)
    except ValueError as error:
        raise click.BadParameter(f"{value!r} is not FIRST..LAST", ctx, param) from error
    if not 0 <= days[0] <= days[1]:
        raise click.BadParameter(f"{value!r} has no days", ctx, param)
    return days


@command(
    "benchmarks",
    "jct-muri --traces traces/philly_muri --workload 1",
    "pack-openb --traces traces/openb --json result.json",
    program=PROGRAM,
)
@click.argument("name", required=False)
@click.option("--traces", type=click.Path(path_type=Path), help="Folder of one source of traces.")
@click.option(
    "--workload", metavar="W", help="Which one: what tells its file apart, or a value of `vc`."
)
@click.option(
    "--seeds",
    type=click.IntRange(min=1),
    default=3,
    show_default=True,
    metavar="N",
    help="Repetitions where chance plays a part.",
)
@click.option(
    "--policy",
    "--against",
    "policies",
    multiple=True,
    metavar="P",
    help="Only this one; may be repeated.",
)
@click.option("--nodes", type=click.IntRange(min=1), metavar="N", help="How many nodes.")
@click.option("--pods", type=click.IntRange(min=1), metavar="N", help="How many pods.")
@click.option("--gangs", type=click.IntRange(min=1), metavar="N", help="How many gangs.")
@click.option(
    "--days", callback=_days, metavar="FIRST..LAST", help="Only these days of a trace, from 0."
)
@click.option(
    "--json",
    "target",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File for all figures.",
)
@output("table", "json")
def benchmarks(
    name: str | None,
    traces: Path | None,
    workload: str | None,
    seeds: int,
    policies: tuple[str, ...],
    nodes: int | None,
    pods: int | None,
    gangs: int | None,
    days: tuple[int, int] | None,
    target: Path | None,
    form: str,
) -> None:
    """Measure against published results.

    Without NAME, list the benchmarks. Those of schedulers replay public traces, which are not
    part of Ganglion: give their folder with --traces.
    """
    from benchmarks.registry import BenchOptions, check_size, load

    if name is None:
        _list(form)
        return
    chosen = load(name)
    options = BenchOptions(traces, workload, seeds, policies, nodes, pods, gangs, days)
    check_size(chosen, options)
    check_target(target)
    with bar() as progress:
        report = chosen.run(options, progress)
    if target:
        write_figures(target, report.data)
    if form == "json":
        print_data(report.data, form)
    else:
        _show(report)


def _list(form: str) -> None:
    from benchmarks.registry import BENCHES, load

    benches = [load(name) for name in BENCHES]
    if form == "json":
        known = [{"name": b.name, "help": b.help, "policies": list(b.policies)} for b in benches]
        print_data(known, form)
        return
    columns: list[Column[Bench]] = [
        Column("BENCH", lambda b: b.name),
        Column("MEASURES", lambda b: b.help),
        Column("POLICIES", lambda b: " ".join(b.policies), least=20),
    ]
    print_table(table_of(columns, benches))


def _show(report: "Report") -> None:
    for table in report.tables:
        out().print(table.title, style="bold")
        print_table(table_of(_columns(table), table.rows))
        out().print()
    for text in report.notes:
        out().print(text, soft_wrap=True)


def _columns(table: "Table") -> list[Column[tuple[str, ...]]]:
    return [
        Column(heading.upper(), itemgetter(at), right=at > 0)
        for at, heading in enumerate(table.columns)
    ]
