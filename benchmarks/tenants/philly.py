"""`tenant-philly`: what virtual clusters gain when they share, and whether any of them loses.

Two months of Microsoft's Philly trace, every virtual cluster at an offered load of 0.9: each on
nodes of its own against all on one cluster, with quotas, borrowing and reclaim. See
docs/benchmarks/tenants.md.
"""

from collections.abc import Callable, Mapping, Sequence
from time import process_time
from typing import Any

from msgspec.structs import replace

from benchmarks.backfill.rigid import starts_of
from benchmarks.backfill.rigid_jobs import First, Overtaking, Pool, Rigid
from benchmarks.common.bands import Told
from benchmarks.common.drive import Outcomes, Stage, drive
from benchmarks.common.jobs import GPUS_PER_NODE, Cluster
from benchmarks.common.replay import Recipe, nodes_of, replay
from benchmarks.completion.jct import TEXTBOOK
from benchmarks.registry import (
    Bench,
    BenchOptions,
    Progress,
    Report,
    Table,
    check_policies,
)
from benchmarks.tenants.jobs import (
    CHECKPOINT_MS,
    DAYS,
    LOAD,
    Tenants,
    made_up,
    read_tenants,
    rigid,
)
from benchmarks.tenants.owed import Owed
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.model.errors import FieldError
from ganglion.model.events import Event
from ganglion.model.plan import Plan
from ganglion.model.policy import Policy
from ganglion.model.queue import Preemption

RESTART_MS = 60_000

ISOLATED: dict[str, tuple[Overtaking, First]] = {
    "fifo": (Overtaking.NONE, First.OLDEST),
    "easy": (Overtaking.EASY, First.OLDEST),
    "ssf-easy": (Overtaking.EASY, First.SMALLEST),
}
POOLED = {f"{name}-pooled": how for name, how in ISOLATED.items()}
"""The same with all tenants' jobs in one queue and on one cluster."""

SRSF: dict[str, Recipe] = {
    "srsf": TEXTBOOK["srsf"],
    "srsf-charged": replace(TEXTBOOK["srsf"], restart_ms=lambda _: RESTART_MS),
}
SHARED = "default"
TOGETHER = {
    SHARED: Policy(),
    "guaranteed": Policy(preemption=Preemption()),
}
"""All tenants on one cluster with quotas; with `guaranteed` a tenant takes back its quota alone,
not its share of what is beyond all quotas."""

POLICIES = (*ISOLATED, *SRSF, *POOLED, *TOGETHER)

_NOTES = (
    "fifo, easy, ssf-easy, srsf: each virtual cluster on its own nodes; all of them know durations"
    " except fifo, and srsf restarts for nothing.",
    f"srsf-charged: a restart costs {RESTART_MS // 1000} s, and no other work is lost. The others"
    " stop no job.",
    "-pooled: one line of all jobs on one cluster, without quotas.",
    "default: all share, each with its nodes' GPUs as quota; durations are learnt, a restart costs"
    f" {RESTART_MS // 1000} s and the work since the last checkpoint, of which there is one every"
    f" {CHECKPOINT_MS // 60_000} minutes.",
    "guaranteed: the same, but a tenant takes back its quota alone; what another one uses beyond"
    " all quotas it keeps.",
)

Averages = dict[str, dict[str, float]]
"""Policy -> virtual cluster -> average JCT in s."""


def run(options: BenchOptions, progress: Progress) -> Report:
    """Run the benchmark.

    Raises:
        InputError, NotFound: no such folder, file or policy, or a value of the file.
    """
    policies = check_policies(BENCH, options.policies)
    tenants = _tenants(options)
    jobs = sum(len(each.jobs) for each in tenants.clusters)
    averages: Averages = {}
    seconds: dict[str, float] = {}
    together: dict[str, Any] = {"shared": {}}
    for done, name in enumerate(policies):

        def told(count: int, base: int = jobs * done, label: str = name) -> None:
            progress(base + count, jobs * len(policies), label)

        told(0)
        began = process_time()
        if name in TOGETHER:
            key = "shared" if name == SHARED else name
            averages[name], together[key] = _together(tenants, TOGETHER[name], told)
        elif name in POOLED:
            averages[name] = in_one_line(tenants, name)
        else:
            averages[name] = {c.name: isolated(c, name) for c in tenants.clusters}
        seconds[name] = process_time() - began
    data = _data(options, tenants, averages) | together | {"cpu_s": seconds}
    return Report(data, (_table(tenants, data),), _NOTES)


def _tenants(options: BenchOptions) -> Tenants:
    """Those of the trace, for as many days as `workload` says, or made-up ones."""
    days = options.workload or str(DAYS)
    if not days.isdigit() or not 0 < int(days) <= DAYS:
        raise FieldError(
            f"--workload {days}: tenant-philly takes a number of days",
            hint=f"1 to {DAYS}, from October 2017 on",
        )
    return read_tenants(options.traces, int(days)) if options.traces else made_up(0)


def isolated(cluster: Cluster, name: str) -> float:
    """Average JCT in s of a virtual cluster on its own nodes."""
    if name in SRSF:
        done = replay(cluster, SRSF[name]).done
        return sum(each.jct for each in done) / len(done) / 1000
    jobs, pool = rigid(cluster)
    starts = starts_of(jobs, pool, *ISOLATED[name])
    jcts = (starts[job.number] - job.submitted + job.duration for job in jobs)
    return sum(jcts) / len(jobs) / 1000


def in_one_line(tenants: Tenants, name: str) -> dict[str, float]:
    """Average JCT in s by virtual cluster where all jobs stand in one line for all nodes."""
    owners = [(job, each.name) for each in tenants.clusters for job in each.jobs]
    owners.sort(key=lambda owner: (owner[0].submitted, owner[1], owner[0].number))
    jobs = [
        Rigid(number, job.submitted, job.duration, job.duration, job.gpus)
        for number, (job, _) in enumerate(owners)
    ]
    starts = starts_of(jobs, Pool(tenants.nodes, GPUS_PER_NODE), *POOLED[name])
    jcts: dict[str, list[int]] = {each.name: [] for each in tenants.clusters}
    for job, (_, owner) in zip(jobs, owners, strict=True):
        jcts[owner].append(starts[job.number] - job.submitted + job.duration)
    return {owner: sum(each) / len(each) / 1000 for owner, each in jcts.items()}


def _together(
    tenants: Tenants, policy: Policy, told: Callable[[int], None]
) -> tuple[dict[str, float], dict[str, Any]]:
    stage = Stage(
        nodes_of(tenants.nodes),
        tenants.queues(),
        tenants.jobs(),
        policy,
        lambda _: RESTART_MS,
        saves=False,
    )
    owed = Owed({each.name: each.gpus for each in tenants.clusters})
    bands = Told()

    def look(state: ClusterState, events: Sequence[Event], plan: Plan) -> None:
        owed.look(state, events, plan)
        bands.look(state, events, plan)

    found = drive(stage, told, look)
    jcts: dict[str, list[int]] = {}
    for course in found.courses:
        jcts.setdefault(course.job.gang.queue, []).append(course.jct)
    averages = {each.name: jcts[each.name] for each in tenants.clusters}
    return (
        {name: sum(each) / len(each) / 1000 for name, each in averages.items()},
        owed.figures() | {"eta": bands.scored(found.courses)} | _costs(found),
    )


def _costs(found: Outcomes) -> dict[str, Any]:
    return {
        "preemptions": found.preemptions,
        "lost_gpu_hours": sum(each.lost_gpu_ms for each in found.courses) / 3_600_000,
        "cycles": found.cycles,
        "engine_s": found.engine_seconds,
        "slowest_cycle_ms": found.slowest_ms,
    }


def _data(options: BenchOptions, tenants: Tenants, averages: Averages) -> dict[str, Any]:
    pooled = {name: _pooled(tenants, each) for name, each in averages.items()}
    return {
        "bench": "tenant-philly",
        "source": str(options.traces) if options.traces else "synthetic",
        "synthetic": tenants.synthetic,
        "offered_load": LOAD,
        "nodes": tenants.nodes,
        "restart_s": RESTART_MS / 1000,
        "checkpoint_s": CHECKPOINT_MS / 1000,
        "avg_jct_s": pooled,
        "vcs": {
            each.name: _vc(each, {name: found[each.name] for name, found in averages.items()})
            for each in tenants.clusters
        },
        "default_over": {
            name: pooled[SHARED] / figure for name, figure in pooled.items() if SHARED in pooled
        },
        "vcs_worse_than_isolated_fifo": [
            each.name for each in tenants.clusters if _worse(averages, each.name)
        ],
    }


def _worse(averages: Averages, vc: str) -> bool:
    both = {"fifo", SHARED} <= set(averages)
    return both and averages[SHARED][vc] > averages["fifo"][vc]


def _pooled(tenants: Tenants, averages: Mapping[str, float]) -> float:
    """The average over the jobs of all virtual clusters."""
    jobs = sum(len(each.jobs) for each in tenants.clusters)
    return sum(averages[each.name] * len(each.jobs) for each in tenants.clusters) / jobs


def _vc(cluster: Cluster, averages: dict[str, float]) -> dict[str, Any]:
    ours, fifo = averages.get(SHARED), averages.get("fifo")
    return {
        "nodes": cluster.nodes,
        "jobs": len(cluster.jobs),
        "avg_jct_s": averages,
        "default_over_isolated_fifo": ours / fifo if ours and fifo else None,
    }


def _table(tenants: Tenants, data: Mapping[str, Any]) -> Table:
    names = tuple(data["avg_jct_s"])
    rows = [_row(name, part, names) for name, part in data["vcs"].items()]
    jobs = sum(len(each.jobs) for each in tenants.clusters)
    everything = {"nodes": tenants.nodes, "jobs": jobs, "avg_jct_s": data["avg_jct_s"]}
    rows.append(_row("all", everything, names))
    heads = ("vc", "nodes", "jobs", *names, "default / fifo")
    return Table("Average JCT in s", heads, tuple(rows))


def _row(name: str, part: Mapping[str, Any], policies: tuple[str, ...]) -> tuple[str, ...]:
    averages = part["avg_jct_s"]
    ours, fifo = averages.get(SHARED), averages.get("fifo")
    return (
        name,
        str(part["nodes"]),
        f"{part['jobs']:,}",
        *(f"{averages[each]:,.0f}" for each in policies),
        f"{ours / fifo:.3f}" if ours and fifo else "",
    )


BENCH = Bench(
    "tenant-philly",
    "What virtual clusters gain by sharing one cluster, and whether any of them loses.",
    run,
    POLICIES,
)
