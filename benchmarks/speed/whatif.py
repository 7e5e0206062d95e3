"""`whatif`: how long it takes to answer a question about a week of a cluster.

The week happens in the simulator, with faults, and is written into a ledger; then the process
that answers questions on a server reads and replays it twice.
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import msgspec
from msgspec.structs import replace

from benchmarks.common.jobs import Arrival, nodes_at_load, read_arrivals, synthetic
from benchmarks.common.replay import nodes_of
from benchmarks.common.traces import main_file
from benchmarks.registry import Bench, BenchOptions, Progress, Report, Table
from ganglion.ledger.ledger import Ledger
from ganglion.ledger.records import Batch
from ganglion.model.errors import NotFound
from ganglion.model.events import Event
from ganglion.model.plan import Plan
from ganglion.model.policy import Order, Policy
from ganglion.model.queue import Queue
from ganglion.model.resources import Amount
from ganglion.model.workload import Checkpoint, Gang
from ganglion.whatif.changes import WhatIfChange
from ganglion.worlds.simulated.attempt import Timing
from ganglion.worlds.simulated.faults.rates import PRESETS
from ganglion.worlds.simulated.job import Shapes, SimJob
from ganglion.worlds.simulated.run import simulate
from ganglion.worlds.simulated.scenario import SimulatedScenario

WEEK_MS = 7 * 86_400_000
WANTED = "cluster04"
"""Cluster of the trace with the most jobs."""
DENSE = 10_000
LOAD = 0.9
QUEUES = ("a", "b", "c", "d")
START_MS, SAVES = 20_000, Checkpoint(interval_ms=1_800_000, grace_ms=10_000)
AIM_S = 60.0
CHANGE = WhatIfChange(policy=Policy(order=Order.FIFO))
"""What is asked: the past was under the default policy."""


def run(options: BenchOptions, progress: Progress) -> Report:
    """Ask about a week.

    Raises:
        NotFound: the trace has no such cluster.
    """
    jobs, load = _dense(_arrivals(options), options.gangs or DENSE), round(os.getloadavg()[0], 1)
    scenario = _scenario(jobs)
    with TemporaryDirectory() as folder:
        ledger = Path(folder) / "ledger.db"
        progress(0, 2, "the week")
        events = _happened(scenario, ledger)
        progress(1, 2, "the question")
        found = _timed(ledger, scenario.start)
    data: dict[str, Any] = {"bench": "whatif", "load": load, "synthetic": options.traces is None}
    data |= {"cluster": options.workload or WANTED, "aim_s": AIM_S, "events": events}
    data |= {"jobs": len(scenario.jobs), "nodes": len(scenario.nodes), **found}
    columns = ("jobs", "nodes", "events", "wall s", "CPU s", "error of p50 s", "of p95 s")
    row = (
        f"{data['jobs']:,}",
        f"{data['nodes']:,}",
        f"{events:,}",
        f"{data['wall_s']:.1f}",
        f"{data['cpu_s']:.1f}",
        f"{data['error_p50_s']:.0f}",
        f"{data['error_p95_s']:.0f}",
    )
    notes = (
        "From the start of the process to its answer: it reads the ledger, and replays it twice, in"
        " two processes at once.",
        "The errors are the distance of the waits of the first replay from those that happened.",
        "The first jobs of the cluster, their arrivals pressed into seven days, on as many nodes"
        " as load 0.9 asks for; the busiest real week has a third of them.",
    )
    return Report(data, (Table("Time to answer", columns, (row,)),), notes)


def _arrivals(options: BenchOptions) -> list[Arrival]:
    if options.traces is None:
        return synthetic(0, 2_000)
    found = read_arrivals(main_file(options.traces, "jobs"))
    name = options.workload or WANTED
    if name not in found:
        raise NotFound(f"there is no vc {name!r}", f"found: {', '.join(found)}")
    return found[name]


def _dense(arrivals: Sequence[Arrival], count: int) -> list[Arrival]:
    """The first jobs, in a week."""
    taken = arrivals[:count]
    first = taken[0][0]
    lasts = max(taken[-1][0] - first, 1)
    return [((at - first) * (WEEK_MS - 1) // lasts, lasting, gpus) for at, lasting, gpus in taken]


def _scenario(arrivals: Sequence[Arrival]) -> SimulatedScenario:
    """The jobs of a week in four queues, dealt in turn, on nodes that they load to 0.9."""
    nodes = nodes_of(nodes_at_load(arrivals, LOAD))
    gpus, shapes = 8 * len(nodes), Shapes(8)
    part = Amount(gpu_milli=gpus // len(QUEUES) * 1000)
    jobs = [
        SimJob(
            Gang(
                id=f"{number:07d}/0",
                workload=f"{number:07d}",
                queue=QUEUES[number % len(QUEUES)],
                pod_sets=shapes.gpus(size),
                submitted=at,
                checkpoint=SAVES,
            ),
            duration,
        )
        for number, (at, duration, size) in enumerate(arrivals)
        if 0 < size <= gpus
    ]
    return SimulatedScenario(
        tuple(nodes),
        tuple(Queue(name, quota={"GPU": part}) for name in QUEUES),
        tuple(jobs),
        timing=Timing(start_ms=START_MS, stop_ms=SAVES.grace_ms, restart_ms=START_MS),
        faults=replace(PRESETS["light"], seed=1),
        horizon_ms=WEEK_MS,
        withdraws=False,
    )


def _happened(scenario: SimulatedScenario, path: Path) -> int:
    """Write what happens into a ledger; returns the number of events."""
    ledger = Ledger.open(path)

    def write(events: list[Event], plan: Plan) -> None:
        if events or plan.decisions:
            at = max(each.at for each in (*events, *plan.decisions))
            ledger.append(Batch(at, list(events), list(plan.decisions)))

    simulate(scenario, observe=write)
    written = ledger.head
    ledger.close()
    return written


def _timed(ledger: Path, since: int) -> dict[str, Any]:
    """Have a process answer a question, and time it."""
    task = {"ledger": str(ledger), "since": since, "until": since + WEEK_MS, "change": CHANGE}
    before, began = getrusage(RUSAGE_CHILDREN), perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "ganglion.server.whatif"],
        input=msgspec.json.encode(task),
        capture_output=True,
        check=True,
    )
    wall, after = perf_counter() - began, getrusage(RUSAGE_CHILDREN)
    answer = msgspec.json.decode(done.stdout)
    if answer["report"] is None:
        raise AssertionError(answer["message"])
    everything = next(each for each in answer["report"]["groups"] if each["by"] == "all")
    figures = everything["figures"]
    return {
        "wall_s": wall,
        "cpu_s": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        "error_p50_s": figures["wait_p50_ms"]["bar"] / 1000,
        "error_p95_s": figures["wait_p95_ms"]["bar"] / 1000,
        "figures": figures,
        "assumptions": answer["report"]["assumptions"],
    }


BENCH = Bench(
    "whatif", "Time to answer what a week would have been otherwise.", run, sizes=("gangs",)
)
