"""A finished run as plain figures: what the table shows and the JSON file holds."""

from typing import Any

from msgspec import Struct, to_builtins

from ganglion.model.events import Outcome
from ganglion.model.policy import Policy
from ganglion.worlds.causes import Trade
from ganglion.worlds.simulated.attempt import Timing
from ganglion.worlds.simulated.faults.rates import Faults
from ganglion.worlds.simulated.metrics.records import JobRecord, Statistics, spread
from ganglion.worlds.simulated.report.series import TimeSeries, cdf, series_of
from ganglion.worlds.simulated.run import FinishedRun

FORMAT = 1
"""Grows when a key changes its meaning or goes away."""

HOUR_MS = 3_600_000
UNIT_HOUR = 1000 * HOUR_MS
MOST_LISTED = 100


class ClusterPart(Struct, frozen=True):
    """The cluster."""

    nodes: int
    gpus: int
    cpus: int
    queues: int


class JobsPart(Struct, frozen=True):
    """Jobs by fate; `never` could never start and were withdrawn or still waited."""

    total: int
    succeeded: int
    failed: int
    cancelled: int
    timed_out: int
    never: int
    running: int
    waiting: int


class AllocationPart(Struct, frozen=True):
    """Capacity in use in percent of the usable: over the run, and up to the last submission."""

    mean_pct: float
    while_submitting_pct: float
    unit_hours: float


class DamagePart(Struct, frozen=True):
    """What went wrong; `interruptions` counts attempts by how they were cut short."""

    node_losses: int
    device_failures: int
    interruptions: dict[str, int]
    lost_unit_hours: float


class PreemptionPart(Struct, frozen=True):
    """What gangs had to do for others.

    Attributes:
        preempted, reclaimed, moved, yielded: attempts stopped for a gang of the same queue, for
            another queue, to run elsewhere, and for an equal that had less.
        grown, shrunk: changes of elastic gangs.
        lost_unit_hours: work thrown away by such stops, and the overhead of the starts after
            them and of changes of size; part of `damage.lost_unit_hours`.
    """

    preempted: int
    reclaimed: int
    moved: int
    yielded: int
    grown: int
    shrunk: int
    lost_unit_hours: float


class WaitPart(Struct, frozen=True):
    """Waits by the reason given last: how many gangs, for how long in all, and the longest."""

    reason: str
    gangs: int
    waited_hours: float
    longest_hours: float
    longest_gang: str
    message: str


class NeverPart(Struct, frozen=True):
    """A gang that can never start on this cluster, and why."""

    gang: str
    message: str


class QueuePart(Struct, frozen=True):
    """One queue; its share is of all time used."""

    name: str
    jobs: int
    unit_hours: float
    share_pct: float
    mean_wait_s: float
    mean_jct_s: float


class Summary(Struct, frozen=True):
    """Everything the reports show; times in seconds unless the key says otherwise.

    Attributes:
        format: version of this form.
        unit: what capacity is counted in: `GPU`, or `CPU core` where the cluster has no GPU;
            `unit_hours` are GPU-hours or core-hours.
        title, notes: what was simulated, and choices made for the user.
        start_s, end_s: virtual times of the first submission and of the end.
        cycles: how often the engine decided.
        wait_s: from submission to the first start, of jobs that started.
        jct_s: from submission to the end, of jobs that ran to their end.
        slowdown: bounded slowdown of the same jobs.
        fragmentation_pct: part of the free capacity that typical pods could not use (FGD).
        headroom: mean size of the largest gang that could have started.
        series: averages over time.
        wait_cdf: (seconds, part of the started jobs that waited at most that long).
    """

    format: int
    unit: str
    title: str
    notes: tuple[str, ...]
    cluster: ClusterPart
    policy: Policy
    timing: Timing
    faults: Faults
    start_s: float
    end_s: float
    cycles: int
    jobs: JobsPart
    allocation: AllocationPart
    wait_s: Statistics
    jct_s: Statistics
    slowdown: Statistics
    fragmentation_pct: float
    headroom: float
    damage: DamagePart
    preemption: PreemptionPart
    waits: tuple[WaitPart, ...]
    never: tuple[NeverPart, ...]
    queues: tuple[QueuePart, ...]
    series: TimeSeries
    wait_cdf: tuple[tuple[float, float], ...]


def summarise(run: FinishedRun) -> Summary:
    """Turn a run into figures."""
    records, collector, end = list(run.collector.records.values()), run.collector, run.ended
    over = [record for record in records if record.ended is not None and record.attempts]
    waits = [record.wait_ms / 1000 for record in records if record.wait_ms is not None]
    scenario = run.scenario
    return Summary(
        format=FORMAT,
        unit=run.collector.unit.value,
        title=scenario.title,
        notes=scenario.notes,
        cluster=ClusterPart(
            len(scenario.nodes),
            sum(len(node.devices) for node in scenario.nodes),
            sum(node.cpu_milli for node in scenario.nodes) // 1000,
            len(scenario.queues),
        ),
        policy=scenario.policy,
        timing=scenario.timing,
        faults=scenario.faults,
        start_s=scenario.start / 1000,
        end_s=end / 1000,
        cycles=run.cycles,
        jobs=_jobs(run, records),
        allocation=_allocation(run),
        wait_s=spread(waits),
        jct_s=spread([record.jct_ms / 1000 for record in over if record.jct_ms is not None]),
        slowdown=spread([slow for record in over if (slow := record.slowdown) is not None]),
        fragmentation_pct=percent(
            collector.fragment.mean(end), collector.free.mean(end) * collector.fragments.weight
        ),
        headroom=collector.headroom.mean(end),
        damage=_damage(run),
        preemption=_preemption(run),
        waits=_waits(run),
        never=tuple(NeverPart(gang, why) for gang, why in list(run.never.items())[:MOST_LISTED]),
        queues=_queues(run, records),
        series=series_of(run),
        wait_cdf=cdf(waits),
    )


def percent(part: float, whole: float) -> float:
    """`part` in percent of `whole`; 0 of nothing."""
    return 100 * part / whole if whole else 0.0


def as_json(summary: Summary) -> dict[str, Any]:
    """The summary as JSON types, with floats rounded to six digits after the point."""
    rounded = _rounded(to_builtins(summary))
    assert isinstance(rounded, dict)
    return rounded


def _rounded(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    if isinstance(value, float):
        return round(value, 6)
    if isinstance(value, dict):
        return {key: _rounded(each) for key, each in value.items()}
    return [_rounded(each) for each in value] if isinstance(value, list | tuple) else value


def _jobs(run: FinishedRun, records: list[JobRecord]) -> JobsPart:
    fates = [record.outcome for record in records if not record.withdrawn]
    running = run.collector.running.value
    still_never = sum(run.collector.records[gang].ended is None for gang in run.never)
    return JobsPart(
        total=len(run.scenario.jobs),
        succeeded=fates.count(Outcome.SUCCEEDED),
        failed=fates.count(Outcome.FAILED),
        cancelled=fates.count(Outcome.CANCELLED),
        timed_out=fates.count(Outcome.TIMED_OUT),
        never=len(run.never),
        running=running,
        waiting=fates.count(None) - running - still_never,
    )


def _allocation(run: FinishedRun) -> AllocationPart:
    used, total = run.collector.used, run.collector.total
    used_first, total_first = run.collector.while_submitting
    used.mean(run.ended), total.mean(run.ended)
    return AllocationPart(
        percent(used.total, total.total),
        percent(used_first, total_first),
        used.total / UNIT_HOUR,
    )


def _damage(run: FinishedRun) -> DamagePart:
    counts = run.collector.counts
    return DamagePart(
        counts.node_losses,
        counts.device_failures,
        dict(sorted(counts.interruptions.items())),
        counts.lost_milli_ms / UNIT_HOUR,
    )


def _preemption(run: FinishedRun) -> PreemptionPart:
    counts = run.collector.counts
    return PreemptionPart(
        **{kind.value: counts.trades[kind] for kind in Trade},
        grown=counts.grown,
        shrunk=counts.shrunk,
        lost_unit_hours=counts.traded_milli_ms / UNIT_HOUR,
    )


def _waits(run: FinishedRun) -> tuple[WaitPart, ...]:
    ranked = sorted(run.waits.causes.items(), key=lambda item: (-item[1].waited_ms, item[0]))
    return tuple(
        WaitPart(
            token.value,
            cause.gangs,
            cause.waited_ms / HOUR_MS,
            cause.longest_ms / HOUR_MS,
            cause.gang,
            cause.message,
        )
        for token, cause in ranked
    )


def _queues(run: FinishedRun, records: list[JobRecord]) -> tuple[QueuePart, ...]:
    by_queue: dict[str, list[JobRecord]] = {}
    for record in records:
        by_queue.setdefault(record.job.gang.queue, []).append(record)
    whole = run.collector.used.total
    parts = [_queue(name, members, _used(run, name), whole) for name, members in by_queue.items()]
    return tuple(sorted(parts, key=lambda part: (-part.unit_hours, part.name)))


def _used(run: FinishedRun, queue: str) -> int:
    steps = run.collector.by_queue.get(queue)
    if steps is None:
        return 0
    steps.mean(run.ended)
    return steps.total


def _queue(name: str, members: list[JobRecord], used: int, whole: int) -> QueuePart:
    waits = [record.wait_ms / 1000 for record in members if record.wait_ms is not None]
    jcts = [record.jct_ms / 1000 for record in members if record.jct_ms and record.attempts]
    return QueuePart(
        name,
        len(members),
        used / UNIT_HOUR,
        percent(used, whole),
        spread(waits).mean,
        spread(jcts).mean,
    )
