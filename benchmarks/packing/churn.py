"""`churn-openb`: GPUs left unused while a pod waits, as pods come and go.

No figure is published for this; FGD's and best fit's are established on the same engine. See
docs/benchmarks/churn.md.
"""

from collections.abc import Sequence
from statistics import fmean
from typing import Any

from msgspec import to_builtins

from benchmarks.common.drive import Course, Stage, drive
from benchmarks.common.waits import Waited, wait_figures
from benchmarks.packing.churn_jobs import LOADS, QUEUE, Churn, made_up, read_churn
from benchmarks.packing.unused_gpus import Idle
from benchmarks.registry import (
    Bench,
    BenchOptions,
    Progress,
    Report,
    Table,
    check_policies,
    compared,
)
from ganglion.model.kinds import Weighted
from ganglion.model.policy import Backfill, EvictionRules, Future, Policy, Repack
from ganglion.model.queue import Queue
from ganglion.worlds.simulated.job import gpu_milli

RESTART_MS = 60_000
WARM_UP = 0.2
"""Part of the time that does not count: the cluster begins empty."""


def _scored(name: str) -> Policy:
    """Nothing but a score: first come, first served with overtaking, no pod moved."""
    return Policy(
        scores=(Weighted(name),),
        evict=EvictionRules(enabled=False),
        future=Future(backfill=Backfill.ANY, reservations=0),
        repack=Repack(consolidate=False),
    )


POLICIES: dict[str, Policy] = {
    "default": Policy(),
    "ganglion": _scored("ganglion"),
    "fgd": _scored("fgd"),
    "bestfit": _scored("bestfit"),
}

_NOTES = (
    "idle: GPUs that were unused while a pod that wants GPUs waited, % of all, over time; waiting:"
    " part of the time in which one did. The first fifth of the time does not count.",
    "ganglion, fgd, bestfit: only the score differs, and no pod is moved. default: Ganglion's own"
    " policy, which also reserves and moves.",
)


def run(options: BenchOptions, progress: Progress) -> Report:
    """Run the benchmark.

    Raises:
        InputError, NotFound: no such folder, file, workload or policy, or a value of a file.
    """
    policies = check_policies(BENCH, options.policies)
    steps = [(load, name, s) for load in LOADS for name in policies for s in range(options.seeds)]
    found: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for done, (load, name, seed) in enumerate(steps):
        progress(done, len(steps), f"{name} at load {load} seed {seed}")
        entry = _once(_churn(options, load, seed), POLICIES[name])
        found.setdefault(f"{load:.2f}", {}).setdefault(name, []).append(entry)
    progress(len(steps), len(steps), "done")
    loads = {
        load: {name: _mean(entries) for name, entries in by_policy.items()}
        for load, by_policy in found.items()
    }
    data = {
        "bench": "churn-openb",
        "source": str(options.traces) if options.traces else "synthetic",
        "synthetic": options.traces is None,
        "seeds": options.seeds,
        "loads": loads,
        "per_seed": found,
    }
    return Report(data, tuple(_table(load, each) for load, each in loads.items()), _NOTES)


def _churn(options: BenchOptions, load: float, seed: int) -> Churn:
    if options.traces is None:
        return made_up(load, seed)
    return read_churn(options.traces, options.workload, load, seed)


def _once(churn: Churn, policy: Policy) -> dict[str, Any]:
    begin = round(churn.span * WARM_UP)
    idle = Idle(churn.gpus * 1000, begin, churn.span)
    stage = Stage(churn.nodes, [Queue(QUEUE)], churn.jobs, policy, lambda _: RESTART_MS)
    found = drive(stage, look=idle.look)
    counted = [each for each in found.courses if each.job.gang.submitted >= begin]
    figures = wait_figures([_waited(each) for each in counted if gpu_milli(each.job.gang)])
    return {
        **idle.figures(),
        **to_builtins(figures),
        "pods": len(churn.jobs),
        "nodes": len(churn.nodes),
        "gpus": churn.gpus,
        "moves": found.preemptions,
        "lost_gpu_hours": sum(each.lost_gpu_ms for each in found.courses) / 3_600_000,
        "engine_s": found.engine_seconds,
    }


def _waited(course: Course) -> Waited:
    return Waited(course.wait, course.job.duration_ms or 0)


def _mean(entries: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {key: fmean(entry[key] for entry in entries) for key in entries[0]}


_COLUMNS = {
    "idle %": ("unallocated_pct_while_waiting", "{:.2f}"),
    "waiting %": ("waiting_pct", "{:.1f}"),
    "allocated %": ("allocated_pct", "{:.2f}"),
    "mean wait s": ("mean_wait_s", "{:,.1f}"),
    "p95 s": ("p95_wait_s", "{:,.0f}"),
    "max s": ("max_wait_s", "{:,.0f}"),
    "moves": ("moves", "{:,.0f}"),
    "engine s": ("engine_s", "{:.1f}"),
}


def _table(load: str, policies: dict[str, dict[str, Any]]) -> Table:
    first = next(iter(policies.values()))
    title = (
        f"load {load}: {first['pods']:,.0f} pods on {first['nodes']:.0f} nodes with"
        f" {first['gpus']:.0f} GPUs"
    )
    return compared(title, "policy", _COLUMNS, policies)


BENCH = Bench(
    "churn-openb",
    "GPUs left unused while a pod waits, as pods come and go.",
    run,
    tuple(POLICIES),
)
