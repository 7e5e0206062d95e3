"""Jobs with user estimates for the backfilling benchmark: a log's, or made up from a seed."""

from collections.abc import Sequence
from pathlib import Path
from random import Random

from msgspec import Struct
from msgspec.structs import replace

from benchmarks.backfill.rigid_jobs import Rigid
from benchmarks.common.traces import main_file
from ganglion.model.errors import NotFound
from ganglion.model.fleet.node import Node
from ganglion.model.resources import PodRequest
from ganglion.model.workload import Gang, PodSet
from ganglion.worlds.simulated.job import SimJob, cpu_milli
from ganglion.worlds.simulated.readers.swf import read_metacentrum, read_swf

QUEUE = "jobs"
CPUS = 1280
OPEN = (0, 58)
"""First and last day of the open part of the MetaCentrum log."""

HPC2N_CPUS = 240
DAY_MS = 86_400_000
HOUR_S = 3600


class Log(Struct, frozen=True):
    """Jobs on one pool of processors.

    Attributes:
        name: where they come from.
        jobs: in order of submission; the time limit of each is its user's estimate.
        cpus: processors of the pool.
    """

    name: str
    jobs: tuple[SimJob, ...]
    cpus: int

    def nodes(self) -> list[Node]:
        """One node that is the whole pool, so that nothing but time and number count."""
        return [Node("pool", self.cpus * 1000, 1 << 30)]

    def rigid(self, *, exact: bool) -> list[Rigid]:
        """The same jobs for the replays without the engine."""
        return [
            Rigid(
                number,
                job.gang.submitted,
                _duration(job),
                _duration(job) if exact else job.gang.time_limit_ms,
                cpu_milli(job.gang) // 1000,
            )
            for number, job in enumerate(self.jobs)
        ]

    def load(self) -> float:
        """Work over what the pool can do between first and last submission."""
        work = sum(_duration(job) * cpu_milli(job.gang) // 1000 for job in self.jobs)
        span = self.jobs[-1].gang.submitted - self.jobs[0].gang.submitted
        return work / (self.cpus * max(span, 1))


def exactly(jobs: Sequence[SimJob], *, tell: bool = False) -> list[SimJob]:
    """The jobs with their durations as time limits; `tell` also as expected run times."""
    return [
        replace(
            job,
            gang=replace(
                job.gang,
                time_limit_ms=_duration(job),
                expected_ms=_duration(job) if tell else 0,
            ),
        )
        for job in jobs
    ]


def expecting_the_limit(jobs: Sequence[SimJob]) -> list[SimJob]:
    """The jobs with their time limits as expected run times, to be ordered by."""
    return [
        replace(job, gang=replace(job.gang, expected_ms=job.gang.time_limit_ms)) for job in jobs
    ]


def read_log(folder: Path, days: tuple[int, int] = OPEN) -> Log:
    """Some days of the MetaCentrum log.

    A job is named after the queue it was submitted to, which is the nearest to a name of
    what it runs; an estimate below the run time counts as the run time. Estimates are made
    longer by a millisecond per job, so that ends expected at one time come one by one, as
    published replays take them; that alone moves EASY's mean wait by 6 %.

    Raises:
        FileError, FieldError, NotFound: the folder or its file cannot be used.
    """
    path = main_file(folder, "metacentrum_wagap_2013")
    found = read_metacentrum(path, cpus_per_node=CPUS)
    return _log(path, _within(found, days, path), CPUS)


def read_log_swf(folder: Path, cpus: int = HPC2N_CPUS, days: tuple[int, int] | None = None) -> Log:
    """A log in SWF, of HPC2N's cluster, as the MetaCentrum log is read.

    Raises:
        FileError, FieldError, NotFound: the folder or its file cannot be used.
    """
    path = next(iter(sorted(folder.glob("hpc2n*.swf*"))), None)
    if path is None:
        raise NotFound(f"{folder} has no log hpc2n*.swf")
    found = read_swf(path, cpus_per_node=cpus)
    return _log(path, _within(found, days, path) if days else found, cpus)


def _within(jobs: Sequence[SimJob], days: tuple[int, int], path: Path) -> list[SimJob]:
    """The jobs that are submitted on some days, first and last included. Raises NotFound."""
    begin, end = days[0] * DAY_MS, (days[1] + 1) * DAY_MS
    kept = [job for job in jobs if begin <= job.gang.submitted < end]
    if not kept:
        raise NotFound(f"{path} has no job that is submitted on days {days[0]}..{days[1]}")
    return kept


def _log(path: Path, jobs: Sequence[SimJob], cpus: int) -> Log:
    settled = tuple(_settled(number, job) for number, job in enumerate(jobs))
    return Log(path.name.partition(".")[0], settled, cpus)


def _settled(number: int, job: SimJob) -> SimJob:
    gang = replace(
        job.gang,
        queue=QUEUE,
        name=job.gang.queue,
        preemptible=False,
        time_limit_ms=job.gang.time_limit_ms + number,
    )
    return replace(job, gang=gang)


def made_up(seed: int, count: int = 1500, cpus: int = 256, load: float = 0.95) -> Log:
    """Jobs from a seed: Poisson arrivals, log-normal run times, powers of two, few estimates.

    Users ask for one of six round times, at least what the job needs.
    """
    dice = Random(seed)
    sizes = dice.choices((1, 2, 4, 8, 16, 32, 64), weights=(40, 10, 15, 15, 10, 8, 2), k=count)
    runs = [min(round(dice.lognormvariate(7.0, 1.8)) + 1, 240 * HOUR_S) for _ in sizes]
    work = sum(size * run for size, run in zip(sizes, runs, strict=True))
    gap, now, jobs = work / count / cpus / load, 0.0, []
    for number, (size, run) in enumerate(zip(sizes, runs, strict=True)):
        jobs.append(_job(number, round(now * 1000), size, run, dice))
        now += dice.expovariate(1 / gap)
    return Log(f"seed{seed}", tuple(jobs), cpus)


def _job(number: int, submitted: int, size: int, run_s: int, dice: Random) -> SimJob:
    steps = [each * HOUR_S for each in (1, 4, 12, 24, 96, 240)]
    limit = dice.choice([each for each in steps if each >= run_s][:3])
    gang = Gang(
        f"job-{number:06d}/0",
        f"job-{number:06d}",
        QUEUE,
        user=f"user{dice.randrange(12):02d}",
        name=f"limit{limit // HOUR_S}h",
        preemptible=False,
        pod_sets=(PodSet(request=PodRequest(cpu_milli=size * 1000)),),
        submitted=submitted,
        time_limit_ms=limit * 1000,
    )
    return SimJob(gang, run_s * 1000)


def _duration(job: SimJob) -> int:
    assert job.duration_ms is not None, "logs always have run times"
    return job.duration_ms
