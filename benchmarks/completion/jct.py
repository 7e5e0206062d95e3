"""What the completion-time benchmarks have in common: policies, runs and the report."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from benchmarks.common.jobs import Cluster
from benchmarks.common.metrics import (
    Bounds,
    Done,
    Figures,
    bounds,
    figures,
    makespan_of,
    pooled_bounds,
)
from benchmarks.common.replay import Recipe, Schedule, replay
from benchmarks.completion.engine import restart_ms, run_engine
from benchmarks.registry import Progress, Report, Table
from ganglion.model.kinds import Weighted
from ganglion.model.policy import Backfill, EvictionRules, Future, Order, Policy, Repack

HOUR_MS = 3_600_000
LAS_GPU_HOURS = 8
"""Service after which a job goes behind in two-queue LAS."""


def textbook(order: Order, *, strict: bool = False) -> Policy:
    """A published policy: best fit, and the engine stops, moves and reserves nothing itself."""
    return Policy(
        order=order,
        strict=strict,
        scores=(Weighted("bestfit"),),
        evict=EvictionRules(enabled=False),
        timeshare=False,
        future=Future(backfill=Backfill.ANY, reservations=0),
        repack=Repack(consolidate=False),
    )


_LAS = Recipe(textbook(Order.SHORTEST), preempts=True, demotes_at=LAS_GPU_HOURS * HOUR_MS)

TEXTBOOK: dict[str, Recipe] = {
    "fifo": Recipe(textbook(Order.FIFO, strict=True)),
    "fifo-overtaking": Recipe(textbook(Order.FIFO)),
    "sjf": Recipe(textbook(Order.SHORTEST, strict=True), told=True),
    "srsf": Recipe(textbook(Order.SMALLEST), told=True, preempts=True),
    "srtf": Recipe(textbook(Order.SHORTEST), told=True, preempts=True),
    "las": _LAS,
    "mlas": replace(_LAS, factor=4),
}
TEXTBOOK |= {
    f"{name}-charged": replace(recipe, restart_ms=restart_ms)
    for name, recipe in TEXTBOOK.items()
    if recipe.preempts
}
"""Published policies by name; all place by best fit. Those that preempt are there with and without
charged restarts."""

OWN: dict[str, Policy] = {
    "default": Policy(),
    "unshared": Policy(timeshare=False),
    "quantum-8h": Policy(future=Future(reservations=0), repack=Repack(consolidate=False)),
}
"""Ganglion's own."""

QUANTUM_MS = {"quantum-8h": 8 * HOUR_MS}
"""Quantum that the queue gives, in ms of one GPU, by policy; the others learn their levels."""

POLICIES = (*TEXTBOOK, *OWN)

USUAL = ("fifo", "fifo-overtaking", "sjf", "srsf", "default")
"""Those that run when none is named."""

POLICY_NOTES: dict[str, tuple[str, ...]] = {
    "fifo and sjf are strict: nothing overtakes what cannot start yet.": ("fifo", "sjf"),
    "sjf, srsf and srtf are oracles that know every duration.": ("sjf", "srsf", "srtf"),
    "srsf, srtf, las and mlas preempt, and a restart costs nothing without -charged.": (
        "srsf",
        "srtf",
        "las",
        "mlas",
    ),
    "mlas: as las, with a queue for every four times the service.": ("mlas", "mlas-charged"),
    "las: jobs that have had 8 GPU-hours go behind the others; no knowledge of durations.": (
        "las",
        "las-charged",
    ),
    "default is Ganglion's own policy: it gets no durations and learns them from what ended.": (
        "default",
        "unshared",
    ),
    "unshared: the same with timeshare: false.": ("unshared",),
    "quantum-8h: the same with timeshare: 8h in the queue, no reservations and no moves.": (
        "quantum-8h",
    ),
    "Ganglion's own and -charged: a restart costs 7 s for one GPU, 30 s up to eight, 60 s"
    " beyond.": (*OWN, *(name for name in TEXTBOOK if name.endswith("-charged"))),
}
"""Note printed where one of these policies ran."""

SYNTHETIC_NOTE = "Synthetic jobs: no published figure applies. Give --traces DIR for the real ones."


class Run(Struct, frozen=True):
    """One policy on one cluster.

    Attributes:
        cluster: where.
        policy: its name.
        schedule: what came out.
        wall_seconds: how long the replay took.
    """

    cluster: Cluster
    policy: str
    schedule: Schedule
    wall_seconds: float


def run_all(clusters: Sequence[Cluster], policies: Sequence[str], progress: Progress) -> list[Run]:
    """Run every policy on every cluster."""
    total = sum(len(cluster.jobs) for cluster in clusters) * len(policies)
    before, runs = 0, []
    for cluster in clusters:
        for policy in policies:
            runs.append(_run(cluster, policy, progress, before, total))
            before += len(cluster.jobs)
    return runs


def _run(cluster: Cluster, policy: str, progress: Progress, before: int, total: int) -> Run:
    label = f"{cluster.name} {policy}"
    began = perf_counter()

    def told(done: int) -> None:
        progress(before + done, total, label)

    schedule = (
        run_engine(cluster, OWN[policy], told, QUANTUM_MS.get(policy))
        if policy in OWN
        else replay(cluster, TEXTBOOK[policy], told)
    )
    return Run(cluster, policy, schedule, perf_counter() - began)


def report(
    bench: str,
    source: Path | None,
    runs: Sequence[Run],
    extra: Mapping[str, Any] | None = None,
    notes: Sequence[str] = (),
) -> Report:
    """Figures of all runs: for each cluster, and pooled over the jobs of all clusters.

    Args:
        bench: name of the benchmark.
        source: folder of the traces; None = synthetic jobs.
        runs: every policy on every cluster, at least one.
        extra: further top-level keys.
        notes: further sentences under the tables.
    """
    clusters = list({run.cluster.name: run.cluster for run in runs}.values())
    limits = {cluster.name: bounds(cluster.jobs, cluster.gpus) for cluster in clusters}
    pooled_limits = pooled_bounds([(limits[each.name], len(each.jobs)) for each in clusters])
    by_policy = {name: [r for r in runs if r.policy == name] for name in _names(runs)}
    pooled = _compared({name: _entry(group, pooled_limits) for name, group in by_policy.items()})
    data: dict[str, Any] = {
        "bench": bench,
        "source": str(source) if source else "synthetic",
        "synthetic": source is None,
        "avg_jct_s": {name: entry["avg_jct_s"] for name, entry in pooled.items()},
        "bounds": to_builtins(pooled_limits),
        "policies": pooled,
        "clusters": {each.name: _cluster(each, limits[each.name], runs) for each in clusters},
        **(extra or {}),
    }
    about = [text for text, policies in POLICY_NOTES.items() if set(policies) & set(pooled)]
    said = (*about, *notes, *(() if source else (SYNTHETIC_NOTE,)))
    return Report(data, _tables(data), said)


def _names(runs: Sequence[Run]) -> list[str]:
    return list(dict.fromkeys(run.policy for run in runs))


def _cluster(cluster: Cluster, limits: Bounds, runs: Sequence[Run]) -> dict[str, Any]:
    return {
        "nodes": cluster.nodes,
        "gpus": cluster.gpus,
        "jobs": len(cluster.jobs),
        "dropped": cluster.dropped,
        "gpu_hours": round(sum(job.work for job in cluster.jobs) / 3_600_000, 1),
        "bounds": to_builtins(limits),
        "policies": _compared(
            {run.policy: _entry([run], limits) for run in runs if run.cluster.name == cluster.name}
        ),
    }


def _entry(runs: Sequence[Run], limits: Bounds) -> dict[str, Any]:
    """Figures of one policy over one or more clusters."""
    done: list[Done] = [each for run in runs for each in run.schedule.done]
    makespan = max(makespan_of(run.schedule.done) for run in runs)
    found: Figures = figures(done, makespan)
    engine = sum(run.schedule.engine_seconds for run in runs)
    decisions = sum(run.schedule.decisions for run in runs)
    entry: dict[str, Any] = to_builtins(found)
    return entry | {
        "avg_jct_over_bound": found.avg_jct_s / limits.avg_jct_s if limits.avg_jct_s else None,
        "makespan_over_bound": found.makespan_s / limits.makespan_s if limits.makespan_s else None,
        "preemptions": sum(run.schedule.preemptions for run in runs),
        "decisions": decisions,
        "cycles": sum(run.schedule.cycles for run in runs),
        "decisions_per_s": decisions / engine if engine else None,
        "wall_s": sum(run.wall_seconds for run in runs),
        "eta": _eta(runs),
    }


def _compared(entries: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Entries with the longest completion over that of FIFO with overtaking, where that ran."""
    fifo = entries.get("fifo-overtaking")
    longest = fifo["max_jct_s"] if fifo else 0
    return {
        name: entry | {"longest_over_fifo": entry["max_jct_s"] / longest if longest else None}
        for name, entry in entries.items()
    }


def _eta(runs: Sequence[Run]) -> dict[str, Any] | None:
    """How often start bands held over all runs; None where none were given."""
    told = [run.schedule.eta for run in runs if run.schedule.eta.get("bands")]
    bands = sum(each["bands"] for each in told)
    return (
        {
            "bands": bands,
            **{
                key: sum(each[key] * each["bands"] for each in told) / bands
                for key in ("held_p50_pct", "held_p90_pct")
            },
        }
        if bands
        else None
    )


_COLUMNS = {
    "avg JCT s": "avg_jct_s",
    "p99 JCT s": "p99_jct_s",
    "longest s": "max_jct_s",
    "avg wait s": "avg_wait_s",
    "p99 wait s": "p99_wait_s",
}


def _tables(data: Mapping[str, Any]) -> tuple[Table, ...]:
    parts = data["clusters"]
    tables = [_table(f"{name}: {_size(part)}", part) for name, part in parts.items()]
    if len(parts) > 1:
        jobs = sum(part["jobs"] for part in parts.values())
        tables.append(_table(f"all {len(parts)} together: {jobs:,} jobs", data))
    return tuple(tables)


def _size(part: Mapping[str, Any]) -> str:
    dropped = f", {part['dropped']:,} left out" if part["dropped"] else ""
    return f"{part['nodes']} nodes of 8 GPUs, {part['jobs']:,} jobs{dropped}"


def _table(title: str, part: Mapping[str, Any]) -> Table:
    limits = part["bounds"]
    rows = [_row(name, entry) for name, entry in part["policies"].items()]
    blank = ("",) * len(_COLUMNS)
    least = (f"{limits['avg_jct_s']:,.0f}", *blank, "", "1.00")
    rows.append(("lower bound", *least, f"{limits['makespan_s']:,.0f}", "", ""))
    columns = (
        "policy",
        *_COLUMNS,
        "longest / FIFO",
        "slowdown",
        "JCT / bound",
        "makespan s",
        "preempted",
        "wall s",
    )
    return Table(title, columns, tuple(rows))


def _row(name: str, entry: Mapping[str, Any]) -> tuple[str, ...]:
    over, longest = entry["avg_jct_over_bound"], entry["longest_over_fifo"]
    return (
        name,
        *(f"{entry[key]:,.0f}" for key in _COLUMNS.values()),
        "" if longest is None else f"{longest:.2f}",
        f"{entry['avg_bounded_slowdown']:,.2f}",
        "" if over is None else f"{over:.2f}",
        f"{entry['makespan_s']:,.0f}",
        f"{entry['preemptions']:,}",
        f"{entry['wall_s']:.1f}",
    )
