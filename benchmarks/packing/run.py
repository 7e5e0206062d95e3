"""One run of the packing protocol, through the engine's own state and placement."""

from collections.abc import Sequence
from pathlib import Path
from random import Random
from time import perf_counter

import numpy as np
from msgspec import Struct

from benchmarks.packing.protocol import (
    Curve,
    arrivals,
    capacity_milli,
    gpu_milli,
    shuffled_names,
    typical_pods,
)
from ganglion.engine.placement.place import Demand, place
from ganglion.engine.plugins.builtin import builtin_plugins
from ganglion.engine.plugins.protocols import Ints, NodeClass, Typical
from ganglion.engine.plugins.scores.fgd import fragments
from ganglion.engine.plugins.scores.target import Side, TypicalTarget
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.engine.topology.node_state import NodeState
from ganglion.model.errors import FieldError
from ganglion.model.events import (
    GangEnded,
    GangPlaced,
    GangSubmitted,
    NodeAdded,
    Outcome,
    QueueSet,
    TypicalPods,
)
from ganglion.model.fleet.node import Node
from ganglion.model.kinds import Weighted
from ganglion.model.placement import Placement
from ganglion.model.policy import Policy
from ganglion.model.queue import Queue
from ganglion.model.workload import Gang
from ganglion.worlds.simulated.readers.openb import read_nodes, read_pods

QUEUE = "openb"

LEARNT = "learnt"
"""`ganglion`, but its typical pods are learnt from those that have arrived, as a server does."""

CHUNK = 512
"""Node states measured at once: keeps the arrays small."""


class Source(Struct, frozen=True):
    """A cluster and the pods submitted to it.

    Attributes:
        nodes: those with GPUs.
        pods: one-pod gangs in order of name.
        typical: the typical pods.
    """

    nodes: tuple[Node, ...]
    pods: tuple[Gang, ...]
    typical: Typical

    @property
    def capacity(self) -> int:
        """Thousandths of all GPUs."""
        return capacity_milli(self.nodes)


def read(nodes: Path, pods: Path) -> Source:
    """Read a node list and a pod list.

    Raises:
        InputError: unreadable, or nothing in it has or wants GPUs.
    """
    with_gpus = tuple(node for node in read_nodes(nodes) if node.devices)
    gangs = sorted((job.gang for job in read_pods(pods, queue=QUEUE)), key=lambda gang: gang.id)
    if not with_gpus:
        raise FieldError("no node has GPUs", file=str(nodes))
    if not any(gang.pod_sets[0].request.gpu.count for gang in gangs):
        raise FieldError("no pod asks for GPUs", file=str(pods))
    return Source(with_gpus, tuple(gangs), typical_pods(gangs))


class Outcomes(Struct, frozen=True):
    """What came out of a run.

    Attributes:
        curve: what was measured after every pod.
        pods: attempts.
        wall_s: time of all attempts.
    """

    curve: Curve
    pods: int
    wall_s: float


def run_once(source: Source, policy: str, seed: int) -> Outcomes:
    """Replay the protocol with one score and one seed. Raises PluginError."""
    rng = Random(seed)
    order = arrivals(source.pods, source.capacity, rng)
    state = cluster(source, policy, rng)
    begin = perf_counter()
    log = [attempt(state, gang, learn=policy == LEARNT) for gang in order]
    wall = perf_counter() - begin
    state.validate()
    return Outcomes(_curve(state, source, order, log), len(order), wall)


def cluster(source: Source, policy: str, rng: Random) -> ClusterState:
    """An empty cluster that places by one score."""
    chosen = Policy(scores=(Weighted("ganglion" if policy == LEARNT else policy),))
    state = ClusterState(chosen, builtin_plugins(chosen))
    state.apply(QueueSet(0, Queue(QUEUE)))
    for node in shuffled_names(source.nodes, rng):
        state.apply(NodeAdded(0, node))
    if policy != LEARNT:
        state.apply(TypicalPods(0, source.typical))
    state.fleet.settle()
    return state


def attempt(
    state: ClusterState, gang: Gang, *, learn: bool = False
) -> tuple[NodeState, NodeState] | None:
    """Submit a pod; it starts without an end, or is refused.

    Args:
        state: the cluster.
        gang: the pod.
        learn: whether typical pods are learnt first, as the decision cycle does.

    Returns:
        The state of its node before and after it; None when it was sent away.
    """
    state.apply(GangSubmitted(0, gang))
    pods = state.gangs.census.due() if learn else None
    if pods is not None:
        state.apply(TypicalPods(0, pods, learnt=True))
    demand = Demand(gang, state.gangs.record(gang.id).shapes)
    found = place(state.fleet.indexes, demand, state.config.policy.tries, state.progress.turn)
    if found is None:
        state.apply(GangEnded(0, gang.id, 0, Outcome.CANCELLED))
        return None
    before = _condition(state, found)
    state.apply(GangPlaced(0, gang.id, 1, found))
    return before, _condition(state, found)


def _condition(state: ClusterState, placement: Placement) -> NodeState:
    rank = state.fleet.tree.index[placement.pods[0].node]
    return state.fleet.table.known[state.fleet.tree.conditions[rank]]


def _curve(
    state: ClusterState,
    source: Source,
    order: Sequence[Gang],
    log: Sequence[tuple[NodeState, NodeState] | None],
) -> Curve:
    asked = np.array([gpu_milli(gang.pod_sets[0].request) for gang in order], dtype=np.int64)
    placed = np.array([each is not None for each in log])
    measure = Fragments(state.fleet.table.classes, source.typical)
    start = measure.of(
        [state.fleet.table.known[each] for each in state.fleet.tree.emptied().conditions]
    )
    grown = np.zeros(len(order), dtype=np.int64)
    moves = [each for each in log if each]
    grown[placed] = measure.of([after for _, after in moves])
    grown[placed] -= measure.of([before for before, _ in moves])
    return Curve(
        source.capacity,
        np.cumsum(asked),
        np.cumsum(asked * placed),
        (start.sum() + np.cumsum(grown)) / measure.target.total,
    )


class Fragments:
    """The published measure of fragmentation, for any number of node states.

    Args:
        classes: all node classes.
        typical: the typical pods.
    """

    def __init__(self, classes: Sequence[NodeClass], typical: Typical) -> None:
        self._width = max(len(each.devices) for each in classes)
        self.target = TypicalTarget(typical, classes, self._width)

    def of(self, states: Sequence[NodeState]) -> Ints:
        """Unusable thousandths of each state x number of typical pods, int64[N]."""
        numbers = {each: number for number, each in enumerate(dict.fromkeys(states))}
        distinct = list(numbers)
        parts = [
            fragments(self.target, self._side(distinct[at : at + CHUNK]))
            for at in range(0, len(distinct), CHUNK)
        ]
        values = np.concatenate(parts or [np.zeros(0, dtype=np.int64)])
        return values[np.array([numbers[each] for each in states], dtype=np.int64)]

    def _side(self, states: Sequence[NodeState]) -> Side:
        gpu = np.zeros((len(states), self._width), dtype=np.int64)
        for row, each in enumerate(states):
            gpu[row, : len(each.gpu)] = each.usable
        columns = [(each.node_class, each.cpu, each.memory) for each in states]
        table = np.array(columns, dtype=np.int64)
        return Side(table[:, 0], table[:, 1], table[:, 2], gpu)
