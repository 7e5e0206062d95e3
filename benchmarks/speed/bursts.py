"""A full fleet and a burst of gangs of which no two are equal, for `decisions`."""

from collections.abc import Callable, Iterator, Sequence
from random import Random
from time import thread_time

from msgspec import Struct

from benchmarks.common.fleets import CPU_PER_GPU, GPUS_PER_NODE, MEMORY_PER_GPU, node
from benchmarks.registry import Table
from ganglion.engine.cycle import cycle
from ganglion.engine.gangs import preemption_cost
from ganglion.engine.gangs.record import HOLDING, SETTLED
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.engine.state.effort import PER_CYCLE, UNBOUNDED
from ganglion.model.events import (
    Event,
    GangEnded,
    GangStarted,
    GangSubmitted,
    NodeAdded,
    Outcome,
    PodsLeft,
    QueueSet,
)
from ganglion.model.fleet.levels import Level
from ganglion.model.plan import Phase, Plan
from ganglion.model.queue import ANY_FLAVOR, Queue
from ganglion.model.resources import WHOLE, Amount, GpuRequest, PodRequest
from ganglion.model.workload import Checkpoint, Gang, PodSet, Topology

BURSTS = {64: 600, 256: 1_500, 1_000: 4_000}
"""Nodes -> gangs that arrive at once."""

OWED, LENT = ("owed-a", "owed-b"), ("lent-a", "lent-b")
"""Queues that ask, and queues that run beyond their quota."""

HELD = (1, 1, 2, 4, 4, 8, 8, 16)
"""GPUs of successive running gangs."""

MINUTE = 60_000
NOW = 600 * MINUTE
MOST_CYCLES = 400
"""Cycles after which a burst counts as not settled."""


class BurstFigures(Struct, frozen=True):
    """Result of one burst.

    Attributes:
        gangs: gangs that arrived at once.
        settled: whether nothing was decided any more in the end.
        cycles: cycles until then.
        p99_s, max_s, total_s: CPU seconds of a cycle, nearest rank, and of all of them.
        victims: gangs stopped.
        lost_gpu_h: GPU time lost by those.
        started: gangs of the burst that run in the end.
    """

    gangs: int
    settled: bool
    cycles: int
    p99_s: float
    max_s: float
    total_s: float
    victims: int
    lost_gpu_h: float
    started: int


class Burst:
    """A full fleet, the burst, and a world that carries out at once what is decided.

    Args:
        nodes: nodes of 8 GPUs.
        gangs: gangs that arrive at once.

    Attributes:
        cycles: CPU seconds of each cycle until the engine decides nothing more.
        victims: gangs stopped.
        lost: GPU time lost by those, in thousandths of GPUs x ms.
    """

    def __init__(self, nodes: int, gangs: int) -> None:
        self.state = _full(nodes)
        self.cycles: list[float] = []
        self.victims = self.lost = 0
        self._gangs = [_asks(number) for number in range(gangs)]
        self._now = NOW

    def settle(self, most: int = MOST_CYCLES) -> bool:
        """Submit the burst, then run cycles until nothing is decided; False = not within `most`."""
        events: list[Event] = [GangSubmitted(NOW, gang) for gang in self._gangs]
        while len(self.cycles) < most:
            plan = self._cycle(events)
            self._now += 1
            events = _obey(self.state, self._now)
            if not plan.decisions and not events and self.state.agenda.again_at is None:
                return True
        return False

    @property
    def started(self) -> list[str]:
        """Gangs of the burst that run."""
        records = self.state.gangs.records
        return [gang.id for gang in self._gangs if records[gang.id].phase in SETTLED]

    def _cycle(self, events: Sequence[Event]) -> Plan:
        began = thread_time()
        plan = cycle(self.state, events, self._now)
        self.cycles.append(thread_time() - began)
        restart = self.state.config.policy.evict.restart_ms
        for stop in plan.stops:
            record = self.state.gangs.records[stop.gang]
            self.lost += preemption_cost.of_gang(record, self._now, restart)
        self.victims += len(plan.stops)
        return plan


def measure_with(effort: int) -> Callable[[int], BurstFigures]:
    """Measures the burst on a number of nodes with a given work in a cycle."""

    def measure(nodes: int) -> BurstFigures:
        burst = Burst(nodes, BURSTS[nodes])
        burst.state.agenda.effort.per_cycle = effort
        settled = burst.settle()
        burst.state.validate()
        ordered = sorted(burst.cycles)
        return BurstFigures(
            gangs=BURSTS[nodes],
            settled=settled,
            cycles=len(ordered),
            p99_s=ordered[-(-len(ordered) * 99 // 100) - 1],
            max_s=ordered[-1],
            total_s=sum(ordered),
            victims=burst.victims,
            lost_gpu_h=burst.lost / (WHOLE * 60 * MINUTE),
            started=len(burst.started),
        )

    return measure


def burst_table(found: dict[str, dict[str, BurstFigures]]) -> Table:
    """One row per burst and engine."""
    heads = ("nodes", "gangs", "work", "cycles", "p99 s", "total s", "victims", "GPU-h lost", "run")
    rows = [
        (
            nodes,
            f"{each.gangs:,}",
            name,
            f"{each.cycles}" if each.settled else f"over {each.cycles}",
            f"{each.p99_s:.2f}",
            f"{each.total_s:.1f}",
            f"{each.victims:,}",
            f"{each.lost_gpu_h:,.0f}",
            f"{each.started:,}",
        )
        for nodes, by_name in found.items()
        for name, each in by_name.items()
    ]
    return Table("Bursts of unequal gangs on a full fleet", heads, tuple(rows))


BURST_NOTES = (
    "burst: no two gangs are equal; victims leave at once. bounded: the work of a cycle is"
    " bounded, and the rest goes on in the next one. unbounded: every cycle looks at everything.",
)


def _obey(state: ClusterState, now: int) -> list[Event]:
    """What a world reports that does everything at once."""
    done: list[Event] = []
    for record in state.gangs.records.values():
        gang, attempt = record.gang.id, record.attempt
        if record.phase not in HOLDING:
            continue
        if record.phase is Phase.STARTING:
            done.append(GangStarted(now, gang, attempt))
        if record.phase is Phase.STOPPING:
            done.append(GangEnded(now, gang, attempt, Outcome.PREEMPTED, requeue=True))
        elif record.leaving:
            done.append(PodsLeft(now, gang, attempt))
    return done


def _full(nodes: int) -> ClusterState:
    """A fleet whose every GPU is held by the queues that lend none."""
    state = ClusterState()
    state.agenda.effort.per_cycle = UNBOUNDED
    events: list[Event] = [QueueSet(0, each) for each in _queues(nodes)]
    events += [NodeAdded(0, node(number)) for number in range(nodes)]
    cycle(state, events, 0)
    gangs = list(_holders(nodes * GPUS_PER_NODE))
    plan = cycle(state, [GangSubmitted(each.submitted, each) for each in gangs], 2 * MINUTE)
    assert len(plan.starts) == len(gangs), "the fleet is full"
    began: list[Event] = [
        GangStarted((2 + number * 7 % 240) * MINUTE, start.gang.id, start.attempt)
        for number, start in enumerate(plan.starts)
    ]
    cycle(state, began, 250 * MINUTE)
    state.agenda.effort.per_cycle = PER_CYCLE
    return state


def _queues(nodes: int) -> Iterator[Queue]:
    gpus = nodes * GPUS_PER_NODE
    for names, quota in ((OWED, gpus * 3 // 8), (LENT, gpus // 8)):
        for name in names:
            yield Queue(name, quota={ANY_FLAVOR: Amount(gpu_milli=quota * WHOLE)})


def _holders(gpus: int) -> Iterator[Gang]:
    """Gangs of mixed sizes that hold `gpus` GPUs, the largest first: they leave no gap."""
    sizes: list[int] = []
    while (left := gpus - sum(sizes)) > 0:
        sizes.append(min(HELD[len(sizes) % len(HELD)], left))
    for number, size in enumerate(sorted(sizes, reverse=True)):
        pods = PodSet(count=max(size // GPUS_PER_NODE, 1), request=_request(min(size, 8)))
        yield Gang(
            f"held-{number:05d}/0",
            f"held-{number:05d}",
            LENT[number % len(LENT)],
            priority=(20, 40)[number % 3 == 0],
            pod_sets=(pods,),
            submitted=number % MINUTE,
            checkpoint=Checkpoint(interval_ms=(30 + number % 90) * MINUTE),
        )


def _asks(number: int) -> Gang:
    """Gang `number` of the burst; its memory, which is short nowhere, makes it unlike others."""
    rng = Random(number)
    gpus = rng.choice((1, 1, 1, 2, 2, 4, 8))
    count = rng.choice((1, 1, 1, 2, 3, 4, 8))
    level = rng.choice((None, None, Level.RACK)) if count > 1 else None
    request = PodRequest(CPU_PER_GPU * gpus, MEMORY_PER_GPU * gpus - number, GpuRequest(gpus))
    return Gang(
        f"burst-{number:05d}/0",
        f"burst-{number:05d}",
        (*OWED, *OWED, *LENT)[number % 6],
        priority=rng.choice((30, 50, 50, 60)),
        pod_sets=(PodSet(count=count, request=request),),
        topology=Topology(required=level),
        submitted=NOW - rng.randrange(MINUTE),
    )


def _request(gpus: int) -> PodRequest:
    return PodRequest(CPU_PER_GPU * gpus, MEMORY_PER_GPU * gpus, GpuRequest(gpus))
