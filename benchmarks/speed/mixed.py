"""Placements a second on a mixed fleet: many node classes, shares of GPUs, many requests."""

import gc
from random import Random
from time import thread_time_ns

from benchmarks.common.fleets import US
from benchmarks.packing.protocol import arrivals, typical_pods
from benchmarks.packing.run import QUEUE, Source, cluster
from benchmarks.registry import Table
from ganglion.engine.placement.place import Demand, place
from ganglion.engine.topology.pod_shape import shapes_of
from ganglion.model.fleet.node import Device, Node
from ganglion.model.resources import GpuRequest, PodRequest
from ganglion.model.workload import Gang, PodSet

SEED = 42
NODES = 300
PODS = 2_000

KINDS = (
    ("T4", 2, 48, 256),
    ("P100", 2, 64, 256),
    ("V100M16", 8, 96, 384),
    ("V100M32", 8, 96, 512),
    ("A10", 1, 128, 256),
    ("G2", 8, 96, 768),
    ("G3", 8, 128, 768),
)
"""Device type, devices per node, cores and GiB of memory: sizes as in Alibaba's openb cluster."""

SHARES = (1000, 1000, 1000, 470, 530, 250, 810, 100)
CORES = (1, 2, 4, 6, 8, 11, 16, 32)


def stand_in() -> Source:
    """A mixed fleet and its pods, made in memory: where no traces are given."""
    dice = Random(SEED)
    nodes = tuple(
        Node(f"n{number:04d}", cores * 1000, memory * 1024, tuple([Device(kind, 0)] * gpus))
        for number in range(NODES)
        for kind, gpus, cores, memory in (dice.choice(KINDS),)
    )
    pods = tuple(_pod(number, dice) for number in range(PODS))
    return Source(nodes, pods, typical_pods(pods))


def _pod(number: int, dice: Random) -> Gang:
    milli = dice.choice(SHARES)
    count = dice.choice((1, 1, 1, 2, 4, 8)) if milli == 1000 else 1
    cores = dice.choice(CORES)
    named = (dice.choice(KINDS)[0],) if dice.random() < 0.1 else ()
    gpu = GpuRequest(count, milli, types=named) if dice.random() < 0.9 else GpuRequest()
    request = PodRequest(cores * 1000, cores * dice.choice((2, 4)) * 1024, gpu)
    return Gang(f"p{number:05d}/0", f"p{number:05d}", QUEUE, pod_sets=(PodSet(request=request),))


def measure(source: Source) -> dict[str, float]:
    """Place the pods of the packing protocol, one attempt each, as `placement` does.

    Returns:
        attempts, those placed, attempts per CPU second, and microseconds per attempt.
    """
    dice = Random(SEED)
    order = arrivals(source.pods, source.capacity, dice)
    state = cluster(source, "ganglion", dice)
    demands = [Demand(each, shapes_of(each, ())) for each in order]
    gc.collect()
    gc.freeze()
    times, placed = [], 0
    for demand in demands:
        begin = thread_time_ns()
        found = place(state.fleet.indexes, demand, state.config.policy.tries, 0)
        if found:
            pod = found.pods[0]
            sight = state.fleet.table.sight(demand.shapes[0])
            state.fleet.tree.join(state.fleet.tree.index[pod.node], sight, pod.devices, pod.milli)
            placed += 1
        times.append(thread_time_ns() - begin)
    ordered, total = sorted(times), sum(times)
    return {
        "attempts": len(times),
        "placed": placed,
        "per_s": 1e9 * len(times) / total,
        "mean_us": total / len(times) / US,
        "p50_us": ordered[len(ordered) // 2] / US,
        "p99_us": ordered[len(ordered) * 99 // 100] / US,
    }


def mixed_table(figures: dict[str, float], name: str) -> Table:
    """The figures of `measure`."""
    heads = ("fleet", "attempts", "placed", "per second", "mean µs", "p50 µs", "p99 µs")
    keys = ("attempts", "placed", "per_s", "mean_us", "p50_us", "p99_us")
    cells = [f"{figures[each]:,.{1 if each.endswith('_us') else 0}f}" for each in keys]
    return Table("Attempts on a mixed fleet", heads, ((name, *cells),))
