"""The cases of `reclaim`: a full cluster, a queue that wants what it is owed, and one cycle.

Run as a program, this module measures one case in a process of its own and prints the figures
as JSON, so that the peak of memory is that of the case: `python -m ... CASE NODES`.
"""

import gc
import sys
from collections.abc import Callable, Iterable, Sequence
from resource import RUSAGE_SELF, getrusage
from time import thread_time

import msgspec
from msgspec import Struct

from benchmarks.common.fleets import GPUS_PER_NODE, node, request
from ganglion.collector import relax
from ganglion.engine.cycle import cycle
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.engine.state.effort import PER_CYCLE, UNBOUNDED
from ganglion.model.events import (
    Event,
    GangEnded,
    GangStarted,
    GangSubmitted,
    NodeAdded,
    Outcome,
    QueueSet,
)
from ganglion.model.fleet.levels import Level
from ganglion.model.plan import Plan
from ganglion.model.policy import Policy
from ganglion.model.queue import ANY_FLAVOR, Queue
from ganglion.model.resources import Amount
from ganglion.model.workload import Checkpoint, Gang, PodSet, Topology

OWED, BORROWER = "owed", "borrower"
SHORT_NODES = 10
"""Nodes that the gang asks for which is one GPU short of what its queue is owed."""

MINUTE = 60_000
NOW = 600 * MINUTE
FOLLOW_UPS = 400
"""Most cycles that the carrying out of one decision may take; a cycle takes a bounded number."""


class Case(Struct, frozen=True):
    """One shape of the problem.

    Attributes:
        help: for people.
        quota: GPUs that the asking queue is owed, by the number of nodes.
        running: gangs per node of the queue that borrows; each has an equal part of the node.
        wanted: what the asking queue submits, by the number of nodes.
    """

    help: str
    quota: Callable[[int], int]
    running: int
    wanted: Callable[[int], Iterable[Gang]]


class Figures(Struct, frozen=True):
    """What was measured.

    Attributes:
        nodes: size of the cluster.
        decision_s: CPU seconds of the cycle that takes the submissions in and decides.
        settled_s: CPU seconds of all cycles until everything decided was carried out.
        again_s: CPU seconds of one more cycle in which nothing happened.
        peak_mib, before_mib: peak of resident memory, after the decision and before it.
        victims: gangs stopped.
        started: gangs of the asking queue that run in the end.
        reason: why the first of those that still wait does; empty = none waits.
    """

    nodes: int
    decision_s: float
    settled_s: float
    again_s: float
    peak_mib: float
    before_mib: float
    victims: int
    started: int
    reason: str


def _pods(name: str, count: int, gpus: int, level: Level | None = None) -> Gang:
    pods = PodSet(count=count, request=request(gpus))
    return Gang(
        f"{name}/0", name, OWED, pod_sets=(pods,), topology=Topology(required=level), submitted=NOW
    )


def _half(nodes: int) -> list[Gang]:
    return [_pods("large", nodes // 2, GPUS_PER_NODE)]


def _singles(nodes: int) -> list[Gang]:
    return [_pods(f"small-{number:06d}", 1, 1) for number in range(nodes * GPUS_PER_NODE)]


CASES: dict[str, Case] = {
    "half_cluster": Case(
        "one gang of half the nodes; 8 single-GPU gangs run on each",
        lambda nodes: nodes * GPUS_PER_NODE // 2,
        GPUS_PER_NODE,
        _half,
    ),
    "half_cluster_whole": Case(
        "one gang of half the nodes; one 8-GPU gang runs on each",
        lambda nodes: nodes * GPUS_PER_NODE // 2,
        1,
        _half,
    ),
    "many_singles": Case(
        "8 single-GPU gangs wait and 8 run per node; half of the cluster is owed",
        lambda nodes: nodes * GPUS_PER_NODE // 2,
        GPUS_PER_NODE,
        _singles,
    ),
    "one_gpu_short": Case(
        "10 pods of 8 GPUs, and one GPU less is owed",
        lambda _: SHORT_NODES * GPUS_PER_NODE - 1,
        GPUS_PER_NODE,
        lambda _: [_pods("large", SHORT_NODES, GPUS_PER_NODE)],
    ),
    "one_gpu_short_rack": Case(
        "the same within one rack",
        lambda _: SHORT_NODES * GPUS_PER_NODE - 1,
        GPUS_PER_NODE,
        lambda _: [_pods("large", SHORT_NODES, GPUS_PER_NODE, Level.RACK)],
    ),
}
"""Cases by name (shapes of KAI-Scheduler's own benchmarks)."""


def measure(name: str, nodes: int) -> Figures:
    """Measure one case on a cluster of that many nodes."""
    case = CASES[name]
    state = _full(case, nodes)
    wanted = list(case.wanted(nodes))
    thresholds = relax()
    gc.collect()
    gc.freeze()
    try:
        return _measured(state, wanted, nodes)
    finally:
        gc.unfreeze()
        gc.set_threshold(*thresholds)


def _measured(state: ClusterState, wanted: list[Gang], nodes: int) -> Figures:
    before = _peak_mib()
    took, plan = _timed(state, [GangSubmitted(NOW, gang) for gang in wanted])
    peak, stops = _peak_mib(), len(plan.stops)
    decision = took
    for _ in range(FOLLOW_UPS):
        if not plan.stops and state.agenda.again_at is None:
            break
        more, plan = _timed(state, _left(plan))
        took, stops = took + more, stops + len(plan.stops)
    again, _ = _timed(state, [])
    state.validate()
    running = [gang for gang in wanted if state.gangs.records[gang.id].placement]
    waiting = [gang for gang in wanted if not state.gangs.records[gang.id].placement]
    reason = state.gangs.reason(waiting[0].id) if waiting else None
    return Figures(
        nodes=nodes,
        decision_s=decision,
        settled_s=took,
        again_s=again,
        peak_mib=peak,
        before_mib=before,
        victims=stops,
        started=len(running),
        reason=reason.message if reason else "",
    )


def _full(case: Case, nodes: int) -> ClusterState:
    """A cluster whose every GPU is used by the queue that borrows."""
    state = ClusterState(Policy(timeshare=False))  # what is counted is stops between queues
    total, owed = nodes * GPUS_PER_NODE, case.quota(nodes)
    queues = (_queue(OWED, owed), _queue(BORROWER, total - owed))
    events: list[Event] = [QueueSet(0, queue) for queue in queues]
    events += [NodeAdded(0, node(number)) for number in range(nodes)]
    cycle(state, events, 0)
    size = GPUS_PER_NODE // case.running
    gangs = [_runs(number, size) for number in range(nodes * case.running)]
    state.agenda.effort.per_cycle = UNBOUNDED
    plan = cycle(state, [GangSubmitted(gang.submitted, gang) for gang in gangs], 2 * MINUTE)
    state.agenda.effort.per_cycle = PER_CYCLE
    assert len(plan.starts) == len(gangs), "the borrower fills the cluster"
    started: list[Event] = [
        GangStarted((2 + number % 240) * MINUTE, start.gang.id, start.attempt)
        for number, start in enumerate(plan.starts)
    ]
    cycle(state, started, 250 * MINUTE)
    return state


def _queue(name: str, gpus: int) -> Queue:
    return Queue(name, quota={ANY_FLAVOR: Amount(gpu_milli=gpus * 1000)})


def _runs(number: int, gpus: int) -> Gang:
    return Gang(
        f"run-{number:06d}/0",
        f"run-{number:06d}",
        BORROWER,
        pod_sets=(PodSet(request=request(gpus)),),
        submitted=number % MINUTE,
        checkpoint=Checkpoint(interval_ms=30 * MINUTE),
    )


def _left(plan: Plan) -> list[Event]:
    """Every gang that was asked to stop has left and waits again."""
    return [
        GangEnded(NOW, stop.gang, stop.attempt, Outcome.PREEMPTED, requeue=True)
        for stop in plan.stops
    ]


def _timed(state: ClusterState, events: Sequence[Event]) -> tuple[float, Plan]:
    began = thread_time()
    plan = cycle(state, events, NOW)
    return thread_time() - began, plan


def _peak_mib() -> float:
    return getrusage(RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    sys.stdout.buffer.write(msgspec.json.encode(measure(sys.argv[1], int(sys.argv[2]))))
