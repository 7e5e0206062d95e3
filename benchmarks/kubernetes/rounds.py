"""What is measured of one scheduler at a time, on nodes that are there already."""

import random
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from time import monotonic
from typing import Any

from benchmarks.controlplane.control_plane import ControlPlane
from benchmarks.controlplane.programs import Process
from benchmarks.kubernetes.field import GPUS_PER_NODE, Field, pod
from benchmarks.kubernetes.rivals import BARE, RIVALS, Rival
from ganglion.worlds.kubernetes.names import GANG, SCHEDULED
from ganglion.worlds.kubernetes.names import GANG_SIZE as SIZE
from ganglion.worlds.simulated.metrics.records import quantile

PACE_PER_S = 40.0
PACED = 400
GANGS = 100
GANG_SIZE = 64
GANG_NODES = GANGS * GANG_SIZE * 3 // 5 // GPUS_PER_NODE
"""Capacity for three in five gangs: some have to wait."""
PODS_PER_NODE = 10

_READY_S = 120.0
_LIMIT_S = 900.0
_QUIET_S = 15.0  # longer than kube-scheduler's longest back-off of a pod, which is 10 s
_STUCK_S = 180.0  # kube-scheduler's gangs pause for more than a minute when their pods come mixed
_MS = 1000.0
_API_SERVER = "kube-apiserver"

Figures = dict[str, float]
Measure = Callable[[Field], Awaitable[Figures]]
Pods = Sequence[dict[str, Any]]
Make = Callable[[str, str, int], dict[str, Any]]


def plain_pod(name: str, scheduler: str, index: int) -> dict[str, Any]:
    """A pod of one GPU, like all others."""
    del index
    return pod(name, scheduler)


async def flow(
    field: Field, rival: Rival, nodes: int, count: int, make: Make = plain_pod
) -> Figures:
    """Pods wait already, then come as fast as the server takes them, then at a steady pace.

    Args:
        field: where.
        rival: the scheduler.
        nodes: how many there are.
        count: pods of the backlog, and of the burst.
        make: makes a pod from its name, its scheduler and its number.

    Returns:
        `backlog_s`: pods bound per second when all of them wait, from the start of the process to
        the last binding. `burst_s`: the same for pods that come meanwhile, from the first creation
        to the last binding; `cpu_ms` and `api_cpu_ms`: CPU milliseconds per pod of that, of the
        scheduler and of the API server (with the creation); `events`: `Scheduled` events about
        these pods that were written by its end; `rss_mib`: memory of the scheduler after it.
        `p50_ms` and `p99_ms`: creation to binding, at `PACE_PER_S`.
    """
    await field.clear()
    if rival.name == BARE:
        return await _bare(field, nodes, count, make)
    found = await _backlog(field, _crowd(rival, "backlog", count, make), rival)
    try:
        process = field.plane.part(rival.name)
        await field.clear()
        before = process.cpu_s()
        found |= await _burst(field, process, _crowd(rival, "burst", count, make))
        found["cpu_ms"] = (process.cpu_s() - before) * _MS / count
        found["rss_mib"] = process.rss_mib()
        await _make_room(field, count)
        return found | await _pace(field, process, _crowd(rival, "paced", PACED, make))
    finally:
        field.plane.end(rival.name)


async def _backlog(field: Field, crowd: Pods, rival: Rival) -> Figures:
    """Bind pods that wait; leaves the scheduler running."""
    await field.create(crowd)
    begin = monotonic()
    await field.all_bound(_names(crowd), _LIMIT_S, rival.start(field.plane))
    return {"backlog_s": len(crowd) / (_last(field, crowd) - begin)}


async def _burst(field: Field, by: Process, crowd: Pods) -> Figures:
    before = field.plane.part(_API_SERVER).cpu_s()
    await field.create(crowd)
    await field.all_bound(_names(crowd), _LIMIT_S, by)
    found = _throughput(field, crowd, before)
    return found | {"events": await field.events(SCHEDULED, _names(crowd))}


async def _pace(field: Field, by: Process, paced: Pods) -> Figures:
    await field.create_paced(paced, PACE_PER_S)
    await field.all_bound(_names(paced), _LIMIT_S, by)
    return _latency(field, paced)


async def _bare(field: Field, nodes: int, count: int, make: Make) -> Figures:
    """The same done by the client that creates the pods."""
    rival = RIVALS[BARE]
    crowd = _crowd(rival, "backlog", count, make)
    await field.create(crowd)
    begin = monotonic()
    await field.bind(crowd, nodes)
    await field.all_bound(_names(crowd), _LIMIT_S, None)
    found = {"backlog_s": count / (_last(field, crowd) - begin)}
    await field.clear()
    crowd = _crowd(rival, "burst", count, make)
    before = field.plane.part(_API_SERVER).cpu_s()
    await field.create_and_bind(crowd, nodes)
    await field.all_bound(_names(crowd), _LIMIT_S, None)
    found |= _throughput(field, crowd, before)
    await _make_room(field, count)
    paced = _crowd(rival, "paced", PACED, make)
    for each in paced:
        await field.create_and_bind([each], nodes)
    await field.all_bound(_names(paced), _LIMIT_S, None)
    return found | _latency(field, paced) | {"cpu_ms": 0, "rss_mib": 0, "events": 0}


async def _make_room(field: Field, count: int) -> None:
    """See to it that `PACED` more pods fit."""
    if count + PACED > field.gpus:
        await field.clear()


def _crowd(rival: Rival, name: str, count: int, make: Make) -> Pods:
    return [make(f"{name}-{index}", rival.scheduler, index) for index in range(count)]


def _throughput(field: Field, crowd: Pods, before: float) -> Figures:
    took = _last(field, crowd) - min(field.sent[name] for name in _names(crowd))
    used = field.plane.part(_API_SERVER).cpu_s() - before
    return {"burst_s": len(crowd) / took, "api_cpu_ms": used * _MS / len(crowd)}


def _last(field: Field, crowd: Pods) -> float:
    return max(field.bound[name] for name in _names(crowd))


def _latency(field: Field, paced: Pods) -> Figures:
    waits = sorted((field.bound[name] - field.sent[name]) * _MS for name in _names(paced))
    return {"p50_ms": quantile(waits, 50), "p99_ms": quantile(waits, 99)}


async def gangs(field: Field, rival: Rival, seed: int | None) -> Figures:
    """`GANGS` gangs of `GANG_SIZE` pods arrive, and three in five of them fit.

    Args:
        field: where.
        rival: the scheduler.
        seed: of the order in which their pods are created; None = one gang after the other.

    Returns:
        `whole`, `partial`, `waiting`: gangs by how many of their pods are bound when nothing
        more happens; `stuck_gpus`: GPUs held by gangs that cannot start; `used_gpus`: by those
        that can; `seconds`: to the last binding.
    """
    await field.clear()
    pods = [_member(rival, gang, index) for gang in range(GANGS) for index in range(GANG_SIZE)]
    if seed is not None:
        random.Random(seed).shuffle(pods)
    await _ready(field, rival)
    try:
        if rival.gates:
            await field.add_groups([f"gang-{gang}" for gang in range(GANGS)], GANG_SIZE)
        await field.create(pods)
        await field.settled(lambda: _QUIET_S if _full(field) else _STUCK_S, _LIMIT_S)
    finally:
        field.plane.end(rival.name)
    names = _names(pods) & field.bound.keys()
    held = Counter(name.rpartition("-")[0] for name in names)
    whole = sum(count == GANG_SIZE for count in held.values())
    begin = min(field.sent[name] for name in _names(pods))
    return {
        "whole": whole,
        "partial": len(held) - whole,
        "waiting": GANGS - len(held),
        "used_gpus": whole * GANG_SIZE,
        "stuck_gpus": len(names) - whole * GANG_SIZE,
        "seconds": max((field.bound[name] for name in names), default=begin) - begin,
    }


def _full(field: Field) -> bool:
    """Whether no other gang fits: every bound pod has a GPU."""
    return field.gpus - len(field.bound) < GANG_SIZE


def _member(rival: Rival, gang: int, index: int) -> dict[str, Any]:
    labels, annotations = {GANG: f"gang-{gang}"}, {SIZE: str(GANG_SIZE)}
    name, group = f"gang-{gang}-{index}", f"gang-{gang}" if rival.gates else ""
    return pod(name, rival.scheduler, group=group, labels=labels, annotations=annotations)


async def fill(field: Field, rival: Rival, nodes: int, count: int) -> None:
    """Create pods that are bound already, evenly over the nodes; 6 in 10 hold a GPU."""
    await field.clear()
    await field.create(
        [
            pod(f"old-{i}", rival.scheduler, gpus=int(i // nodes < 6), node=f"node-{i % nodes}")
            for i in range(count)
        ]
    )


async def restart(field: Field, rival: Rival) -> Figures:
    """A scheduler starts on a cluster that is full of pods.

    Returns:
        `ready_s`: from the start of the process to the first binding of a new pod; `cpu_s`:
        CPU seconds until then; `rss_mib`: memory then.
    """
    process, took = await _ready(field, rival)
    found = {"ready_s": took, "cpu_s": process.cpu_s(), "rss_mib": process.rss_mib()}
    field.plane.end(rival.name)
    return found


async def _ready(field: Field, rival: Rival) -> tuple[Process, float]:
    """Start it and wait until it has bound a pod: the process, and how long it took."""
    probe = pod("probe", rival.scheduler)
    await field.create([probe])
    begin = monotonic()
    process = rival.start(field.plane)
    try:
        await field.all_bound(_names([probe]), _READY_S, process)
    except BaseException:
        field.plane.end(rival.name)
        raise
    return process, field.bound["probe"] - begin


def _names(pods: Pods) -> set[str]:
    return {each["metadata"]["name"] for each in pods}


def control_plane_memory(plane: ControlPlane) -> Figures:
    """Memory of the API server and of etcd now, in MiB."""
    parts = {"api_rss_mib": _API_SERVER, "etcd_rss_mib": "etcd"}
    return {key: plane.part(name).rss_mib() for key, name in parts.items()}
