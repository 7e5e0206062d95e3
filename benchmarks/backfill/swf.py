"""`backfill-swf`: which jobs may overtake which, on a batch log with its users' estimates.

The open part of MetaCentrum's log of 2013 (59 days) on one pool of 1,280 processors, other days of
it, or HPC2N's log. Every textbook discipline also runs in a replay without the engine. See
docs/benchmarks/backfill.md.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from time import process_time
from typing import Any

from msgspec import Struct, to_builtins

from benchmarks.backfill.jobs import (
    HPC2N_CPUS,
    OPEN,
    QUEUE,
    Log,
    exactly,
    expecting_the_limit,
    made_up,
    read_log,
    read_log_swf,
)
from benchmarks.backfill.rigid import starts_of
from benchmarks.backfill.rigid_jobs import First, Overtaking, Pool
from benchmarks.common.bands import Told
from benchmarks.common.drive import Outcomes, Stage, drive
from benchmarks.common.waits import Waited, WaitFigures, wait_figures
from benchmarks.registry import (
    Bench,
    BenchOptions,
    Progress,
    Report,
    Table,
    check_policies,
)
from ganglion.model.errors import FieldError
from ganglion.model.kinds import Weighted
from ganglion.model.policy import Backfill, Future, Order, Policy, Repack
from ganglion.model.queue import Queue
from ganglion.worlds.simulated.job import SimJob

Prepare = Callable[[Sequence[SimJob]], Sequence[SimJob]]

_BEST_FIT = (Weighted("bestfit"),)


class Discipline(Struct, frozen=True):
    """One way to schedule the log.

    Attributes:
        policy: the engine's.
        prepare: what the engine learns of each job; None = what the log says.
        overtaking, first: the textbook's name for it; None = there is none.
        exact: whether estimates are the run times.
    """

    policy: Policy
    prepare: Prepare | None = None
    overtaking: Overtaking | None = None
    first: First = First.OLDEST
    exact: bool = False


def _rigid(backfill: Backfill, reservations: int, order: Order = Order.FIFO) -> Policy:
    return Policy(
        order=order,
        scores=_BEST_FIT,
        future=Future(backfill=backfill, reservations=reservations, patience_permille=0),
        repack=Repack(consolidate=False),
    )


_EASY = _rigid(Backfill.EASY, 1)
_ALL = _rigid(Backfill.CONSERVATIVE, 1)
_SHORTEST = _rigid(Backfill.EASY, 1, Order.SHORTEST)

DISCIPLINES: dict[str, Discipline] = {
    "fcfs": Discipline(
        Policy(order=Order.FIFO, strict=True, scores=_BEST_FIT), overtaking=Overtaking.NONE
    ),
    "easy": Discipline(_EASY, overtaking=Overtaking.EASY),
    "easy-exact": Discipline(_EASY, exactly, Overtaking.EASY, exact=True),
    "easy-sjf": Discipline(_SHORTEST, expecting_the_limit, Overtaking.EASY, First.SHORTEST),
    "easy-sjf-exact": Discipline(
        _SHORTEST,
        lambda jobs: exactly(jobs, tell=True),
        Overtaking.EASY,
        First.SHORTEST,
        exact=True,
    ),
    "conservative": Discipline(_ALL, overtaking=Overtaking.CONSERVATIVE),
    "conservative-exact": Discipline(_ALL, exactly, Overtaking.CONSERVATIVE, exact=True),
    "default": Discipline(Policy()),
}
"""Policies by name; all but Ganglion's own have a textbook definition."""

USUAL = ("fcfs", "easy", "easy-sjf", "conservative", "default")
"""Those that run when none is named."""

METACENTRUM = "metacentrum"
HPC2N = {"hpc2n": HPC2N_CPUS, "hpc2n-160": 160, "hpc2n-130": 130}
"""Log of HPC2N by the processors of the pool: its own are too many for jobs to wait."""

_NOTES = (
    "replay: the same discipline without the engine, by counting processors.",
    "p50, p90: of the jobs that had to wait and had a predicted start, those that started by then.",
    "default: ordered by limit x processors; who has waited long gets a reservation.",
)


def run(options: BenchOptions, progress: Progress) -> Report:
    """Run the benchmark.

    Raises:
        InputError, NotFound: no such folder, file or policy, or a value of the file.
    """
    policies = check_policies(BENCH, options.policies or USUAL)
    logs = [_log(options.traces, options)] if options.traces else _made_up(options)
    total, before = len(policies) * sum(len(log.jobs) for log in logs), 0
    found: dict[str, dict[str, Any]] = {}
    for log in logs:
        for name in policies:
            label, base = f"{log.name} {name}", before

            def told(done: int, base: int = base, label: str = label) -> None:
                progress(base + done, total, label)

            found.setdefault(log.name, {})[name] = _entry(log, DISCIPLINES[name], told)
            before += len(log.jobs)
    data = _data(options, logs, found)
    return Report(data, tuple(_table(log, found[log.name]) for log in logs), _NOTES)


def _log(folder: Path, options: BenchOptions) -> Log:
    """The log that `--workload` names, on the days that `--days` gives."""
    wanted, days = options.workload or METACENTRUM, options.days
    if wanted == METACENTRUM:
        return read_log(folder, days or OPEN)
    if wanted not in HPC2N:
        hint = f"it has {', '.join((METACENTRUM, *HPC2N))}"
        raise FieldError(f"backfill-swf has no log {wanted!r}", key="workload", hint=hint)
    return read_log_swf(folder, HPC2N[wanted], days)


def _made_up(options: BenchOptions) -> list[Log]:
    return [made_up(seed) for seed in range(options.seeds)]


def _data(
    options: BenchOptions, logs: Sequence[Log], found: dict[str, dict[str, Any]]
) -> dict[str, Any]:
    first = found[logs[0].name]
    easy = first.get("easy")
    return {
        "bench": "backfill-swf",
        "source": str(options.traces) if options.traces else "synthetic",
        "synthetic": options.traces is None,
        "workload": options.workload,
        "days": options.days,
        "logs": {
            log.name: {
                "jobs": len(log.jobs),
                "cpus": log.cpus,
                "offered_load": round(log.load(), 4),
                "policies": found[log.name],
            }
            for log in logs
        },
        "policies": first,
        "over_easy": {
            name: {
                key: entry[key] / easy[key] if easy[key] else None
                for key in ("mean_wait_s", "max_wait_s")
            }
            for name, entry in first.items()
            if easy
        },
    }


def _entry(log: Log, discipline: Discipline, told: Callable[[int], None]) -> dict[str, Any]:
    jobs = discipline.prepare(log.jobs) if discipline.prepare else log.jobs
    stage = Stage(log.nodes(), [Queue(QUEUE)], jobs, discipline.policy)
    bands = Told()
    began = process_time()
    outcome = drive(stage, told, bands.look)
    cpu = process_time() - began
    entry: dict[str, Any] = to_builtins(_figures(outcome))
    entry |= {
        "eta": bands.scored(outcome.courses),
        "preemptions": outcome.preemptions,
        "cycles": outcome.cycles,
        "engine_s": outcome.engine_seconds,
        "slowest_cycle_ms": outcome.slowest_ms,
        "cpu_s": cpu,
    }
    return entry | _replayed(log, discipline, entry)


def _figures(outcome: Outcomes) -> WaitFigures:
    return wait_figures(
        [Waited(course.wait, course.job.duration_ms or 0) for course in outcome.courses]
    )


def _replayed(log: Log, discipline: Discipline, ours: dict[str, Any]) -> dict[str, Any]:
    """The same discipline without the engine, and ours over it."""
    if discipline.overtaking is None:
        return {}
    jobs = log.rigid(exact=discipline.exact)
    starts = starts_of(jobs, Pool(1, log.cpus), discipline.overtaking, discipline.first)
    waited = [Waited(starts[job.number] - job.submitted, job.duration) for job in jobs]
    figures = wait_figures(waited)
    mean = figures.mean_wait_s
    return {
        "replay": to_builtins(figures),
        "mean_wait_over_replay": ours["mean_wait_s"] / mean if mean else None,
    }


_COLUMNS = {"mean wait s": "mean_wait_s", "p95 s": "p95_wait_s", "max s": "max_wait_s"}


def _table(log: Log, entries: dict[str, Any]) -> Table:
    heads = ("policy", *_COLUMNS, "slowdown", "replay mean s", "/ replay", "p50", "p90", "cpu s")
    title = f"{log.name}: {len(log.jobs):,} jobs, {log.cpus:,} CPUs, load {log.load():.2f}"
    return Table(title, heads, tuple(_row(name, entry) for name, entry in entries.items()))


def _row(name: str, entry: dict[str, Any]) -> tuple[str, ...]:
    replay, over = entry.get("replay"), entry.get("mean_wait_over_replay")
    return (
        name,
        *(f"{entry[key]:,.0f}" for key in _COLUMNS.values()),
        f"{entry['mean_bounded_slowdown']:,.1f}",
        f"{replay['mean_wait_s']:,.0f}" if replay else "",
        f"{over:.3f}" if over else "",
        _held(entry["eta"], "held_p50_pct"),
        _held(entry["eta"], "held_p90_pct"),
        f"{entry['cpu_s']:.1f}",
    )


def _held(eta: dict[str, Any], key: str) -> str:
    return "" if eta[key] is None else f"{eta[key]:.1f} %"


BENCH = Bench(
    "backfill-swf",
    "Waits on a batch log under backfilling with users' estimates.",
    run,
    tuple(DISCIPLINES),
    sizes=("days",),
)
