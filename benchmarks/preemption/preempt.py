"""`preempt`: what urgent jobs cost those that are stopped for them.

One made-up contended cluster, one engine, three ways to choose victims. See
docs/benchmarks/preemption.md.
"""

from collections.abc import Sequence
from statistics import fmean
from typing import Any

from benchmarks.common.drive import Course, Outcomes, Stage, drive
from benchmarks.common.replay import nodes_of
from benchmarks.preemption.preempt_jobs import (
    DAYS,
    NODES,
    QUEUE,
    TRAINING_LOAD,
    URGENT,
    URGENT_LOAD,
    WORKLOADS,
    contended,
    restart_ms,
)
from benchmarks.registry import (
    Bench,
    BenchOptions,
    Progress,
    Report,
    Table,
    check_policies,
    compared,
)
from ganglion.model.errors import FieldError
from ganglion.model.policy import EvictionRules, Policy, Repack, VictimOrder
from ganglion.model.queue import Queue
from ganglion.worlds.simulated.job import gpu_milli
from ganglion.worlds.simulated.metrics.records import quantile

GPU_HOUR = 3_600_000

ORDERS: dict[str, EvictionRules] = {
    "price": EvictionRules(victims=VictimOrder.PRICE),
    "youngest": EvictionRules(victims=VictimOrder.YOUNGEST),
    "lowest-newest": EvictionRules(victims=VictimOrder.NEWEST),
}
"""Ways to choose victims; the last two are what KAI-Scheduler and Kueue do at most."""

_NOTES = (
    "lost: work since the last checkpoint, and restarts, of those that were stopped.",
    "wait: from submission of an urgent job to its start. goodput: useful part of the GPU time"
    " that was held.",
    "Nothing is consolidated, so that every stop is a preemption.",
)


def run(options: BenchOptions, progress: Progress) -> Report:
    """Run the benchmark; it needs no traces.

    Raises:
        FieldError: an unknown policy or workload, or traces.
    """
    workload = _workload(options)
    policies = check_policies(BENCH, options.policies)
    seeds = range(options.seeds)
    runs: dict[str, list[dict[str, Any]]] = {name: [] for name in policies}
    steps = [(seed, name) for seed in seeds for name in policies]
    for done, (seed, name) in enumerate(steps):
        progress(done, len(steps), f"{name} seed {seed}")
        runs[name].append(_once(seed, workload, ORDERS[name]))
    progress(len(steps), len(steps), "done")
    means = {name: _mean(entries) for name, entries in runs.items()}
    saved = _saved(means)
    data = {
        "bench": "preempt",
        "synthetic": True,
        "workload": workload,
        "seeds": list(seeds),
        "nodes": NODES,
        "days": DAYS,
        "training_load": TRAINING_LOAD,
        "urgent_load": URGENT_LOAD,
        "policies": means,
        "lost_less_pct": saved,
        "per_seed": runs,
    }
    return Report(data, (_table(means, len(seeds)),), (*_NOTES, *_sentence(saved)))


def _workload(options: BenchOptions) -> str:
    if options.traces:
        raise FieldError("preempt makes its jobs up", hint="leave --traces out")
    wanted = options.workload or next(iter(WORKLOADS))
    if wanted not in WORKLOADS:
        raise FieldError(
            f"preempt has no workload {wanted!r}", hint=f"it has: {', '.join(WORKLOADS)}"
        )
    return wanted


def _once(seed: int, workload: str, evict: EvictionRules) -> dict[str, Any]:
    stage = Stage(
        nodes_of(NODES),
        [Queue(QUEUE)],
        contended(seed, workload),
        Policy(evict=evict, repack=Repack(consolidate=False)),
        restart_ms,
        saves=False,
    )
    return _figures(drive(stage))


def _figures(found: Outcomes) -> dict[str, Any]:
    urgent = [each for each in found.courses if each.job.gang.priority == URGENT]
    training = [each for each in found.courses if each.job.gang.priority != URGENT]
    useful = sum(_gpus(each) * (each.job.duration_ms or 0) for each in found.courses)
    lost = sum(each.lost_gpu_ms for each in found.courses)
    waits = sorted(each.wait for each in urgent)
    return {
        "lost_gpu_hours": lost / GPU_HOUR,
        "redone_gpu_hours": sum(_gpus(each) * each.redone for each in training) / GPU_HOUR,
        "restart_gpu_hours": sum(_gpus(each) * each.restarting for each in training) / GPU_HOUR,
        "restarts": sum(each.attempts - 1 for each in found.courses),
        "preemptions": found.preemptions,
        "urgent_mean_wait_s": fmean(waits) / 1000,
        "urgent_p95_wait_s": quantile(waits, 95) / 1000,
        "training_mean_jct_s": fmean(each.jct for each in training) / 1000,
        "goodput": useful / (useful + lost),
        "jobs": len(found.courses),
        "urgent_jobs": len(urgent),
        "cycles": found.cycles,
        "engine_s": found.engine_seconds,
    }


def _gpus(course: Course) -> int:
    return gpu_milli(course.job.gang) // 1000


def _mean(entries: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {key: fmean(entry[key] for entry in entries) for key in entries[0]}


def _saved(policies: dict[str, dict[str, Any]]) -> dict[str, float]:
    """By how many per cent pricing loses less than each other order."""
    ours = policies.get("price")
    return {
        name: 100 * (1 - ours["lost_gpu_hours"] / entry["lost_gpu_hours"])
        for name, entry in policies.items()
        if ours and name != "price" and entry["lost_gpu_hours"]
    }


def _sentence(saved: dict[str, float]) -> tuple[str, ...]:
    listed = ", ".join(f"{pct:.0f} % less than {name}" for name, pct in saved.items())
    return (f"GPU-hours lost under price: {listed}.",) if listed else ()


_COLUMNS = {
    "lost GPU h": ("lost_gpu_hours", "{:,.0f}"),
    "redone": ("redone_gpu_hours", "{:,.0f}"),
    "restarts": ("restarts", "{:,.0f}"),
    "urgent wait s": ("urgent_mean_wait_s", "{:,.1f}"),
    "p95 s": ("urgent_p95_wait_s", "{:,.1f}"),
    "training JCT s": ("training_mean_jct_s", "{:,.0f}"),
    "goodput": ("goodput", "{:.4f}"),
    "engine s": ("engine_s", "{:.1f}"),
}


def _table(policies: dict[str, dict[str, Any]], seeds: int) -> Table:
    title = f"{NODES} nodes of 8 GPUs over {DAYS} days, mean of {seeds} seeds"
    return compared(title, "victims", _COLUMNS, policies)


BENCH = Bench(
    "preempt",
    "GPU-hours lost to preemption, by the way victims are chosen.",
    run,
    tuple(ORDERS),
)
