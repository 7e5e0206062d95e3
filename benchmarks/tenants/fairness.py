"""`fairness`: what equal queues hold of a cluster when one of them floods it.

See docs/benchmarks/fairness.md.
"""

from collections import Counter
from collections.abc import Sequence
from statistics import fmean
from typing import Any

from msgspec.structs import replace

from benchmarks.common.drive import Stage, drive
from benchmarks.common.replay import nodes_of
from benchmarks.registry import (
    Bench,
    BenchOptions,
    Progress,
    Report,
    Table,
    check_policies,
)
from benchmarks.tenants.fairness_jobs import (
    FIELDS,
    GPUS,
    LEAVES,
    MINUTE,
    NODES,
    QUOTAS,
    SPAN_MS,
    WARM_UP_MS,
    Field,
    jobs,
    queues,
)
from benchmarks.tenants.owed import jain
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.model.errors import FieldError
from ganglion.model.events import Event
from ganglion.model.plan import Plan
from ganglion.model.policy import Policy
from ganglion.model.queue import ANY_FLAVOR
from ganglion.model.resources import Usage
from ganglion.specs.policy.presets import kai, kueue

MIN_RUNTIME_MS = 10 * MINUTE
RESTART_MS = MINUTE
GPU_HOUR = 3_600_000

_KAI = kai()
POLICIES: dict[str, Policy] = {
    "default": Policy(timeshare=False),  # what is counted is stops between queues
    "kai": replace(_KAI, preemption=replace(_KAI.preemption, protected_ms=MIN_RUNTIME_MS)),
    "kueue": kueue(),
}

_NOTHING = Usage()


class Held:
    """GPU time that each queue holds, and how often gangs are stopped, after the warm-up."""

    def __init__(self) -> None:
        self.milli_ms = dict.fromkeys(LEAVES, 0)
        self.stops: Counter[str] = Counter()
        self._now = 0
        self._held = dict.fromkeys(LEAVES, 0)

    def look(self, state: ClusterState, events: Sequence[Event], plan: Plan) -> None:
        """Take in one cycle; a `Look` of `drive`."""
        del events
        self.until(plan.at)
        usage = state.queues.shares.usage
        self._held = {name: usage[name].get(ANY_FLAVOR, _NOTHING).gpu_milli for name in LEAVES}
        self.stops.update(stop.gang for stop in plan.stops)

    def until(self, now: int) -> None:
        """Count what was held up to now."""
        passed = max(min(now, SPAN_MS) - max(self._now, WARM_UP_MS), 0)
        for name, milli in self._held.items():
            self.milli_ms[name] += milli * passed
        self._now = now


def measure(field: Field, quota: int, policy: Policy, seed: int) -> dict[str, Any]:
    """Figures of one run."""
    held = Held()
    stage = Stage(
        nodes_of(NODES),
        queues(field, quota),
        jobs(field, seed),
        policy,
        lambda _: RESTART_MS,
        saves=False,
        until_ms=SPAN_MS,
    )
    found = drive(stage, look=held.look)
    held.until(SPAN_MS)
    hours = {name: each / 1000 / GPU_HOUR for name, each in held.milli_ms.items()}
    lost = sum(each.lost_gpu_ms for each in found.courses) / GPU_HOUR
    room = GPUS * (SPAN_MS - WARM_UP_MS) / GPU_HOUR
    return {
        "jain": jain(list(hours.values())),
        "gpu_hours": hours,
        "busy": sum(hours.values()) / room,
        "stops": found.preemptions,
        "most_stops_of_a_gang": max(held.stops.values(), default=0),
        "lost_gpu_hours": lost,
        "engine_s": found.engine_seconds,
    }


_NOTES = (
    "jain: Jain's index of the GPU-hours that the four queues held. lost: work since the last"
    " checkpoint, restarts included, of all that were stopped within the 24 hours.",
    "kai with a least run time of ten minutes; kueue does not preempt by itself.",
)

_COLUMNS = ("policy", "quota", "jain", "busy %", "lost GPU-h", "stops", "most of one gang")


def run(options: BenchOptions, progress: Progress) -> Report:
    """Run the benchmark; it needs no traces. `workload` may name one shape of competition.

    Raises:
        FieldError: an unknown policy or workload, or traces.
    """
    fields = _fields(options)
    policies = check_policies(BENCH, options.policies)
    steps = [
        (f, p, q, s) for f in fields for p in policies for q in QUOTAS for s in _seeds(options)
    ]
    runs: dict[tuple[str, str, int], list[dict[str, Any]]] = {}
    for done, (name, policy, quota, seed) in enumerate(steps):
        progress(done, len(steps), f"{name} {policy} quota {quota}")
        found = measure(FIELDS[name], quota, POLICIES[policy], seed)
        runs.setdefault((name, policy, quota), []).append(found)
    progress(len(steps), len(steps), "done")
    means = {key: _mean(entries) for key, entries in runs.items()}
    figures: dict[str, dict[str, dict[str, Any]]] = {}
    for (name, policy, quota), each in means.items():
        figures.setdefault(name, {}).setdefault(policy, {})[str(quota)] = each
    data: dict[str, Any] = {
        "bench": "fairness",
        "synthetic": True,
        "seeds": list(_seeds(options)),
        "gpus": GPUS,
        "hours": SPAN_MS // GPU_HOUR,
        "warm_up_hours": WARM_UP_MS // GPU_HOUR,
        "fields": {name: FIELDS[name].help for name in fields},
        "figures": figures,
    }
    return Report(data, tuple(_table(name, means) for name in fields), _NOTES)


def _fields(options: BenchOptions) -> tuple[str, ...]:
    if options.traces:
        raise FieldError("fairness makes its jobs up", hint="leave --traces out")
    if options.workload is None:
        return tuple(FIELDS)
    if options.workload not in FIELDS:
        known = ", ".join(FIELDS)
        raise FieldError(f"fairness has no workload {options.workload!r}", hint=f"it has: {known}")
    return (options.workload,)


def _seeds(options: BenchOptions) -> range:
    return range(options.seeds)


def _mean(entries: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Means over seeds, the least index and the most stops of one gang."""
    hours = {name: fmean(each["gpu_hours"][name] for each in entries) for name in LEAVES}
    plain = ("jain", "busy", "stops", "lost_gpu_hours", "engine_s")
    return {
        **{key: fmean(each[key] for each in entries) for key in plain},
        "least_jain": min(each["jain"] for each in entries),
        "most_stops_of_a_gang": max(each["most_stops_of_a_gang"] for each in entries),
        "gpu_hours": hours,
    }


def _table(field: str, means: dict[tuple[str, str, int], dict[str, Any]]) -> Table:
    rows = [
        (
            policy,
            str(quota),
            f"{each['jain']:.3f}",
            f"{100 * each['busy']:.1f}",
            f"{each['lost_gpu_hours']:.1f}",
            f"{each['stops']:.0f}",
            str(each["most_stops_of_a_gang"]),
        )
        for (name, policy, quota), each in means.items()
        if name == field
    ]
    return Table(f"{field}: {FIELDS[field].help}", _COLUMNS, tuple(rows))


BENCH = Bench(
    "fairness",
    "Fairness among queues of which one floods the cluster, and the GPU-hours lost for it.",
    run,
    tuple(POLICIES),
)
