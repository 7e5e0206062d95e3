"""`ganglion bench`."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from ganglion.cli.options import command, output
from ganglion.cli.screen import err, is_tty, note, out
from ganglion.cli.tables import Column, print_data, print_table, table_of

if TYPE_CHECKING:
    from ganglion.bench.registry import Bench, Progress, Report, Table

PATIENCE_S = 1.0
"""Work that takes longer than this shows how far it is."""


@command(
    "bench",
    "bench",
    "bench jct-muri --traces traces/philly_muri --workload 1",
    "bench pack-openb --traces traces/openb --json result.json",
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
    "--policy", "policies", multiple=True, metavar="P", help="Only this one; may be repeated."
)
@click.option(
    "--json",
    "target",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File for all figures.",
)
@output("table", "json")
def bench(
    name: str | None,
    traces: Path | None,
    workload: str | None,
    seeds: int,
    policies: tuple[str, ...],
    target: Path | None,
    form: str,
) -> None:
    """Measure against published results.

    Without NAME, list the benchmarks. Those of schedulers replay public traces, which are not
    part of Ganglion: give their folder with --traces.
    """
    from ganglion.bench.registry import BenchOptions, load

    if name is None:
        _list(form)
        return
    chosen = load(name)
    _check_target(target)
    with _bar() as progress:
        report = chosen.run(BenchOptions(traces, workload, seeds, policies), progress)
    if target:
        _write(target, report)
    if form == "json":
        print_data(report.data, form)
    else:
        _show(report)


def _list(form: str) -> None:
    from ganglion.bench.registry import BENCHES, load

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


def _check_target(target: Path | None) -> None:
    """Fail before minutes of work rather than after them."""
    from ganglion.model.errors import EnvironmentFault

    if target and not target.absolute().parent.is_dir():
        raise EnvironmentFault(f"cannot write {target}: no folder {target.parent}")


def _write(target: Path, report: "Report") -> None:
    import msgspec

    from ganglion.model.errors import EnvironmentFault

    text = msgspec.json.format(msgspec.json.encode(report.data), indent=2)
    try:
        target.write_bytes(text + b"\n")
    except OSError as error:
        raise EnvironmentFault(f"cannot write {target}: {error.strerror}") from error
    note(f"figures written to {target}")


@contextmanager
def _bar() -> Iterator["Progress"]:
    """A progress bar on stderr, once the work has lasted; nothing through a pipe."""
    from ganglion.bench.registry import silent

    if not is_tty(stderr=True):
        yield silent
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), "{task.percentage:>3.0f}%")
    bar = Progress(*columns, TimeElapsedColumn(), console=err(), transient=True)
    task = bar.add_task("", total=None)
    began = time.monotonic()

    def show(done: int, total: int, label: str) -> None:
        if not bar.live.is_started:
            if time.monotonic() - began < PATIENCE_S:
                return
            bar.start()
        bar.update(task, completed=done, total=total, description=label)

    try:
        yield show
    finally:
        bar.stop()
