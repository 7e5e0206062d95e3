"""`failures`: GPU time lost to failing nodes, GPUs and programs, and to maintenance.

A fleet under training fails at the rates that were published for Llama 3, with and without what
Ganglion does about it. See docs/benchmarks/failures.md.
"""

from collections.abc import Callable, Iterable
from statistics import fmean
from typing import Any

from msgspec import Struct

from benchmarks.common.jobs import GPUS_PER_NODE
from benchmarks.common.replay import nodes_of
from benchmarks.failures import fleet
from benchmarks.failures.warden import BenchWarden
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
from ganglion.model.policy import Failures, Policy, Repack
from ganglion.model.queue import Queue
from ganglion.worlds.simulated.attempt import Timing
from ganglion.worlds.simulated.job import SimJob
from ganglion.worlds.simulated.metrics.records import JobRecord
from ganglion.worlds.simulated.run import FinishedRun, simulate
from ganglion.worlds.simulated.scenario import SimulatedScenario

DAYS, NODES = 60, 256
GPU_HOUR = 1000 * fleet.HOUR
IN_PLACE = 50
"""Of a hundred gangs, how many can have lost pods replaced, where that is not what is asked."""

Jobs = Callable[[int, int, int, int], list[SimJob]]


class Load(Struct, frozen=True):
    """What a fleet runs, and how bad its worst nodes are.

    Attributes:
        jobs: makes them.
        in_place: of a hundred gangs, how many can have lost pods replaced.
        lemon_factor: how many times as often as others the worst nodes fail.
    """

    jobs: Jobs
    in_place: int
    lemon_factor: int = fleet.LEMON_FACTOR


WORKLOADS: dict[str, Load] = {
    "one": Load(fleet.one, 100),
    "one-rigid": Load(fleet.one, 0),
    "mixed": Load(fleet.mixed, IN_PLACE),
    "mixed-rigid": Load(fleet.mixed, 0),
    "one-lemons": Load(fleet.one, 100, 20 * fleet.LEMON_FACTOR),
    "mixed-lemons": Load(fleet.mixed, IN_PLACE, 20 * fleet.LEMON_FACTOR),
}
"""By name; nothing can be replaced in place in those that are rigid."""


class Measures(Struct, frozen=True):
    """What is done about failures.

    Attributes:
        foresight: nodes are cleared for maintenance after checkpoints, not when it begins.
        quarantine: nodes that fail again and again are left alone.
        in_place: lost pods are replaced where programs can take it.
        spares: nodes kept free.
    """

    foresight: bool = False
    quarantine: bool = False
    in_place: bool = False
    spares: int = 0


POLICIES: dict[str, Measures] = {
    "restart-all": Measures(),
    "cleared at checkpoints": Measures(foresight=True),
    "quarantine": Measures(quarantine=True),
    "in place": Measures(in_place=True),
    "in place, spare": Measures(in_place=True, spares=1),
    "all": Measures(foresight=True, quarantine=True, in_place=True),
    "all, spare": Measures(foresight=True, quarantine=True, in_place=True, spares=1),
}
"""The reference, each measure alone, and all together."""

NOTES = (
    "lost: GPU-hours of work done again and of starting up again. kept back: GPU-hours of nodes"
    " that were quarantined or spare.",
    "goodput: GPU time that got work done, of all the GPU time of the fleet.",
)


def run(options: BenchOptions, progress: Progress) -> Report:
    """Run the benchmark; it needs no traces.

    Raises:
        FieldError: an unknown policy or workload, too few nodes, or traces.
    """
    workload, nodes = _checked(options)
    policies = check_policies(BENCH, options.policies)
    seeds = range(options.seeds)
    steps = [(seed, name) for seed in seeds for name in policies]
    runs: dict[str, list[dict[str, Any]]] = {name: [] for name in policies}
    for done, (seed, name) in enumerate(steps):
        progress(done, len(steps), f"{name} seed {seed}")
        runs[name].append(once(seed, workload, nodes, POLICIES[name]))
    progress(len(steps), len(steps), "done")
    means = {
        name: {key: fmean(entry[key] for entry in entries) for key in entries[0]}
        for name, entries in runs.items()
    }
    _compare(means)
    data = {
        "bench": "failures",
        "synthetic": True,
        "workload": workload,
        "nodes": nodes,
        "days": DAYS,
        "seeds": list(seeds),
        "policies": means,
        "per_seed": runs,
    }
    return Report(data, (_table(means, workload, nodes, len(seeds)),), NOTES)


def _checked(options: BenchOptions) -> tuple[str, int]:
    if options.traces:
        raise FieldError("failures makes its jobs up", hint="leave --traces out")
    workload, nodes = options.workload or next(iter(WORKLOADS)), options.nodes or NODES
    if workload not in WORKLOADS:
        raise FieldError(
            f"failures has no workload {workload!r}", hint=f"it has: {', '.join(WORKLOADS)}"
        )
    if nodes < 8:
        raise FieldError(f"{nodes} nodes are too few", key="--nodes", hint="give at least 8")
    return workload, nodes


def once(seed: int, workload: str, nodes: int, measures: Measures) -> dict[str, Any]:
    """The figures of one run."""
    made = nodes_of(nodes)
    load = WORKLOADS[workload]
    policy = Policy(repack=Repack(consolidate=False))
    scenario = SimulatedScenario(
        nodes=tuple(made),
        queues=(Queue(fleet.QUEUE),),
        jobs=tuple(load.jobs(seed, nodes, DAYS, load.in_place if measures.in_place else 0)),
        policy=policy,
        timing=Timing(
            restart_ms=fleet.RESTART, replace_ms=fleet.REPLACE, stop_ms=0, most_restarts=1 << 30
        ),
        faults=fleet.faults(seed, load.lemon_factor),
        horizon_ms=DAYS * fleet.DAY,
    )
    warden = BenchWarden(
        Failures(quarantine_after=3 if measures.quarantine else 0, spares=measures.spares),
        fleet.maintenance(seed, [node.name for node in made], DAYS),
        lead_ms=2 * fleet.SAVE if measures.foresight else 0,
    )
    return _figures(simulate(scenario, warden=warden), warden, nodes)


def _figures(found: FinishedRun, warden: BenchWarden, nodes: int) -> dict[str, Any]:
    collector, records = found.collector, found.collector.records.values()
    capacity = nodes * GPUS_PER_NODE * 1000 * DAYS * fleet.DAY
    lost = sum(record.lost_ms * record.size_milli for record in records)
    collector.used.add(found.ended, 0)
    counts = collector.counts
    return {
        "lost_gpu_hours": lost / GPU_HOUR,
        "kept_back_gpu_hours": warden.kept_back_ms(found.ended) * GPUS_PER_NODE / fleet.HOUR,
        "goodput": (collector.used.total - lost) / capacity,
        "restarts": _restarts(records),
        "node_losses": counts.node_losses,
        "device_failures": counts.device_failures,
        "crashes": counts.interruptions["failed"],
        "cycles": found.cycles,
    }


def _restarts(records: Iterable[JobRecord]) -> int:
    return sum(max(record.attempts - 1, 0) for record in records)


def _compare(means: dict[str, dict[str, Any]]) -> None:
    """By how many per cent less is lost, kept back included, than by the reference."""
    reference = means.get("restart-all")
    for entry in means.values():
        entry["all_gpu_hours"] = entry["lost_gpu_hours"] + entry["kept_back_gpu_hours"]
    for entry in means.values():
        before = reference["all_gpu_hours"] if reference else 0
        entry["less_pct"] = 100 * (1 - entry["all_gpu_hours"] / before) if before else 0.0


_COLUMNS = {
    "lost GPU h": ("lost_gpu_hours", "{:,.0f}"),
    "kept back": ("kept_back_gpu_hours", "{:,.0f}"),
    "both, less %": ("less_pct", "{:.1f}"),
    "goodput": ("goodput", "{:.4f}"),
    "restarts": ("restarts", "{:,.1f}"),
    "nodes lost": ("node_losses", "{:,.1f}"),
    "GPUs sick": ("device_failures", "{:,.1f}"),
    "crashes": ("crashes", "{:,.1f}"),
}


def _table(means: dict[str, dict[str, Any]], workload: str, nodes: int, seeds: int) -> Table:
    title = f"{workload}: {nodes} nodes of 8 GPUs over {DAYS} days, mean of {seeds} seeds"
    return compared(title, "measures", _COLUMNS, means)


BENCH = Bench(
    "failures",
    "GPU-hours lost to failures and maintenance, by what is done about them.",
    run,
    tuple(POLICIES),
    ("nodes",),
)
