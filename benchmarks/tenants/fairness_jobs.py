"""Queues that compete for one small cluster, made up from a seed: floods and bursts."""

from collections.abc import Iterator, Sequence
from random import Random

from msgspec import Struct

from benchmarks.common.jobs import GPUS_PER_NODE
from ganglion.model.queue import ANY_FLAVOR, Queue
from ganglion.model.resources import Amount
from ganglion.model.workload import Checkpoint, Gang
from ganglion.worlds.simulated.job import Shapes, SimJob

MINUTE, HOUR = 60_000, 3_600_000
NODES = 4
GPUS = NODES * GPUS_PER_NODE
SPAN_MS = 24 * HOUR
"""How long jobs arrive and the cluster is watched, in ms."""

WARM_UP_MS = 4 * HOUR
"""What queues hold before counts for nothing."""

QUOTAS = (0, 4, 8)
"""GPUs that each queue is guaranteed."""

SIZES = {1: 40, 2: 25, 4: 25, 8: 10}
"""GPUs of a job -> how many of a hundred jobs have them."""

CHECKPOINT_MS = 30 * MINUTE
BURST_MS = 4 * HOUR
DEMAND = 1.25
"""What a queue asks for, relative to an equal share of the cluster."""

FLOOD = 4.0
"""The same of the queue that floods the others, all of it at the beginning."""

Arrivals = dict[str, tuple[str, float]]
"""Queue -> how its jobs arrive (`flood`, `stream`, `bursts`), and its demand."""

LEAVES = ("a", "b", "c", "d")


class Field(Struct, frozen=True):
    """One shape of competition.

    Attributes:
        help: for people.
        parents: queue -> its parent, parents first; leaves are `LEAVES`.
        arrivals: how jobs arrive.
        guaranteed: queues that get the quota -> how many times.
    """

    help: str
    parents: dict[str, str]
    arrivals: Arrivals
    guaranteed: dict[str, int]


_FLAT = dict.fromkeys(LEAVES, "")
_EACH = dict.fromkeys(LEAVES, 1)
_STREAMS: Arrivals = dict.fromkeys(LEAVES, ("stream", DEMAND))

FIELDS: dict[str, Field] = {
    "flood": Field(
        "one queue asks for four times its share at once, the others for 1.25 times theirs",
        _FLAT,
        _STREAMS | {"a": ("flood", FLOOD)},
        _EACH,
    ),
    "bursts": Field(
        "every queue asks for 1.25 times its share, in bursts every four hours",
        _FLAT,
        dict.fromkeys(LEAVES, ("bursts", DEMAND)),
        _EACH,
    ),
    "branches": Field(
        "two departments of two queues; only the departments have quotas; one queue floods",
        {"left": "", "right": ""} | {"a": "left", "b": "left", "c": "right", "d": "right"},
        _STREAMS | {"a": ("flood", FLOOD)},
        {"left": 2, "right": 2},
    ),
}
"""Shapes by name."""


def queues(field: Field, quota: int) -> list[Queue]:
    """The tree, parents first, where each leaf (or its department for it) has the quota."""
    return [
        Queue(name, parent, quota=_amounts(quota * field.guaranteed.get(name, 0)))
        for name, parent in field.parents.items()
    ]


def _amounts(gpus: int) -> dict[str, Amount]:
    return {ANY_FLAVOR: Amount(gpu_milli=gpus * 1000)} if gpus else {}


def jobs(field: Field, seed: int) -> list[SimJob]:
    """Jobs in order of submission.

    Durations are log-normal with a median of 45 minutes, at least one and at most eight hours;
    every job saves each half hour.
    """
    found = [job for queue in LEAVES for job in _of_queue(field, queue, seed)]
    return sorted(found, key=lambda job: (job.gang.submitted, job.gang.id))


def _of_queue(field: Field, queue: str, seed: int) -> Iterator[SimJob]:
    how, demand = field.arrivals[queue]
    dice = Random(f"{seed} {queue}")
    sizes, durations = _works(dice, demand * GPUS / len(LEAVES) * SPAN_MS)
    shapes = Shapes(GPUS_PER_NODE)
    arrivals = sorted(_arrives(dice, how) for _ in sizes)
    for number, (at, size, duration) in enumerate(zip(arrivals, sizes, durations, strict=True)):
        workload = f"{queue}-{number:05d}"
        gang = Gang(
            id=f"{workload}/0",
            workload=workload,
            queue=queue,
            pod_sets=shapes.gpus(size),
            submitted=at,
            checkpoint=Checkpoint(interval_ms=CHECKPOINT_MS),
        )
        yield SimJob(gang, duration)


def _works(dice: Random, work: float) -> tuple[Sequence[int], Sequence[int]]:
    """Sizes and durations of jobs that sum up to a number of GPU-milliseconds."""
    sizes: list[int] = []
    durations: list[int] = []
    while work > 0:
        sizes.append(dice.choices(list(SIZES), weights=list(SIZES.values()))[0])
        long = round(dice.lognormvariate(7.9, 1.0) * 1000)
        durations.append(min(max(long, MINUTE), 8 * HOUR))
        work -= sizes[-1] * durations[-1]
    return sizes, durations


def _arrives(dice: Random, how: str) -> int:
    """When a job arrives, in ms."""
    if how == "flood":
        return 0
    at = dice.randrange(SPAN_MS)
    return at // BURST_MS * BURST_MS if how == "bursts" else at
