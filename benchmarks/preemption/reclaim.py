"""`reclaim`: what it costs to take back what a queue is owed, and to say that it cannot be.

Shapes of KAI-Scheduler's own benchmarks, each in a process of its own. See
docs/benchmarks/reclaim.md.
"""

import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
from msgspec import to_builtins

from benchmarks.preemption.reclaim_cases import CASES, Figures
from benchmarks.registry import Bench, BenchOptions, Progress, Report, Table
from ganglion.model.errors import EnvironmentFault, InputError

CHECKOUT = Path(__file__).resolve().parents[2]

NODES = (100, 500, 1_000, 2_500)
EXTRA = {"many_singles": (200,)}
"""Sizes at which a case is measured beside the common ones."""

FEWEST = 20
"""Nodes below which the gang that is one GPU short would be most of the cluster."""

_NOTES = (
    "CPU seconds of one Python thread, no I/O. decision: the cycle that takes the submissions in."
    " settled: all cycles until all stopped gangs have left and what was decided runs.",
    "again: one more cycle in which nothing happened. peak: resident memory of the process.",
)


def run(options: BenchOptions, progress: Progress) -> Report:
    """Run the benchmark; it needs no traces. `workload` may name one number of nodes.

    Raises:
        InputError: that is no number, or too small.
        EnvironmentFault: a measuring process failed.
    """
    steps = [(case, nodes) for case in CASES for nodes in _sizes(case, options.workload)]
    found: dict[str, dict[str, Figures]] = {}
    for done, (case, nodes) in enumerate(steps):
        progress(done, len(steps), f"{case} on {nodes} nodes")
        found.setdefault(case, {})[str(nodes)] = _apart(case, nodes)
    progress(len(steps), len(steps), "done")
    data: dict[str, Any] = {
        "bench": "reclaim",
        "synthetic": True,
        "cases": {name: case.help for name, case in CASES.items()},
        "figures": to_builtins(found),
    }
    return Report(data, tuple(_table(name, each) for name, each in found.items()), _NOTES)


def _sizes(case: str, workload: str | None) -> tuple[int, ...]:
    if workload is None:
        return tuple(sorted({*NODES, *EXTRA.get(case, ())}))
    if not workload.isdigit() or int(workload) < FEWEST:
        raise InputError(
            f"--workload {workload}: reclaim takes a number of nodes, at least {FEWEST}"
        )
    return (int(workload),)


def _apart(case: str, nodes: int) -> Figures:
    """Measure in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.preemption.reclaim_cases", case, str(nodes)]
    done = subprocess.run(command, capture_output=True, check=False, cwd=CHECKOUT)
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        raise EnvironmentFault(f"{case} on {nodes} nodes failed: {lines[-1] if lines else '?'}")
    return msgspec.json.decode(done.stdout, type=Figures)


def _table(name: str, by_size: dict[str, Figures]) -> Table:
    heads = ("nodes", "decision s", "settled s", "again ms", "peak MiB", "victims", "started")
    rows = [
        (
            size,
            f"{each.decision_s:.3f}",
            f"{each.settled_s:.3f}",
            f"{1000 * each.again_s:.2f}",
            f"{each.peak_mib:,.0f}",
            f"{each.victims:,}",
            f"{each.started:,}",
        )
        for size, each in by_size.items()
    ]
    return Table(f"{name}: {CASES[name].help}", heads, tuple(rows))


BENCH = Bench("reclaim", "Seconds and memory to reclaim what a queue is owed.", run)
