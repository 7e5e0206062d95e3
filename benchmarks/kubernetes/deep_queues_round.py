"""One drain of deep queues, and its result."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from time import monotonic
from typing import Any

from benchmarks.controlplane.control_plane import ControlPlane
from benchmarks.controlplane.programs import Process
from benchmarks.kubernetes.deep_queues_field import add_queues, leaving, writes
from benchmarks.kubernetes.deep_queues_work import (
    Crew,
    Work,
    node_labels,
    pods_of,
    queue_specs,
)
from benchmarks.kubernetes.field import GPUS_PER_NODE, Field
from benchmarks.kubernetes.rivals import BARE, RIVALS
from ganglion.model.errors import EnvironmentFault
from ganglion.worlds.kubernetes.names import SCHEDULER
from ganglion.worlds.simulated.metrics.records import quantile

LATE_PER_S = 10.0
"""How many gangs a second come later, into deep queues whose heads still wait."""

_LIMIT_S = 600.0
_QUIET_S = 60.0  # gangs that wait this long after the last admission are stuck
_LOOK_S = 0.05
_API_SERVER = "kube-apiserver"

Figures = dict[str, float]


async def drain(plane: ControlPlane, made: Work) -> Figures:
    """Fill a cluster that has nothing in it, then schedule until nothing more fits.

    Returns:
        `per_min`, `p10_per_min`: gangs admitted a minute, median and tenth percentile of the
        seconds of the drain; `ready_s`, `drain_s`: from the start of the process to the first
        and last admission; `bare_s`: what a client takes to bind the same pods;
        `stuck`: gangs that fit and were never admitted; `pause_s`: longest time without any
        admission; `deep_s`, `shallow_s`: median wait in deep and other queues;
        `heads`: admitted gangs that cannot fit; `disturbed`: pods that had to leave;
        `writes`, `writes_s`: changes that the API server answered, in all and per second from
        the first to the last admission (of at least one second); `cpu_s`, `api_cpu_s`: CPU
        seconds of scheduler and API server; `rss_mib`: memory of the scheduler;
        `late_p50_ms`, `late_p99_ms`: creation to binding of gangs that come later.
    """
    async with Field(plane) as field:
        await fill(field, made)
        found = await _schedule(field, made)
        found["bare_s"] = await _bare(field, made.fitting())
        return found


async def fill(field: Field, made: Work) -> None:
    """Create nodes, queues, what runs, and what waits, one gang after the other."""
    await field.add_nodes(len(made.flavors), node_labels(made.flavors))
    await add_queues(field.api, queue_specs(made))
    await field.create(_pods(made.running))
    for crew in made.waiting:
        await field.create(pods_of(crew, SCHEDULER))


async def _schedule(field: Field, made: Work) -> Figures:
    before, api = await writes(field.api), field.plane.part(_API_SERVER)
    api_before, begin = api.cpu_s(), monotonic()
    process = RIVALS[SCHEDULER].start(field.plane)
    try:
        await _settled(field, made, process)
        took = monotonic() - begin
        found = {
            "writes": await writes(field.api) - before,
            "cpu_s": process.cpu_s(),
            "api_cpu_s": api.cpu_s() - api_before,
            "rss_mib": process.rss_mib(),
        }
        found |= _admitted(field, made, begin)
        found["writes_s"] = found["writes"] / max(1.0, took - found["ready_s"])
        found |= await _later(field, made, process)
        settled = _names(made.running) | (_names(made.fitting()) & field.bound.keys())
        return found | {"disturbed": await leaving(field.api, settled)}
    finally:
        field.plane.end(SCHEDULER)


async def _settled(field: Field, made: Work, process: Process) -> None:
    """Wait until all that fits is bound, or nothing has been for a long time."""
    left, end = _names(made.fitting()), monotonic() + _LIMIT_S
    last = monotonic()
    while left and monotonic() < min(end, last + _QUIET_S):
        if not process.runs():
            raise EnvironmentFault(f"{process.name} ended", process.last_lines())
        await asyncio.sleep(_LOOK_S)
        now = left - field.bound.keys()
        left, last = now, monotonic() if now != left else last


def _admitted(field: Field, made: Work, begin: float) -> Figures:
    """When gangs were bound whole."""
    waits = {
        crew.name: max(field.bound[name] for name in _names([crew])) - begin
        for crew in made.waiting
        if _names([crew]) <= field.bound.keys()
    }
    fits = [crew for crew in made.fitting() if crew.name in waits]
    times = sorted(waits[crew.name] for crew in fits)
    if not times:
        raise EnvironmentFault("no gang was admitted", "see the log of the scheduler")
    rates = sorted(_per_second(times))
    return {
        "per_min": 60.0 * quantile(rates, 50),
        "p10_per_min": 60.0 * quantile(rates, 10),
        "ready_s": times[0],
        "drain_s": times[-1],
        "pause_s": max((b - a for a, b in pairwise(times)), default=0.0),
        "deep_s": _median(waits[crew.name] for crew in fits if crew.queue in made.deep),
        "shallow_s": _median(waits[crew.name] for crew in fits if crew.queue not in made.deep),
        "stuck": len(made.fitting()) - len(fits),
        "heads": len(waits) - len(fits),
    }


def _per_second(times: Sequence[float]) -> list[int]:
    """Admissions in each second from the first to the last."""
    counts = Counter(int(each - times[0]) for each in times)
    return [counts[second] for second in range(int(times[-1] - times[0]) + 1)]


def _median(waits: Iterable[float]) -> float:
    return quantile(sorted(waits) or [0.0], 50)


async def _later(field: Field, made: Work, process: Process) -> Figures:
    """New gangs in deep queues, while those at their heads go on waiting."""
    crews = made.late()
    await field.create_paced(_pods(crews), LATE_PER_S)
    await field.all_bound(_names(crews), _QUIET_S, process)
    waits = sorted(1000 * (field.bound[name] - field.sent[name]) for name in _names(crews))
    return {"late_p50_ms": quantile(waits, 50), "late_p99_ms": quantile(waits, 99)}


async def _bare(field: Field, crews: Sequence[Crew]) -> float:
    """How long a client takes to bind the same pods, wherever."""
    await field.clear()
    pods = [pod for crew in crews for pod in pods_of(crew, BARE)]
    await field.create(pods)
    begin = monotonic()
    await field.bind(pods, field.gpus // GPUS_PER_NODE)
    await field.all_bound(_names(crews), _LIMIT_S, None)
    return monotonic() - begin


def _pods(crews: Iterable[Crew]) -> list[dict[str, Any]]:
    return [pod for crew in crews for pod in pods_of(crew, SCHEDULER)]


def _names(crews: Iterable[Crew]) -> set[str]:
    return {f"{crew.name}-{number}" for crew in crews for number in range(crew.pods)}
