"""`deadlines`: how many jobs miss their deadline, with the engine's order and with others.

Virtual clusters of Microsoft's Philly trace with the deadlines of Chronus (SoCC'21): a part of
the jobs has one, the rest are best effort. See docs/benchmarks/deadlines.md.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from random import Random
from time import process_time
from typing import Any

from msgspec import Struct

from benchmarks.backfill.rigid import starts_of
from benchmarks.backfill.rigid_jobs import First, Overtaking, Pool, Rigid
from benchmarks.common.drive import Course, Stage, drive
from benchmarks.common.jobs import GPUS_PER_NODE
from benchmarks.common.replay import QUEUE, nodes_of
from benchmarks.common.traces import choose, csv_files
from benchmarks.registry import (
    Bench,
    BenchOptions,
    Progress,
    Report,
    check_policies,
    compared,
)
from ganglion.model.errors import FieldError
from ganglion.model.policy import Policy
from ganglion.model.queue import Queue
from ganglion.model.workload import Gang
from ganglion.worlds.simulated.job import Shapes, SimJob
from ganglion.worlds.simulated.readers.text import CsvTable, Row, as_number

MINUTE_MS = 60_000
LOAD = 0.9
FILE = "MIX2"
"""Strict and soft deadlines and jobs without any."""
COLUMNS = (
    "submit_min",
    "duration_min",
    "num_gpus",
    "expect_time_list",
    "job_type",
    "model",
    "vc",
)
CHOSEN_ON = 3
"""Virtual clusters, the first by name, on which the engine's constants were chosen."""

FIFO, EDF, BLIND, AWARE = "fifo", "edf", "without", "default"
POLICIES = (FIFO, EDF, BLIND, AWARE)

_NOTES = (
    "fifo, edf: replays without the engine; a job that does not fit is passed. edf puts the"
    " earliest deadline first and jobs without one last.",
    "without, default: Ganglion's default policy, told no deadlines and told them; durations are"
    " learnt from the jobs that ended.",
    "No policy stops a job, so that all of them use the same GPU-hours.",
)


class Due(Struct, frozen=True):
    """One job of the trace.

    Attributes:
        submitted, duration: in ms.
        gpus: whole GPUs.
        name: model that it trains.
        due: when it should have ended, in ms; 0 = best effort.
    """

    submitted: int
    duration: int
    gpus: int
    name: str
    due: int = 0


Jobs = Sequence[Due]


def run(options: BenchOptions, progress: Progress) -> Report:
    """Run the benchmark; `--workload` names one virtual cluster, as in the trace.

    Raises:
        InputError, NotFound: no such folder, file, virtual cluster or policy.
    """
    policies = check_policies(BENCH, options.policies)
    clusters = _clusters(options)
    total = sum(map(len, clusters.values())) * len(policies)
    found: dict[str, dict[str, Any]] = {}
    done = 0
    for cluster, jobs in clusters.items():
        found[cluster] = {}
        for name in policies:

            def told(count: int, base: int = done, label: str = f"{name} {cluster}") -> None:
                progress(base + count, total, label)

            told(0)
            began = process_time()
            ends = _ends(jobs, name, told)
            found[cluster][name] = _figures(jobs, ends) | {"cpu_s": process_time() - began}
            done += len(jobs)
    parts = {"all": tuple(found)}
    if options.traces and not options.workload:
        named = sorted(found)
        parts |= {"chosen on": tuple(named[:CHOSEN_ON]), "held out": tuple(named[CHOSEN_ON:])}
    pooled = {
        part: {name: _pooled([found[c][name] for c in named]) for name in policies}
        for part, named in parts.items()
    }
    data = {
        "bench": "deadlines",
        "source": str(options.traces) if options.traces else "synthetic",
        "offered_load": LOAD,
        "pooled": pooled,
        "clusters": found,
    }
    forms = {
        "missed": ("missed", "{:.1%}"),
        "late, mean": ("mean_tardiness_s", "{:,.0f} s"),
        "best effort, mean": ("best_effort_jct_s", "{:,.0f} s"),
        "GPU-hours": ("gpu_hours", "{:,.0f}"),
    }
    tables = tuple(compared(part, "policy", forms, each) for part, each in pooled.items())
    return Report(data, tables, _NOTES)


def _clusters(options: BenchOptions) -> dict[str, Jobs]:
    """Jobs by virtual cluster, in order of submission."""
    if options.traces is None:
        return {"made-up": made_up(0)}
    found = read_due(choose(csv_files(options.traces), FILE, options.traces))
    wanted = options.workload
    if wanted is None:
        return found
    if wanted not in found:
        hint = f"there are: {', '.join(found)}"
        raise FieldError(f"the trace has no virtual cluster {wanted!r}", hint=hint)
    return {wanted: found[wanted]}


def read_due(path: Path) -> dict[str, Jobs]:
    """Read the jobs of a Chronus table, by virtual cluster; jobs without GPUs are left out.

    Raises:
        FileError: the file is unreadable, or a needed column is missing.
        FieldError: a value is no number.
    """
    table = CsvTable(path)
    submit, duration, gpus, dues, sort, model, vc = (table.find((name,), name) for name in COLUMNS)
    found: dict[str, list[Due]] = {}
    for row in table:
        submitted = MINUTE_MS * row.number(submit, "submit_min")
        job = Due(
            submitted,
            MINUTE_MS * row.number(duration, "duration_min"),
            row.number(gpus, "num_gpus"),
            row.text(model),
            0 if row.text(sort) == "best" else submitted + _allowed(row, dues),
        )
        if job.gpus:
            found.setdefault(row.text(vc), []).append(job)
    return {name: sorted(found[name], key=lambda job: job.submitted) for name in sorted(found)}


def _allowed(row: Row, place: int) -> int:
    """Time from submission to the first of the deadlines of a job, in ms."""
    first = row.text(place).partition("-")[0]
    return MINUTE_MS * as_number(first, "expect_time_list", str(row.path), row.line)


def made_up(seed: int, count: int = 400) -> Jobs:
    """Jobs of a made-up cluster: lengths differ a hundredfold, nine of ten have a deadline."""
    chance, at, jobs = Random(seed), 0, []
    for _ in range(count):
        at += int(chance.expovariate(1 / 4)) * MINUTE_MS
        duration = int(min(chance.lognormvariate(3.5, 1.5), 2000) + 1) * MINUTE_MS
        slack = int(duration * chance.uniform(0.2, 2)) + 10 * MINUTE_MS
        due = at + duration + slack if chance.random() < 0.9 else 0
        jobs.append(Due(at, duration, chance.choice((1, 1, 1, 1, 2, 4, 8)), "m", due))
    return jobs


def _nodes(jobs: Jobs) -> int:
    """Nodes at which the jobs are `LOAD` of what there is, and the largest fits."""
    span = max(jobs[-1].submitted - jobs[0].submitted, 1)
    work = sum(job.duration * job.gpus for job in jobs)
    largest = max(-(-job.gpus // GPUS_PER_NODE) for job in jobs)
    return max(round(work / span / GPUS_PER_NODE / LOAD), largest, 1)


def _ends(jobs: Jobs, name: str, told: Callable[[int], None]) -> list[int]:
    """When each job ends, in ms."""
    if name in (FIFO, EDF):
        never = 1 + max(job.submitted + job.duration + job.due for job in jobs)
        rigid = [
            Rigid(at, job.submitted, job.duration, job.duration, job.gpus, job.due or never)
            for at, job in enumerate(jobs)
        ]
        first = First.DUE if name == EDF else First.OLDEST
        starts = starts_of(rigid, Pool(_nodes(jobs), GPUS_PER_NODE), Overtaking.ANY, first)
        return [starts[at] + job.duration for at, job in enumerate(jobs)]
    courses = drive(_stage(jobs, told_deadlines=name == AWARE), told).courses
    return [_undisturbed(course).ended for course in courses]


def _undisturbed(course: Course) -> Course:
    assert course.attempts == 1, "a policy of this benchmark stops no job"
    return course


def _stage(jobs: Jobs, *, told_deadlines: bool) -> Stage:
    shapes = Shapes(GPUS_PER_NODE)
    gangs = [
        SimJob(
            Gang(
                id=f"{number:06d}/0",
                workload=f"{number:06d}",
                name=job.name,
                user="all",
                queue=QUEUE,
                preemptible=False,
                pod_sets=shapes.gpus(job.gpus),
                submitted=job.submitted,
                deadline_ms=job.due if told_deadlines else 0,
            ),
            job.duration,
        )
        for number, job in enumerate(jobs)
    ]
    return Stage(nodes_of(_nodes(jobs)), [Queue(QUEUE)], gangs, Policy())


def _figures(jobs: Jobs, ends: Sequence[int]) -> dict[str, Any]:
    late = [max(end - job.due, 0) for job, end in zip(jobs, ends, strict=True) if job.due]
    rest = [end - job.submitted for job, end in zip(jobs, ends, strict=True) if not job.due]
    work = sum(job.duration * job.gpus for job in jobs)
    return {
        "jobs_due": len(late),
        "missed_jobs": sum(each > 0 for each in late),
        "missed": sum(each > 0 for each in late) / max(len(late), 1),
        "mean_tardiness_s": sum(late) / max(len(late), 1) / 1000,
        "best_effort_jobs": len(rest),
        "best_effort_jct_s": sum(rest) / max(len(rest), 1) / 1000,
        "gpu_hours": work / 3_600_000,
    }


def _pooled(parts: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    listed = list(parts)

    def mean(figure: str, weight: str) -> float:
        total = sum(each[weight] for each in listed)
        return float(sum(each[figure] * each[weight] for each in listed) / max(total, 1))

    return {
        "missed": mean("missed", "jobs_due"),
        "mean_tardiness_s": mean("mean_tardiness_s", "jobs_due"),
        "best_effort_jct_s": mean("best_effort_jct_s", "best_effort_jobs"),
        "gpu_hours": sum(each["gpu_hours"] for each in listed),
        "cpu_s": sum(each["cpu_s"] for each in listed),
    }


BENCH = Bench(
    "deadlines", "Deadlines missed, on Philly's virtual clusters as in Chronus", run, POLICIES
)
