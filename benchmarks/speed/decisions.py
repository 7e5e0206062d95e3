"""`decisions`: how fast the engine decides, in memory, as the fleet grows."""

import gc
from collections.abc import Callable, Sequence
from pathlib import Path
from time import thread_time_ns
from typing import Any, TypeVar

from msgspec import to_builtins

from benchmarks.common.fleets import SIZES, US, fleet, gang, pods, rack_gang, request, sliced_gang
from benchmarks.packing.openb import WORKLOAD as OPENB_LIST
from benchmarks.packing.openb import source as openb_source
from benchmarks.registry import Bench, BenchOptions, Progress, Report, Table
from benchmarks.speed.bursts import (
    BURST_NOTES,
    BURSTS,
    BurstFigures,
    burst_table,
    measure_with,
)
from benchmarks.speed.mixed import measure as measure_mixed
from benchmarks.speed.mixed import mixed_table, stand_in
from ganglion.collector import relax
from ganglion.engine.cycle import cycle
from ganglion.engine.placement.place import Demand, place
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.engine.state.effort import PER_CYCLE, UNBOUNDED
from ganglion.engine.topology.pod_shape import shapes_of
from ganglion.model.errors import InputError
from ganglion.model.events import GangEnded, GangSubmitted, Outcome
from ganglion.model.workload import Gang, PodSet

NODES = (1_000, 5_000, 15_000)
PODS = 3_000
RACK_GANGS = 40
SLICED = (500, 700, 900, 1_100, 1_300, 1_500)
BACKLOG = 10_000
MIXED = "mixed"

T = TypeVar("T")


def run(options: BenchOptions, progress: Progress) -> Report:
    """Run the benchmark. `workload` may name one fleet size, one burst, or the mixed fleet.

    The mixed fleet is that of the openb lists where `traces` is their folder, else a made-up one.
    """
    names = {f"burst-{nodes}": nodes for nodes in BURSTS}
    if options.workload in names:
        return _bursts((names[options.workload],), progress)
    if options.workload == MIXED:
        return _mixed(options.traces, progress)
    sizes = _sizes(options.workload)
    steps: list[tuple[str, Callable[[int], dict[str, float]]]] = [
        ("placement", _placement),
        ("cycle", _whole_cycle),
        ("churn", _churn),
        ("rack_gang", _rack_gangs),
        ("sliced_gang", _sliced_gangs),
        ("backlog", _backlog),
    ]
    figures: dict[str, dict[str, dict[str, float]]] = {name: {} for name, _ in steps}
    total = len(sizes) * len(steps)
    for number, size in enumerate(sizes):
        for index, (name, measure) in enumerate(steps):
            progress(number * len(steps) + index, total, f"{name} on {size} nodes")
            figures[name][str(size)] = _quietly(measure, size)
    bursts = _bursts(tuple(BURSTS) if options.workload is None else (), progress)
    parts = (bursts,) if options.workload else (_mixed(options.traces, progress), bursts)
    progress(total, total, "done")
    data = {"bench": "decisions", "nodes": list(sizes), **figures, "growth": _growth(figures)}
    for part in parts:
        data |= part.data
    tables = (_table(figures, sizes), *(each for part in parts for each in part.tables))
    return Report(data, tables, (*_NOTES, *(each for part in parts for each in part.notes)))


def _mixed(traces: Path | None, progress: Progress) -> Report:
    """Attempts a second on a fleet of many node classes, most pods taking a share of a GPU."""
    progress(0, 1, "mixed fleet")
    source = openb_source(traces, OPENB_LIST) if traces else stand_in()
    name = "openb" if traces else "stand-in"
    figures = _quietly(lambda _: measure_mixed(source), 0)
    data = {"bench": "decisions", "mixed": {"fleet": name, **figures}}
    return Report(data, (mixed_table(figures, name),), _MIXED_NOTES)


def _bursts(sizes: tuple[int, ...], progress: Progress) -> Report:
    """Bursts of gangs of which no two are equal, on full fleets."""
    found: dict[str, dict[str, BurstFigures]] = {}
    for number, nodes in enumerate(sizes):
        for name, effort in (("bounded", PER_CYCLE), ("unbounded", UNBOUNDED)):
            progress(number, len(sizes), f"{name} burst on {nodes} nodes")
            found.setdefault(str(nodes), {})[name] = _quietly(measure_with(effort), nodes)
    data = {"bench": "decisions", "burst": to_builtins(found)}
    return Report(data, (burst_table(found),) if found else (), BURST_NOTES if found else ())


_NOTES = (
    "CPU time of one Python thread, no I/O.",
    "placement: find a node and devices for one pod and take them. cycle: submissions in, plan"
    " with reasons out. churn: the same at 90 % load while as many end.",
    "first: one that meets cold indexes; the other figures leave it out.",
    "rack_gang: 8 pods x 8 GPUs in one rack. sliced_gang: 500 to 1,500 pods, every 100 in one"
    " rack, per pod. backlog: 10,000 equal pods that do not fit.",
)


_MIXED_NOTES = (
    "mixed fleet: pods come as in pack-openb, one attempt each; an attempt is timed as `placement`"
    " is. openb: its `default` list; stand-in: made in memory, where no --traces is given.",
)


def _sizes(workload: str | None) -> tuple[int, ...]:
    if workload is None:
        return NODES
    if not workload.isdigit() or int(workload) < NODES[0]:
        bursts = ", ".join(f"burst-{nodes}" for nodes in BURSTS)
        raise InputError(
            f"--workload {workload}: decisions takes a number of nodes, at least {NODES[0]},"
            f" or one of {MIXED}, {bursts}"
        )
    return (int(workload),)


def _quietly(measure: Callable[[int], T], size: int) -> T:
    """Measure with the garbage collector set as the server sets it."""
    before = relax()
    try:
        return measure(size)
    finally:
        gc.unfreeze()
        gc.set_threshold(*before)
        gc.collect()


def _settled() -> None:
    """What is there before the measurement is not the collector's business during it."""
    gc.collect()
    gc.freeze()


def _placement(nodes: int) -> dict[str, float]:
    state = fleet(nodes)
    demands = [Demand(each, shapes_of(each, ())) for each in pods(PODS)]
    _settled()
    times = [_placed(state, demand) for demand in demands]
    cold = len(SIZES)
    return {**_spread(times[cold:]), "first_us": sum(times[:cold]) / cold / US}


def _placed(state: ClusterState, demand: Demand) -> int:
    """Nanoseconds to find a node and devices for a pod, and to take them."""
    sight = state.fleet.table.sight(demand.shapes[0])
    begin = thread_time_ns()
    found = place(state.fleet.indexes, demand, state.config.policy.tries, 0)
    assert found
    pod = found.pods[0]
    state.fleet.tree.join(state.fleet.tree.index[pod.node], sight, pod.devices, pod.milli)
    return thread_time_ns() - begin


def _whole_cycle(nodes: int) -> dict[str, float]:
    state = fleet(nodes)
    events = [GangSubmitted(1, each) for each in pods(PODS)]
    cold = len(SIZES)
    first, _ = _timed(state, events[:cold])
    _settled()
    elapsed, started = _timed(state, events[cold:])
    return {
        "per_s": 1e9 * started / elapsed,
        "mean_us": elapsed / started / US,
        "first_us": first / cold / US,
    }


def _churn(nodes: int) -> dict[str, float]:
    """Cycles of 100 ends and 100 submissions each, on a fleet that is 90 % full."""
    state = fleet(nodes)
    running = _fill(state, nodes * 8 * 9 // 10)
    times, decided = [], 0
    _settled()
    for turn in range(20):
        over = running[turn * 100 : turn * 100 + 100]
        fresh = [GangSubmitted(2, each) for each in pods(100, 1_000_000 + turn * 100)]
        ends = [GangEnded(2, each, 1, Outcome.SUCCEEDED) for each in over]
        elapsed, started = _timed(state, [*ends, *fresh])
        times.append(elapsed)
        decided += started
    return {"per_s": 1e9 * decided / sum(times), "mean_us": sum(times) / decided / US}


def _rack_gangs(nodes: int) -> dict[str, float]:
    state = fleet(nodes)
    _fill(state, nodes * 8 * 3 // 10)
    _settled()
    first, _ = _timed(state, [GangSubmitted(2, rack_gang(1_999_999))])
    times = []
    for number in range(RACK_GANGS):
        elapsed, started = _timed(state, [GangSubmitted(2, rack_gang(2_000_000 + number))])
        times += [elapsed] * started
    return {**_spread(times), "first_us": first / US}


def _sliced_gangs(nodes: int) -> dict[str, float]:
    state = fleet(nodes)
    _settled()
    first, _ = _timed(state, [GangSubmitted(2, sliced_gang(999, 100))])
    times, placed = [], 0
    for number, count in enumerate(SLICED):
        elapsed, started = _timed(state, [GangSubmitted(2, sliced_gang(number, count))])
        times.append(elapsed)
        placed += started * count
    return {
        "per_s": 1e9 * placed / sum(times),
        "mean_us": sum(times) / placed / US,
        "slowest_gang_ms": max(times) / 1e6,
        "first_us": first / US,
    }


def _backlog(nodes: int) -> dict[str, float]:
    """A full fleet: what the first of many equal pods costs, and what each later one does."""
    state = fleet(nodes)
    _fill(state, nodes * 8)
    waiting = [
        GangSubmitted(2, gang(3_000_000 + number, PodSet(request=request(8))))
        for number in range(BACKLOG)
    ]
    _settled()
    first, _ = _timed(state, waiting[:1])
    rest, started = _timed(state, waiting[1:])
    idle, _ = _timed(state, [])
    assert not started
    return {
        "first_us": first / US,
        "mean_us": rest / (BACKLOG - 1) / US,
        "per_s": 1e9 * (BACKLOG - 1) / rest,
        "idle_cycle_us": idle / US,
    }


def _fill(state: ClusterState, gpus: int) -> list[str]:
    """Start single pods until `gpus` GPUs are taken; returns their gangs."""
    chosen: list[Gang] = []
    taken = 0
    for each in pods(gpus):
        size = each.pod_sets[0].request.gpu.count
        if taken + size > gpus:
            break
        taken += size
        chosen.append(each)
    chosen += [
        gang(4_000_000 + number, PodSet(request=request(1))) for number in range(gpus - taken)
    ]
    state.agenda.effort.per_cycle = UNBOUNDED
    plan = cycle(state, [GangSubmitted(1, each) for each in chosen], 1)
    state.agenda.effort.per_cycle = PER_CYCLE
    assert len(plan.starts) == len(chosen), "the fleet has room for all"
    return [each.id for each in chosen]


def _timed(state: ClusterState, events: Sequence[Any]) -> tuple[int, int]:
    """(nanoseconds, gangs started) of one cycle."""
    begin = thread_time_ns()
    plan = cycle(state, events, 2)
    return thread_time_ns() - begin, len(plan.starts)


def _spread(times: list[int]) -> dict[str, float]:
    ordered = sorted(times)
    mean = sum(ordered) / len(ordered)
    return {
        "per_s": 1e9 / mean,
        "mean_us": mean / US,
        "p50_us": ordered[len(ordered) // 2] / US,
        "p99_us": ordered[len(ordered) * 99 // 100] / US,
    }


def _growth(figures: dict[str, dict[str, dict[str, float]]]) -> dict[str, float]:
    """Time per decision on the largest fleet over that on the smallest."""
    return {
        name: by_size[list(by_size)[-1]]["mean_us"] / by_size[next(iter(by_size))]["mean_us"]
        for name, by_size in figures.items()
    }


def _table(figures: dict[str, dict[str, dict[str, float]]], sizes: tuple[int, ...]) -> Table:
    rows = [
        (name, str(size), *(_cell(by_size[str(size)], key) for key in _COLUMNS))
        for name, by_size in figures.items()
        for size in sizes
    ]
    heads = ("decision", "nodes", "per second", "mean µs", "p50 µs", "p99 µs", "first µs")
    return Table("Decisions in memory", heads, tuple(rows))


_COLUMNS = ("per_s", "mean_us", "p50_us", "p99_us", "first_us")


def _cell(figures: dict[str, float], key: str) -> str:
    if key not in figures:
        return "-"
    return f"{figures[key]:,.0f}" if key == "per_s" else f"{figures[key]:,.1f}"


BENCH = Bench("decisions", "decisions per second of the engine as the fleet grows", run)
