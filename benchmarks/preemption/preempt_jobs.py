"""A contended cluster, made up from a seed: long training that checkpoints, and urgent jobs."""

from collections.abc import Iterator
from itertools import count
from random import Random

from msgspec.structs import replace

from benchmarks.common.jobs import GPUS_PER_NODE
from ganglion.model.workload import Checkpoint, Gang
from ganglion.worlds.simulated.job import Shapes, SimJob, gpu_milli

QUEUE = "jobs"
MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000
NODES = 16
DAYS = 7
TRAINING_LOAD = 0.85
URGENT_LOAD = 0.10
URGENT = 90
"""Priority of urgent jobs; training has one of those below."""

WORKLOADS = {"mixed": {40: 50, 50: 50}, "equals": {50: 100}}
"""Name -> priorities of training, and how many of a hundred gangs have each."""

SIZES = {1: 30, 2: 20, 4: 20, 8: 20, 16: 8, 32: 2}
URGENT_SIZES = {1: 40, 2: 15, 4: 15, 8: 20, 16: 10}
INTERVALS = {10 * MINUTE: 20, 30 * MINUTE: 30, HOUR: 30, 3 * HOUR: 20}
"""How often training saves -> how many of a hundred gangs do."""


def restart_ms(gang: Gang) -> int:
    """A minute for one GPU, two up to a node, four beyond: start-up and load of the checkpoint."""
    gpus = sum(s.count * s.request.gpu.count for s in gang.pod_sets)
    return MINUTE * (1 if gpus == 1 else 2 if gpus <= GPUS_PER_NODE else 4)


def contended(
    seed: int, workload: str = "mixed", nodes: int = NODES, days: int = DAYS
) -> list[SimJob]:
    """Jobs in order of submission.

    Training: durations log-normal with a median of three hours and at most two days. Urgent:
    10 to 60 minutes, no checkpoints. Both arrive at random moments of the `days` and offer
    fixed parts of the GPUs.
    """
    maker, room = _Maker(seed, days), nodes * GPUS_PER_NODE * days * DAY
    jobs = [
        *_until(maker.training(WORKLOADS[workload]), TRAINING_LOAD * room),
        *_until(maker.urgent(), URGENT_LOAD * room),
    ]
    return sorted(jobs, key=lambda job: (job.gang.submitted, job.gang.id))


def _until(jobs: Iterator[SimJob], work: float) -> Iterator[SimJob]:
    """Jobs until they sum up to a number of GPU-milliseconds."""
    total = 0
    for job in jobs:
        total += (job.duration_ms or 0) * gpu_milli(job.gang) // 1000
        if total > work:
            return
        yield job


class _Maker:
    """Jobs without end; the two kinds share the dice, so take one kind after the other."""

    def __init__(self, seed: int, days: int) -> None:
        self._dice, self._shapes, self._span = Random(seed), Shapes(GPUS_PER_NODE), days * DAY

    def training(self, classes: dict[int, int]) -> Iterator[SimJob]:
        dice = self._dice
        for number in count():
            duration = min(round(dice.lognormvariate(9.3, 1.0) * 1000) + MINUTE, 2 * DAY)
            interval = self._one(INTERVALS)
            gang = self._gang(f"train-{number:05d}", self._one(classes), self._one(SIZES))
            saved = replace(gang, checkpoint=Checkpoint(interval_ms=interval))
            yield SimJob(saved, duration)

    def urgent(self) -> Iterator[SimJob]:
        for number in count():
            duration = self._dice.randrange(10 * MINUTE, HOUR)
            yield SimJob(
                self._gang(f"urgent-{number:05d}", URGENT, self._one(URGENT_SIZES)), duration
            )

    def _one(self, weighted: dict[int, int]) -> int:
        return self._dice.choices(list(weighted), weights=list(weighted.values()))[0]

    def _gang(self, name: str, priority: int, gpus: int) -> Gang:
        return Gang(
            f"{name}/0",
            name,
            QUEUE,
            priority=priority,
            pod_sets=self._shapes.gpus(gpus),
            submitted=self._dice.randrange(self._span),
        )
