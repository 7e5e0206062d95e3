"""A fleet under training that fails at published rates; made up from a seed."""

from random import Random

from msgspec.structs import replace

from benchmarks.common.jobs import GPUS_PER_NODE
from ganglion.model.workload import Checkpoint, Gang
from ganglion.worlds.simulated.faults.rates import Faults
from ganglion.worlds.simulated.job import Shapes, SimJob

MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000
QUEUE = "jobs"

INTERRUPTIONS, DAYS, NODES = 419, 54, 2_048
"""Unexpected interruptions of Llama 3's pre-training, and how long on how many nodes of 8 GPUs."""
GPUS, PROGRAMS = 246, 56
"""Of these: GPUs with their memory and processors; software bugs and dependencies. The rest are
hosts, networks, disks and power."""
PLANNED = 47
"""Interruptions for maintenance and upgrades in the same time."""
LEMONS, LEMON_FACTOR = 0.015, 10
"""A few nodes have a tenth of all failures: 1.2 to 1.7 % in Kokolis et al., HPCA 2025."""

SAVE = HOUR
RESTART = 6 * MINUTE
REPLACE = 2 * MINUTE
MAINTENANCE = 2 * HOUR
REPAIR = 12 * HOUR


def faults(seed: int, lemon_factor: int = LEMON_FACTOR) -> Faults:
    """Failures per node as published; lemons have their share of them, sound nodes the rest.

    Worse lemons than usual come on top of that.
    """
    node_days = DAYS * NODES * (1 + LEMONS * (LEMON_FACTOR - 1))
    hosts = INTERRUPTIONS - GPUS - PROGRAMS
    return Faults(
        seed=seed,
        node_mtbf_ms=round(node_days * DAY / hosts),
        node_mttr_ms=REPAIR,
        device_mtbf_ms=round(GPUS_PER_NODE * node_days * DAY / GPUS),
        device_mttr_ms=REPAIR,
        lemons=LEMONS,
        lemon_factor=lemon_factor,
        crash_mtbf_ms=round(DAYS * NODES * DAY / PROGRAMS),
    )


def maintenance(seed: int, names: list[str], days: int) -> list[tuple[int, str]]:
    """When which node is taken out of service as planned, in order."""
    dice = Random(f"{seed}:maintenance")
    count = round(PLANNED * days * len(names) / (DAYS * NODES))
    return sorted((dice.randrange(days * DAY), dice.choice(names)) for _ in range(count))


SIZES = {1: 30, 2: 20, 4: 20, 8: 15, 16: 10, 32: 5}
"""Nodes of a gang -> how many of a hundred gangs have that number."""


def mixed(seed: int, nodes: int, days: int, in_place: int) -> list[SimJob]:
    """Gangs of 1 to 32 nodes that keep the fleet full, with work for five days in the mean.

    Args:
        seed: of the dice.
        nodes: of the fleet.
        days: length in days.
        in_place: of a hundred gangs, how many can have lost pods replaced.
    """
    dice, shapes = Random(f"{seed}:jobs"), Shapes(GPUS_PER_NODE)
    room, jobs = nodes * days * DAY, list[SimJob]()
    while room > 0:
        size = min(dice.choices(list(SIZES), list(SIZES.values()))[0], nodes // 4)
        work = max(round(dice.expovariate(1 / (5 * DAY))), HOUR)
        can = dice.randrange(100) < in_place
        jobs.append(_job(len(jobs), shapes, size, work, in_place=can))
        room -= size * work
    return jobs


def one(seed: int, nodes: int, days: int, in_place: int) -> list[SimJob]:
    """One gang on all nodes but one in 64, which are there for those that fail."""
    del seed
    size = nodes - max(nodes // 64, 2)
    job = _job(0, Shapes(GPUS_PER_NODE), size, days * DAY, in_place=in_place > 0)
    return [job]


def _job(number: int, shapes: Shapes, nodes: int, work: int, *, in_place: bool) -> SimJob:
    name = f"train-{number:04d}"
    gang = Gang(
        f"{name}/0",
        name,
        QUEUE,
        pod_sets=shapes.gpus(nodes * GPUS_PER_NODE),
        checkpoint=Checkpoint(SAVE, grace_ms=MINUTE),
    )
    return SimJob(replace(gang, replace=in_place), work)
