"""`ganglion sim`."""

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from ganglion.cli.options import command, output
from ganglion.cli.output.screen import bar, note, out
from ganglion.model.errors import EnvironmentFault

if TYPE_CHECKING:
    from ganglion.worlds.simulated.run import FinishedRun
    from ganglion.worlds.simulated.scenario import SimulatedScenario

FILE = click.Path(path_type=Path, dir_okay=False)
COUNT = click.IntRange(min=1)


@command(
    "sim",
    "sim",
    "sim --synthetic 5000 --nodes 32 --policy fifo,fgd --html report.html",
    "sim --trace jobs.csv.gz --queue vision --faults heavy --seed 7",
    "sim --trace pods.csv --cluster nodes.csv -o json",
)
@click.option(
    "--trace", type=FILE, help="Jobs to replay: a job table, openb pods, or SWF; .gz too."
)
@click.option(
    "--format",
    "fmt",
    type=click.Choice(["auto", "openb", "jobs", "swf"]),
    default="auto",
    show_default=True,
    help="Format of the trace.",
)
@click.option("-q", "--queue", default="", help="Only the jobs of this queue (vc) of the trace.")
@click.option("--limit", type=COUNT, help="Only the first N jobs.")
@click.option("--synthetic", type=COUNT, help="Draw N jobs instead of reading a trace. [1000]")
@click.option(
    "--seed", type=int, default=1, show_default=True, help="Seed of drawn jobs and faults."
)
@click.option("--cluster", type=FILE, help="Cluster file, or an openb node list (.csv, .csv.gz).")
@click.option("--nodes", type=COUNT, help="Number of equal nodes; by default, sized for the trace.")
@click.option("--gpus-per-node", type=COUNT, default=8, show_default=True, help="GPUs of each.")
@click.option("--nodes-per-rack", type=COUNT, default=8, show_default=True, help="Nodes of a rack.")
@click.option(
    "--cpus-per-node",
    type=COUNT,
    default=64,
    show_default=True,
    help="CPU cores of each, for CPU logs.",
)
@click.option(
    "--policy",
    default="",
    metavar="NAME|FILE",
    help="default, kueue, kai, slurm-like or a policy file; with commas also an order (fair, fifo,"
    " shortest, smallest), strict, Score plugins.",
)
@click.option(
    "--faults",
    default="none",
    show_default=True,
    help="none, light, heavy, and settings as mtbf=30d,fail=1%,lost=5%.",
)
@click.option(
    "--start-delay", default="0s", show_default=True, help="Time from decision to running."
)
@click.option("--restart-cost", default="0s", show_default=True, help="Time lost at every restart.")
@click.option("--resize-cost", default="0s", show_default=True, help="Time lost at every resize.")
@click.option(
    "--stop-time", default="", help="Time until stopped pods are gone. [their whole grace]"
)
@click.option(
    "--save-on-stop",
    is_flag=True,
    help="Jobs with periodic checkpoints also save when asked to stop.",
)
@click.option("--checkpoint", default="", help="Checkpoint interval of all jobs, as 30m.")
@click.option("--horizon", default="", help="Stop after this much virtual time, as 7d.")
@click.option("--check", is_flag=True, help="Verify every invariant after every cycle (slow).")
@click.option("--json", "json_file", type=FILE, help="File for all figures.")
@click.option("--html", "html_file", type=FILE, help="File for a report with plots.")
@output("table", "json")
def sim(
    form: str,
    json_file: Path | None,
    html_file: Path | None,
    *,
    check: bool,
    **asked: Any,  # noqa: ANN401 - the attributes of `RunOptions`, each with its type
) -> None:
    """Replay a trace on a simulated cluster.

    The same engine that schedules real machines decides in virtual time. Without arguments
    it draws 1,000 jobs of five teams on 8 nodes of 8 GPUs. Equal input gives equal output,
    to the byte.
    """
    from ganglion.worlds.simulated.readers.detect import TraceFormat
    from ganglion.worlds.simulated.setup.options import RunOptions, scenario_of

    for path in (json_file, html_file):
        _check_writable(path)
    scenario = scenario_of(RunOptions(fmt=TraceFormat(asked.pop("fmt")), **asked))
    began = time.monotonic()
    run = _simulate(scenario, check=check)
    _hand_out(run, form, json_file, html_file)
    if form == "table":
        note(_speed(run, time.monotonic() - began))


def _simulate(scenario: "SimulatedScenario", *, check: bool) -> "FinishedRun":
    from ganglion.extensions import load
    from ganglion.specs.grammar.times.durations import DAY
    from ganglion.worlds.simulated.run import simulate

    plugins = load(scenario.policy)
    with bar() as show:

        def progress(done: int, total: int, passed: int) -> None:
            show(done, total, f"day {passed // DAY}: {done} of {total} jobs")

        return simulate(scenario, plugins=plugins, check=check, progress=progress)


def _hand_out(
    run: "FinishedRun", form: str, json_file: Path | None, html_file: Path | None
) -> None:
    from ganglion.worlds.simulated.report.html import render_html
    from ganglion.worlds.simulated.report.summary import as_json, summarise
    from ganglion.worlds.simulated.report.table import print_summary

    summary = summarise(run)
    if json_file:
        _write(json_file, _json(as_json(summary)))
    if html_file:
        _write(html_file, render_html(summary))
    if form == "json":
        sys.stdout.write(_json(as_json(summary)))
    else:
        print_summary(summary, out())


def _speed(run: "FinishedRun", wall_s: float) -> str:
    from ganglion.worlds.simulated.report.format import duration

    virtual = duration((run.ended - run.scenario.start) / 1000)
    return f"simulated {virtual} in {wall_s:.1f} s"


def _json(data: dict[str, Any]) -> str:
    import msgspec

    return msgspec.json.format(msgspec.json.encode(data), indent=2).decode() + "\n"


def _check_writable(path: Path | None) -> None:
    """Find out before a long run, not after it."""
    if path is None:
        return
    target = path if path.exists() else path.absolute().parent
    if not target.exists():
        raise EnvironmentFault(f"cannot write {path}: there is no folder {target}")
    if not os.access(target, os.W_OK):
        raise EnvironmentFault(f"cannot write {path}: not permitted")


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise EnvironmentFault(f"cannot write {path}: {error.strerror}") from error
