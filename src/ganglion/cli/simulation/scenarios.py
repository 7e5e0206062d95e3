"""`ganglion scenarios`."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import rich_click as click
from click.exceptions import Exit

from ganglion.cli.options import command, list_output, output, settings
from ganglion.cli.output.formats import DASH
from ganglion.cli.output.screen import bar, out
from ganglion.cli.output.tables import Column, print_data, print_list, print_table, table_of
from ganglion.cli.simulation.figures import check_target, write_figures

if TYPE_CHECKING:
    from ganglion.scenarios.model import Format, Result, Scenario

FILE = click.Path(path_type=Path, dir_okay=False)
STYLES = {"pass": "green", "deviation": "yellow", "fail": "bold red"}


class Book(NamedTuple):
    """What a group of commands runs.

    Attributes:
        formats: how scenarios may be written.
        deviations: why an outcome differs on purpose, by id of the scenario.
    """

    formats: "Sequence[Format]"
    deviations: Mapping[str, str] = {}


def _own() -> Book:
    from ganglion.scenarios.own import FORMAT

    return Book((FORMAT,))


def commands(book: Callable[[], Book], file: str, **program: str) -> tuple[click.Command, ...]:
    """Return `run` and `list` of a group.

    Args:
        book: gives what they run, when they run.
        file: words of the examples before their options.
        program: what examples begin with, where that is not `ganglion`.
    """

    @command("run", f"{file % 'run'} --policy kai --json out.json", **program)
    @click.argument("file", type=FILE)
    @click.option(
        "--policy",
        default="default",
        show_default=True,
        metavar="NAME|FILE",
        help="A preset, or the policy of a file.",
    )
    @click.option("--only", multiple=True, metavar="ID", help="Only this one; may be repeated.")
    @click.option("--json", "target", type=FILE, help="File for all results.")
    @output("table", "json")
    def run(file: Path, policy: str, only: tuple[str, ...], target: Path | None, form: str) -> None:
        """Run the scenarios of a file.

        Exits with 1 when an outcome is neither the one that is expected nor a listed deviation.
        """
        _run(book(), file, policy, only, target, form)

    @command("list", file % "list", **program)
    @click.argument("file", type=FILE)
    @list_output
    def list_scenarios(file: Path, form: str) -> None:
        """List the scenarios of a file."""
        _list(book(), file, form)

    return run, list_scenarios


@click.group("scenarios", cls=click.RichGroup, context_settings=settings())
def scenarios() -> None:
    """Test a policy by scenarios.

    A scenario is a small cluster, what runs on it, what is submitted, and what a policy should
    make of it. They run on the engine that schedules real machines.
    """


def _run(
    book: Book, file: Path, policy: str, only: tuple[str, ...], target: Path | None, form: str
) -> None:
    from ganglion.scenarios.runner import chosen, failed, report, run_all
    from ganglion.scenarios.source import load_scenarios
    from ganglion.specs.policy.policy import resolve_policy

    check_target(target)
    wanted = chosen(load_scenarios(file, book.formats), only)
    with bar() as progress:
        results = run_all(wanted, resolve_policy(policy), book.deviations, progress)
    if target:
        write_figures(target, report(results))
    if form == "json":
        print_data(report(results), form)
    else:
        _show(results)
    if failed(results):
        raise Exit(1)


def _list(book: Book, file: Path, form: str) -> None:
    from ganglion.scenarios.source import load_scenarios

    columns: list[Column[Scenario]] = [
        Column("ID", lambda s: s.id),
        Column("KIND", lambda s: s.form.name),
        Column("TIER", lambda s: s.tier),
        Column("ABOUT", lambda s: s.about or DASH, least=20),
    ]
    rows = load_scenarios(file, book.formats)
    if form in ("json", "yaml"):
        plain = [{"id": s.id, "kind": s.form.name, "tier": s.tier, "about": s.about} for s in rows]
        print_data(plain, form)
        return
    print_list(rows, columns, form)


def _show(results: "Sequence[Result]") -> None:
    from ganglion.scenarios.runner import counts, sums

    columns: list[Column[Result]] = [
        Column("SCENARIO", lambda r: r.id),
        Column("TIER", lambda r: r.tier),
        Column("VERDICT", lambda r: r.verdict, style=lambda r: STYLES[r.verdict]),
        Column("DIFFERENCE", lambda r: r.difference or DASH, least=30),
    ]
    print_table(table_of(columns, results))
    out().print()
    tallies: list[Column[tuple[str, dict[str, int]]]] = [
        Column("TIER", lambda t: t[0]),
        Column("PASS", lambda t: str(t[1]["pass"]), right=True),
        Column("DEVIATION", lambda t: str(t[1]["deviation"]), right=True),
        Column("FAIL", lambda t: str(t[1]["fail"]), right=True),
    ]
    print_table(table_of(tallies, list(counts(results).items())))
    for name, value in sums(results).items():
        out().print(f"{name}: {value}")


for each in commands(_own, "scenarios %s team.yaml"):
    scenarios.add_command(each)
