"""`pack-openb`: how much of a GPU cluster can be allocated before it is fragmented.

The protocol of FGD (Weng et al., USENIX ATC'23) on Alibaba's openb cluster: 1,213 nodes, 6,212
GPUs. See docs/benchmarks/pack-openb.md.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from benchmarks.common.traces import choose, csv_files, workload_files
from benchmarks.packing.bound import upper_bound
from benchmarks.packing.protocol import OVERLOAD_PCT, Curve, gpu_milli
from benchmarks.packing.published import PUBLISHED
from benchmarks.packing.run import LEARNT, Outcomes, Source, read, run_once
from benchmarks.registry import (
    Bench,
    BenchOptions,
    Progress,
    Report,
    Table,
    check_policies,
)
from ganglion.model.errors import FieldError

POLICIES = ("ganglion", LEARNT, "fgd", "bestfit", "packing", "random")
USUAL = ("ganglion", "fgd", "bestfit", "packing")
"""Those that run when none is named; `random` is asked about every node and takes minutes."""

NODES = "openb_node_list_gpu_node"
PODS = "openb_pod_list_"
WORKLOAD = "default"
FIRST_SEED = 42
MARKS = tuple(range(5, OVERLOAD_PCT + 1, 5))
"""Arrived percentages that are reported."""

_NOTES = (
    "Allocated: GPUs in use, % of all, when that much of them has been asked for. Unusable: free"
    " GPUs that typical pods cannot use, % of the free ones.",
    "Ties go to the first node by name; names get a random prefix per seed.",
)


def run(options: BenchOptions, progress: Progress) -> Report:
    """Run the benchmark.

    Raises:
        InputError, NotFound: no such folder, file, workload or policy, or a value of a file.
    """
    policies = check_policies(BENCH, options.policies or USUAL)
    workload = options.workload or WORKLOAD
    lists = source(options.traces, workload)
    seeds = list(range(FIRST_SEED, FIRST_SEED + options.seeds))
    found: dict[str, list[Outcomes]] = {}
    steps = [(policy, seed) for policy in policies for seed in seeds]
    for done, (policy, seed) in enumerate(steps):
        progress(done, len(steps), f"{policy} seed {seed}")
        found.setdefault(policy, []).append(run_once(lists, policy, seed))
    progress(len(steps), len(steps), "done")
    data = _data(workload, seeds, lists, {name: _figures(each) for name, each in found.items()})
    return Report(data, (_table(data),), _NOTES)


def source(traces: Path | None, workload: str) -> Source:
    """The cluster and one list of pods. Raises InputError, NotFound: no such folder or file."""
    if traces is None:
        raise FieldError(
            "pack-openb needs traces",
            hint="give the folder of the openb lists (cluster-trace-gpu-v2023): --traces DIR",
        )
    nodes = choose(csv_files(traces), NODES, traces)
    return read(nodes, choose(workload_files(traces, PODS, only=True), workload, traces))


def _data(
    workload: str, seeds: list[int], source: Source, figures: dict[str, dict[str, Any]]
) -> dict[str, Any]:
    first = next(iter(figures.values()))["allocated_pct_at_130"]
    published = PUBLISHED.get(workload, {})
    return {
        "bench": "pack-openb",
        "workload": workload,
        "seeds": seeds,
        "nodes": len(source.nodes),
        "gpus": source.capacity // 1000,
        "allocated_pct_at_130": {"mean": first["mean"], "sd": first["sd"]},
        "policies": figures,
        "published": {
            name: {"allocated_pct_at_100": at_100, "allocated_pct_at_130": at_130}
            for name, (at_100, at_130) in published.items()
        },
        "upper_bound_pct": _bound(source),
    }


def _bound(source: Source) -> float:
    """Of the demand at 130 %, in the proportions of the list."""
    demand: Counter[int] = Counter()
    for gang in source.pods:
        gpu = gang.pod_sets[0].request.gpu
        if gpu.count:
            demand[gpu.milli] += gpu.count
    asked = sum(gpu_milli(gang.pod_sets[0].request) for gang in source.pods)
    grown = source.capacity * OVERLOAD_PCT / 100 / asked
    most = upper_bound({size: count * grown for size, count in demand.items()}, _gpus(source))
    return round(100 * most / source.capacity, 2)


def _gpus(source: Source) -> int:
    return sum(len(node.devices) for node in source.nodes)


def _figures(runs: Sequence[Outcomes]) -> dict[str, Any]:
    wall = sum(each.wall_s for each in runs)
    return {
        "allocated_pct_at_130": _spread([each.curve.allocated_in_the_end() for each in runs]),
        "allocated_pct_by_arrived": _by_arrived(runs, Curve.allocated_pct),
        "frag_ratio_pct_by_arrived": _by_arrived(runs, Curve.frag_ratio_pct),
        "frag_amount_pct_by_arrived": _by_arrived(runs, Curve.frag_amount_pct),
        "placements_per_s": round(sum(each.pods for each in runs) / wall),
        "wall_s": round(wall / len(runs), 3),
    }


def _spread(values: Sequence[float]) -> dict[str, Any]:
    return {
        "mean": round(fmean(values), 3),
        "sd": round(stdev(values), 3) if len(values) > 1 else 0.0,
        "per_seed": [round(each, 3) for each in values],
    }


def _by_arrived(
    runs: Sequence[Outcomes], measure: Callable[[Curve], dict[int, float]]
) -> dict[str, float]:
    """Means over the seeds at every mark that all of them passed."""
    curves = [measure(each.curve) for each in runs]
    return {
        str(mark): round(fmean(curve[mark] for curve in curves), 3)
        for mark in MARKS
        if all(mark in curve for curve in curves)
    }


def _table(data: dict[str, Any]) -> Table:
    columns = ("policy", "at 100 %", "at 130 %", "sd", "published", "unusable at 80 %", "s/run")
    rows = [_row(name, each, data["published"]) for name, each in data["policies"].items()]
    rows.append(("upper bound", "", f"{data['upper_bound_pct']:.2f}", "", "", "", ""))
    seeds = f"{len(data['seeds'])} seeds" if len(data["seeds"]) > 1 else "1 seed"
    return Table(f"{data['workload']}: allocated GPUs, {seeds}", columns, tuple(rows))


def _row(name: str, figures: dict[str, Any], published: dict[str, Any]) -> tuple[str, ...]:
    last = figures["allocated_pct_at_130"]
    return (
        name,
        _mark(figures["allocated_pct_by_arrived"], "100"),
        f"{last['mean']:.2f}",
        f"{last['sd']:.2f}",
        _published(name, published),
        _mark(figures["frag_ratio_pct_by_arrived"], "80"),
        f"{figures['wall_s']:.1f}",
    )


def _published(name: str, published: dict[str, Any]) -> str:
    """What the policy was published with; for our own, the best of the others."""
    if not published:
        return "-"
    best = max(published, key=lambda each: published[each]["allocated_pct_at_130"])
    shown = name if name in published else best
    value = f"{published[shown]['allocated_pct_at_130']:.2f}"
    return value if shown == name else f"{value} ({shown})"


def _mark(curve: dict[str, float], mark: str) -> str:
    return f"{curve[mark]:.2f}" if mark in curve else "-"


BENCH = Bench(
    "pack-openb",
    "GPUs allocated before the cluster is fragmented: FGD's protocol on Alibaba's cluster.",
    run,
    POLICIES,
)
