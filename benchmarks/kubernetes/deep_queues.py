"""`deep-queues`: does a gang that fits wait behind one that does not?

A cluster that a user of a scheduler with one gang per queue at a time described: 1,300 nodes and
536 waiting gangs, most of them in deep queues with free GPUs, admitted at ten a minute. See
docs/benchmarks/deep-queues.md.
"""

import asyncio
from collections import Counter
from statistics import median

from benchmarks.controlplane.control_plane import ControlPlane
from benchmarks.controlplane.programs import find
from benchmarks.kubernetes.deep_queues_round import LATE_PER_S, Figures, drain
from benchmarks.kubernetes.deep_queues_work import FITS, Work, work
from benchmarks.registry import Bench, BenchOptions, Forms, Progress, Report, compared

NODES = 1_300
GANGS = 536

_DRAIN: Forms = {
    "admitted/min": ("per_min", "{:,.0f}"),
    "p10": ("p10_per_min", "{:,.0f}"),
    "first s": ("ready_s", "{:.1f}"),
    "drained s": ("drain_s", "{:.1f}"),
    "bare s": ("bare_s", "{:.1f}"),
    "longest pause s": ("pause_s", "{:.1f}"),
    "stuck": ("stuck", "{:.0f}"),
}
_WAITS: Forms = {
    "deep s": ("deep_s", "{:.1f}"),
    "shallow s": ("shallow_s", "{:.1f}"),
    "late p50 ms": ("late_p50_ms", "{:.0f}"),
    "late p99 ms": ("late_p99_ms", "{:.0f}"),
    "writes/s": ("writes_s", "{:.0f}"),
    "cpu s": ("cpu_s", "{:.1f}"),
    "api cpu s": ("api_cpu_s", "{:.1f}"),
    "rss MiB": ("rss_mib", "{:.0f}"),
    "disturbed": ("disturbed", "{:.0f}"),
}
_NOTES = (
    "admitted/min, p10: median and tenth percentile of the seconds from first to last admission."
    " first, drained: from the start of the process. bare: a client binds the same pods.",
    "stuck: gangs that fit and did not start. deep, shallow: median wait in deep and other"
    f" queues. late: more in deep queues, {LATE_PER_S:.0f} a second, creation to binding.",
    "writes: changes a second that the API server answered. disturbed: pods that had to leave.",
)


def run(options: BenchOptions, progress: Progress) -> Report:
    """Run it; `seeds` is the number of rounds, each with other gangs on a new API server."""
    nodes, gangs = options.nodes or NODES, options.gangs or GANGS
    rounds: list[Figures] = []
    for number in range(options.seeds):
        made = work(nodes, gangs, number + 1)
        progress(number, options.seeds, f"round {number + 1}")
        with ControlPlane(find()) as plane:
            rounds.append(asyncio.run(drain(plane, made)))
    progress(options.seeds, options.seeds, "done")
    middle = {key: median(each[key] for each in rounds) for key in rounds[0]}
    data = {"bench": "deep-queues", "nodes": nodes, "gangs": gangs, **_shape(work(nodes, gangs, 1))}
    entries = {"ganglion": middle}
    title = f"{gangs} waiting gangs on {nodes} nodes of 8 GPUs, {data['fitting']} of which fit"
    tables = (
        compared(title, "scheduler", _DRAIN, entries),
        compared("Waits and costs", "scheduler", _WAITS, entries),
    )
    return Report({**data, "figures": middle, "rounds": rounds}, tables, _NOTES)


def _shape(made: Work) -> dict[str, int]:
    """How the first round's cluster looks."""
    kinds = Counter(each.kind for each in made.waiting)
    return {
        "queues": len(made.queues),
        "deep_queues": len(made.deep),
        "fitting": kinds[FITS],
        "fitting_pods": sum(each.pods for each in made.fitting()),
        "fitting_gpus": sum(each.size for each in made.fitting()),
        "running_gpus": sum(each.size for each in made.running),
    }


BENCH = Bench(
    "deep-queues",
    "Gangs admitted from deep queues whose heads cannot start, on a real API server.",
    run,
    sizes=("nodes", "gangs"),
)
