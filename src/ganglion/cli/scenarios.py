"""`ganglion scenarios`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click
from click.exceptions import Exit

from ganglion.cli.figures import bar, check_target, write_figures
from ganglion.cli.formats import DASH
from ganglion.cli.options import command, list_output, output, settings
from ganglion.cli.screen import out
from ganglion.cli.tables import Column, print_data, print_list, print_table, table_of

if TYPE_CHECKING:
    from ganglion.scenarios.model import Result, Scenario

FILE = click.Path(path_type=Path, dir_okay=False)
STYLES = {"pass": "green", "deviation": "yellow", "fail": "bold red"}


@click.group("scenarios", cls=click.RichGroup, context_settings=settings())
def scenarios() -> None:
    """Run scheduling scenarios with expected outcomes.

    A scenario is a small cluster with queues and jobs, and what a scheduler should make of
    it. They run on the engine that schedules real machines.
    """


@command(
    "run",
    "scenarios run kai.yaml --policy kai",
    "scenarios run kai.yaml --policy kai --only gang-preempts --json out.json",
)
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
    from ganglion.scenarios.deviations import load_deviations
    from ganglion.scenarios.runner import chosen, failed, report, run_all
    from ganglion.scenarios.source import load_scenarios
    from ganglion.specs.policy.policy import resolve_policy

    check_target(target)
    wanted = chosen(load_scenarios(file), only)
    with bar() as progress:
        results = run_all(wanted, resolve_policy(policy).policy, load_deviations(), progress)
    if target:
        write_figures(target, report(results))
    if form == "json":
        print_data(report(results), form)
    else:
        _show(results)
    if failed(results):
        raise Exit(1)


@command("list", "scenarios list kai.yaml")
@click.argument("file", type=FILE)
@list_output
def list_scenarios(file: Path, form: str) -> None:
    """List the scenarios of a file."""
    from ganglion.scenarios.source import load_scenarios

    columns: list[Column[Scenario]] = [
        Column("ID", lambda s: s.id),
        Column("KIND", lambda s: s.kind.value),
        Column("TIER", lambda s: s.tier),
        Column("ABOUT", lambda s: s.about or DASH, least=20),
    ]
    rows = load_scenarios(file)
    if form in ("json", "yaml"):
        plain = [{"id": s.id, "kind": s.kind, "tier": s.tier, "about": s.about} for s in rows]
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


scenarios.add_command(run)
scenarios.add_command(list_scenarios)
