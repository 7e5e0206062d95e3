"""`budgets`: what budgets add to the time of cycles, as a ratio of runs that alternate."""

import gc
import os
from statistics import median
from time import thread_time_ns
from typing import Any

from benchmarks.common.fleets import fleet, pods
from benchmarks.registry import Bench, BenchOptions, Progress, Report, Table
from ganglion.collector import relax
from ganglion.engine.cycle import cycle
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.model.events import (
    BudgetSet,
    Event,
    GangEnded,
    GangSubmitted,
    Outcome,
    PriceSet,
)
from ganglion.model.fleet.price import Price
from ganglion.model.queue import Budget

NODES = 1_000
TURNS, AT_ONCE = 20, 100
HOUR_MS = 3_600_000
PLENTY = 1_000_000_000_000_000
"""A budget, in millionths, that nothing passes: the same starts with it and without."""


def run(options: BenchOptions, progress: Progress) -> Report:
    """Decide alike with budgets and without, in turn, and compare."""
    nodes, runs = options.nodes or NODES, options.seeds
    before, times = relax(), dict[bool, list[int]]()
    load = round(os.getloadavg()[0], 1)
    try:
        for turn in range(runs):
            for budgeted in (False, True) if turn % 2 else (True, False):
                progress(turn, runs, "with budgets" if budgeted else "without")
                times.setdefault(budgeted, []).append(_life(nodes, budgeted=budgeted))
    finally:
        gc.unfreeze()
        gc.set_threshold(*before)
    ratio = median(times[True]) / median(times[False])
    data: dict[str, Any] = {"bench": "budgets", "load": load, "nodes": nodes, "ratio": ratio}
    data |= {"with_s": [each / 1e9 for each in times[True]]}
    data |= {"without_s": [each / 1e9 for each in times[False]]}
    rows = tuple(
        (name, f"{median(each) / 1e9:.2f}", f"{min(each) / 1e9:.2f}", f"{max(each) / 1e9:.2f}")
        for name, each in (("without", times[False]), ("with budgets", times[True]))
    )
    table = Table("CPU time of the same cycles, s", ("budgets", "median", "least", "most"), rows)
    notes = (
        f"ratio of the medians: {ratio:.3f}; load average {load}.",
        f"{nodes:,} nodes filled to 90 %, then {TURNS} cycles of {AT_ONCE} ends and submissions;"
        " runs alternate. Prices with hours; one budget that binds every gang and refuses none.",
    )
    return Report(data, (table,), notes)


def _life(nodes: int, *, budgeted: bool) -> int:
    """Nanoseconds of CPU time that the cycles of one fleet take."""
    state = fleet(nodes)
    if budgeted:
        cycle(state, _money(state), 1)
    running = _starts(state, [GangSubmitted(2, each) for each in pods(nodes * 2)], 2)
    gc.collect()
    gc.freeze()
    begin = thread_time_ns()
    for turn in range(TURNS):
        now = 2 + (turn + 1) * HOUR_MS // 10
        over = running[turn * AT_ONCE : (turn + 1) * AT_ONCE]
        fresh = pods(AT_ONCE, 1_000_000 + turn * AT_ONCE)
        ends = [GangEnded(now, each, 1, Outcome.SUCCEEDED) for each in over]
        _starts(state, [*ends, *(GangSubmitted(now, each) for each in fresh)], now)
    return thread_time_ns() - begin


def _starts(state: ClusterState, events: list[Event], now: int) -> list[str]:
    return [each.gang.id for each in cycle(state, events, now).starts]


def _money(state: ClusterState) -> list[Event]:
    flavors = sorted({node.kind for node in state.fleet.nodes.values()})
    made: list[Event] = []
    for flavor in flavors:
        made.append(PriceSet(1, Price(flavor, 0, 2_500_000, currency="EUR")))
        night = Price(flavor, 0, 1_200_000, "", 1_200, 480, "Europe/Berlin", "EUR")
        made.append(PriceSet(1, night))
    made += [BudgetSet(1, Budget(name, PLENTY)) for name in state.queues.by_name]
    return made


BENCH = Bench("budgets", "What budgets add to the time of cycles.", run, sizes=("nodes",))
