"""A run on the terminal."""

from collections.abc import Callable

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from ganglion.model.events import Outcome
from ganglion.worlds.simulated.metrics.records import Statistics
from ganglion.worlds.simulated.report.format import duration, number, pct
from ganglion.worlds.simulated.report.summary import Summary

MOST_QUEUES = 12
MOST_NEVER = 5


def facts(summary: Summary) -> list[tuple[str, str]]:
    """The main figures as (name, value), for people."""
    size = number(summary.cluster.gpus or summary.cluster.cpus)
    jobs, allocation, damage = summary.jobs, summary.allocation, summary.damage
    fates = ("succeeded", "failed", "cancelled", "timed_out", "never", "running", "waiting")
    shown = [f"{number(getattr(jobs, f))} {f.replace('_', ' ')}" for f in fates if getattr(jobs, f)]
    rows = [
        ("cluster", f"{number(summary.cluster.nodes)} nodes, {size} {summary.unit}s"),
        ("jobs", f"{number(jobs.total)}: {', '.join(shown)}"),
        ("virtual time", f"{duration(summary.end_s - summary.start_s)}"),
        (
            f"{summary.unit}s in use",
            f"{pct(allocation.mean_pct)}, {pct(allocation.while_submitting_pct)} until the last"
            f" submission; {number(allocation.unit_hours)} {summary.unit}-hours",
        ),
        ("fragmentation", f"{pct(summary.fragmentation_pct)} of the free capacity"),
        ("headroom", f"a gang of {number(round(summary.headroom, 1))} {summary.unit}s could start"),
    ]
    cuts = {kind: n for kind, n in damage.interruptions.items() if kind != Outcome.PREEMPTED}
    if damage.node_losses or damage.device_failures or cuts:
        cut = ", ".join(f"{number(n)} {kind.replace('_', ' ')}" for kind, n in cuts.items())
        rows.append(
            (
                "faults",
                f"{number(damage.node_losses)} nodes and {number(damage.device_failures)} devices"
                f" lost; attempts cut short: {cut or 'none'};"
                f" {number(damage.lost_unit_hours - summary.preemption.lost_unit_hours)}"
                f" {summary.unit}-hours lost",
            )
        )
    return [*rows, *_preemption(summary)]


def _preemption(summary: Summary) -> list[tuple[str, str]]:
    part = summary.preemption
    kinds = ("preempted", "reclaimed", "moved", "yielded", "grown", "shrunk")
    done = [f"{number(getattr(part, kind))} {kind}" for kind in kinds if getattr(part, kind)]
    if not done:
        return []
    lost = f"{number(part.lost_unit_hours)} {summary.unit}-hours lost"
    return [("preemption", f"{', '.join(done)}; {lost}")]


def quantities(summary: Summary) -> list[tuple[str, list[str]]]:
    """Waiting time, JCT and slowdown as (name, [mean, median, p90, p99, maximum])."""
    return [
        ("waiting time", _cells(summary.wait_s, duration)),
        ("job completion time", _cells(summary.jct_s, duration)),
        ("bounded slowdown", _cells(summary.slowdown, number)),
    ]


def _cells(values: Statistics, show: Callable[[float], str]) -> list[str]:
    if not values.count:
        return ["-"] * 5
    return [show(v) for v in (values.mean, values.p50, values.p90, values.p99, values.max)]


def print_summary(summary: Summary, console: Console) -> None:
    """Write the tables."""
    console.print(Group(_facts(summary), _quantities(summary), _queues(summary)))
    if summary.waits:
        console.print(_waits(summary))
    for note in summary.notes:
        console.print(Text(f"note: {note}", style="dim"))
    for never in summary.never[:MOST_NEVER]:
        console.print(Text(f"never: {never.gang}: {never.message}", style="yellow"))
    if summary.jobs.never > MOST_NEVER:
        console.print(Text(f"never: {summary.jobs.never - MOST_NEVER} more", style="yellow"))


def _grid(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    for place, column in enumerate(columns):
        table.add_column(column, justify="left" if place == 0 else "right")
    return table


def _facts(summary: Summary) -> Table:
    table = Table(title=summary.title, title_justify="left", box=None, show_header=False)
    table.pad_edge, table.title_style = False, "bold"
    for name, value in facts(summary):
        table.add_row(Text(name, style="dim"), Text(value))
    return table


def _quantities(summary: Summary) -> Table:
    table = _grid("", "", "mean", "median", "p90", "p99", "max")
    for name, cells in quantities(summary):
        table.add_row(name, *cells)
    return table


def _queues(summary: Summary) -> Table:
    table = _grid("", "queue", "jobs", f"{summary.unit}-hours", "share", "mean wait", "mean JCT")
    for part in summary.queues[:MOST_QUEUES]:
        table.add_row(
            Text(part.name),
            number(part.jobs),
            number(part.unit_hours),
            pct(part.share_pct),
            duration(part.mean_wait_s),
            duration(part.mean_jct_s),
        )
    if len(summary.queues) > MOST_QUEUES:
        table.add_row(f"{len(summary.queues) - MOST_QUEUES} more")
    return table


def _waits(summary: Summary) -> Table:
    table = _grid("", "waited for", "gangs", "in all", "longest", "of the longest one")
    table.columns[-1].justify = "left"
    for part in summary.waits:
        table.add_row(
            part.reason,
            number(part.gangs),
            duration(part.waited_hours * 3600),
            duration(part.longest_hours * 3600),
            Text(part.message),
        )
    return table
