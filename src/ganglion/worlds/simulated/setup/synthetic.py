"""A seeded workload shaped after published statistics, so that no trace is needed.

Shapes follow the Philly (ATC'19) and ITP 2021 logs (ElasticFlow, ASPLOS'23): 83 % of jobs ask
for one GPU and few for more than eight, run times have a median near 10,000 s and a heavy
tail, arrivals follow the hours of the day and come in bursts, and demand is skewed between teams.
"""

import math
from collections.abc import Sequence
from random import Random
from typing import TypeVar

from msgspec import Struct

from ganglion.model.events import Outcome
from ganglion.model.fleet.levels import Level
from ganglion.model.resources import GpuRequest, PodRequest
from ganglion.model.workload import Checkpoint, Gang, Kind, PodSet, Topology
from ganglion.worlds.simulated.job import SimJob

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
TEAMS = ("vision", "language", "speech", "ranking", "robotics")

GPU_MIX = ((1, 8320), (2, 215), (4, 345), (8, 1010), (16, 55), (32, 45), (64, 10))
"""GPUs of a job -> how many of 10,000 jobs; the ITP log, rounded."""

MEDIAN_S, SIGMA = 9_000, 1.15
"""Log-normal run time; with the tail below the median is about 10,000 s, the mean 20,000 s."""

TAIL_CHANCE, TAIL_S, TAIL_ALPHA, LONGEST_S = 0.04, 40_000, 1.6, 500_000
"""A share of jobs whose run time is Pareto-distributed from `TAIL_S` to `LONGEST_S`."""

HOURLY = (
    5, 4, 4, 3, 3, 4, 5, 7, 10, 13, 15, 15, 14, 15, 16, 16, 15, 14, 12, 11, 10, 9, 8, 6,
)  # fmt: skip
"""Weight of each hour of a working day; weekends have 60 % of it."""

KINDS = (("train", 78), ("sweep", 3), ("workspace", 10), ("batch", 6), ("service", 3))
CPU_PER_GPU, MEMORY_PER_GPU = 8_000, 64 * 1024


T = TypeVar("T")


class JobShape(Struct, frozen=True):
    """A job before it is known when it arrives; `copies` arrive together as one sweep."""

    kind: Kind
    queue: str
    user: str
    pod_sets: tuple[PodSet, ...]
    topology: Topology
    gpu_milli: int
    duration_ms: int
    outcome: Outcome
    copies: int = 1


def synthetic_jobs(
    count: int,
    seed: int,
    *,
    gpus: int,
    per_node: int = 8,
    teams: Sequence[str] = TEAMS,
    load_pct: int = 90,
) -> list[SimJob]:
    """Draw a workload.

    Arrivals are spread over as long as it takes to keep `gpus` GPUs busy to `load_pct` % with
    the work drawn, so that the load does not depend on `count`.

    Args:
        count: jobs (gangs); each trial of a sweep is one.
        seed: equal seeds give equal workloads.
        gpus: GPUs of the cluster.
        per_node: GPUs of a node; no job asks for more than half of the cluster, or one node.
        teams: queues, from the most to the least demanding.
        load_pct: offered load in percent.

    Returns:
        Jobs by submit time.
    """
    dice = Random(f"{seed}:synthetic")
    shapes, drawn = [], 0
    most = max(gpus // 2, min(per_node, gpus))
    while drawn < count:
        shape = _shape(dice, teams, most, per_node, count - drawn)
        shapes.append(shape)
        drawn += shape.copies
    work = sum(shape.gpu_milli * shape.duration_ms * shape.copies for shape in shapes)
    span = work * 100 // (max(gpus, 1) * 1000 * load_pct) + HOUR_MS
    arrivals = _arrivals(dice, len(shapes), span)
    return [
        job
        for number, (shape, at) in enumerate(zip(shapes, arrivals, strict=True), start=1)
        for job in _jobs(shape, number, at)
    ]


def _shape(dice: Random, teams: Sequence[str], most: int, per_node: int, left: int) -> JobShape:
    kind = Kind(_weighted(dice, KINDS))
    # the k-th team asks for 1/k of what the first one does (Zipf)
    team = dice.choices(teams, [1 / (k + 1) for k in range(len(teams))])[0]
    user = f"{team[:3]}{1 + int(dice.random() ** 2 * 8)}"
    pod_sets, topology = _pods(dice, kind, most, per_node)
    milli = sum(p.count * p.request.gpu.count * p.request.gpu.milli for p in pod_sets)
    copies = min(dice.choice((4, 8, 8, 16, 32)), left) if kind is Kind.SWEEP else 1
    return JobShape(
        kind, team, user, pod_sets, topology, milli, _duration(dice, kind), _outcome(dice), copies
    )


def _pods(
    dice: Random, kind: Kind, most: int, per_node: int
) -> tuple[tuple[PodSet, ...], Topology]:
    if kind is Kind.BATCH and dice.random() < 0.5:
        cores = dice.choice((2, 4, 8, 16))
        return (PodSet(request=PodRequest(cores * 1000, cores * 4096)),), Topology()
    if kind in (Kind.WORKSPACE, Kind.SERVICE):
        milli = dice.choice((250, 500, 500, 1000, 1000))
        return (PodSet(request=_pod(1, milli)),), Topology()
    wanted = 1 if kind is Kind.SWEEP else _weighted(dice, GPU_MIX)
    wanted = min(wanted, most)
    if wanted <= per_node:
        return (PodSet(request=_pod(wanted)),), Topology()
    return (
        (PodSet(count=wanted // per_node, request=_pod(per_node)),),
        Topology(preferred=Level.RACK),
    )


def _pod(gpus: int, milli: int = 1000) -> PodRequest:
    parts = gpus * milli
    return PodRequest(
        CPU_PER_GPU * parts // 1000,
        MEMORY_PER_GPU * parts // 1000,
        GpuRequest(count=gpus, milli=milli),
    )


def _duration(dice: Random, kind: Kind) -> int:
    if kind is Kind.SERVICE:
        return int(dice.uniform(0.5, 5) * DAY_MS)
    if kind is Kind.WORKSPACE:
        return int(dice.uniform(0.5, 10) * HOUR_MS)
    if dice.random() < TAIL_CHANCE:
        seconds = min(TAIL_S * dice.paretovariate(TAIL_ALPHA), LONGEST_S)
    else:
        seconds = min(dice.lognormvariate(math.log(MEDIAN_S), SIGMA), LONGEST_S)
    return max(int(seconds), 10) * 1000


def _outcome(dice: Random) -> Outcome:
    # Philly (ATC'19, table 6): 69 % passed, 17 % unsuccessful, 14 % killed, rounded
    return dice.choices((Outcome.SUCCEEDED, Outcome.FAILED, Outcome.CANCELLED), (70, 16, 14))[0]


def _weighted(dice: Random, options: Sequence[tuple[T, int]]) -> T:
    return dice.choices([value for value, _ in options], [weight for _, weight in options])[0]


def _arrivals(dice: Random, count: int, span: int) -> list[int]:
    """Sorted arrival times in ms: a Poisson process whose rate follows day and week.

    Given their number, the arrivals of such a process are independent draws from its rate;
    they are drawn by hour, then evenly within the hour.
    """
    hours = range(max(-(-span // HOUR_MS), 1))
    weights = [HOURLY[hour % 24] * (6 if hour // 24 % 7 >= 5 else 10) for hour in hours]
    chosen = dice.choices(hours, weights, k=count)
    return sorted(min(hour * HOUR_MS + dice.randrange(HOUR_MS), span) for hour in chosen)


def _jobs(shape: JobShape, number: int, at: int) -> list[SimJob]:
    workload = f"{shape.kind}-{number}"
    checkpoint = Checkpoint(interval_ms=HOUR_MS // 2) if shape.kind is Kind.TRAIN else None
    return [
        SimJob(
            Gang(
                id=f"{workload}/{index}",
                workload=workload,
                queue=shape.queue,
                user=shape.user,
                kind=shape.kind,
                preemptible=shape.kind is not Kind.SERVICE,
                pod_sets=shape.pod_sets,
                topology=shape.topology,
                submitted=at,
                checkpoint=checkpoint,
                index=index,
                name=shape.kind.value,
            ),
            shape.duration_ms,
            shape.outcome,
        )
        for index in range(shape.copies)
    ]
