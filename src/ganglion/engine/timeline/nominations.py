"""Promises: places that are a gang's own while others still leave them."""

from bisect import bisect_right
from collections.abc import Callable, Iterable
from typing import NamedTuple

from ganglion.engine.gangs.preemption_cost import gpu_milli
from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.store.store import Store
from ganglion.engine.store.victims import VictimUnit
from ganglion.engine.timeline.reservation import Reservation
from ganglion.engine.topology.node_state import UNBOUNDED, NodeState, added
from ganglion.engine.topology.pod_shape import SHARED, Shape
from ganglion.model.causes import CauseKind
from ganglion.model.placement import Placement, PodPlacement
from ganglion.model.plan import Phase
from ganglion.model.resources import WHOLE


def is_clear(state: Store, record: GangRecord, placement: Placement, *, counted: bool) -> bool:
    """Whether a gang's pods could really start there now.

    The tree no longer counts pods that were asked to stop; until they are gone, what it shows
    as free beside them may not be.

    Args:
        state: the fleet.
        record: the gang.
        placement: its place.
        counted: whether the tree counts the gang there already.
    """
    leaving = state.holdings.leaving
    if not leaving:
        return True
    shapes = _shapes(record)
    touched: dict[str, list[PodPlacement]] = {}
    for pod in placement.pods:
        if pod.node in leaving:
            touched.setdefault(pod.node, []).append(pod)
    return all(_holds(state, node, pods, shapes, counted) for node, pods in touched.items())


def _holds(
    state: Store,
    node: str,
    pods: list[PodPlacement],
    shapes: dict[str, Shape],
    counted: bool,
) -> bool:
    """Whether one node has room for the pods beside all that still leaves it."""
    condition = condition_of(state, node)
    cpu, memory, slots, gpu = condition.cpu, condition.memory, condition.slots, [*condition.gpu]
    extras = condition.extras
    spent = [] if counted else [(pod, shapes[pod.pod_set]) for pod in pods]
    for gang in state.holdings.leaving[node]:
        other = state.gangs.records[gang]
        beside = _shapes(other)
        gone = [(pod, beside[pod.pod_set]) for pod in other.leaving if pod.node == node]
        if not _tenants_agree((shape for _, shape in gone), pods, shapes):
            return False
        spent += gone
    for pod, shape in spent:
        cpu -= shape.request.cpu_milli
        memory -= shape.request.memory_mib
        slots -= slots != UNBOUNDED
        extras = added(extras, shape.request.extras, -1)
        for device in pod.devices:
            if device < len(gpu):  # else the node came back without it
                gpu[device] -= pod.milli
    fits = all(device < len(gpu) and gpu[device] >= 0 for pod in pods for device in pod.devices)
    asked = {name for pod in pods for name, _ in shapes[pod.pod_set].request.extras}
    enough = all(left >= 0 for name, left in extras if name in asked)
    return fits and enough and cpu >= 0 and memory >= 0 and slots >= 0


def _tenants_agree(
    leaving: Iterable[Shape], pods: list[PodPlacement], shapes: dict[str, Shape]
) -> bool:
    tenancies = {shape.tenancy for shape in leaving} | {shapes[pod.pod_set].tenancy for pod in pods}
    return tenancies == {SHARED} or len(tenancies) == 1


def overfull(state: Store, nodes: Iterable[str], *, extras: bool = False) -> list[str]:
    """Nodes among these on which more is counted than they have.

    Args:
        state: the fleet.
        nodes: their names.
        extras: whether that goes for resources which are only counted, too. Pods that hold
            them run on when a node loses some.
    """
    found = []
    for node in dict.fromkeys(nodes):
        condition = condition_of(state, node)
        left = (condition.cpu, condition.memory, condition.slots, *condition.gpu)
        sick = any(condition.gpu[each] < WHOLE for each in condition.sick)
        short = extras and any(free < 0 for _, free in condition.extras)
        if sick or short or min(left) < 0:
            found.append(node)
    return found


def condition_of(state: Store, node: str) -> NodeState:
    """What is free on a node as the tree counts it. Raises NotFound."""
    return state.fleet.table.known[state.fleet.tree.conditions[state.fleet.tree.rank(node)]]


class Pledges:
    """Places that are only promised so far, as victims that lose no work, by queue.

    Args:
        state: the fleet.

    Attributes:
        by_queue: those of each queue, by priority, as of the last `sync`.
    """

    def __init__(self, state: Store) -> None:
        self._state = state
        self._seen = -1
        self.by_queue: dict[str, list[_Pledge]] = {}

    def to(self, asker: GangRecord, top: Callable[[str], int]) -> list[VictimUnit]:
        """What might be taken for a gang; the rules have to be asked just before it is.

        Args:
            asker: the gang.
            top: the highest priority of what might be taken of a queue.

        Returns:
            Those of lower priority first, then smaller ones, then younger gangs.
        """
        self.sync()
        found: list[_Pledge] = []
        for queue, pledges in self.by_queue.items():
            low = pledges[: bisect_right(pledges, top(queue), key=_priority)]
            found += (each for each in low if each.record is not asker)
        own = asker.gang.queue
        return [
            as_promised(
                record, CauseKind.PREEMPTED if record.gang.queue == own else CauseKind.RECLAIMED
            )
            for *_, record in sorted(found, key=lambda each: each[:4])
        ]

    def sync(self) -> None:
        """Look again if promises were made, broken or passed on since."""
        if self._seen == self._state.holdings.promises:
            return
        self._seen, self.by_queue = self._state.holdings.promises, {}
        for turn, holder in enumerate(self._state.holdings.promised):
            record = self._state.gangs.records[holder]
            if record.promise and record.phase is Phase.RESERVED:
                gang, milli = record.gang, gpu_milli(record.promise.pods)
                pledge = _Pledge(gang.priority, milli, -gang.submitted, turn, record)
                self.by_queue.setdefault(gang.queue, []).append(pledge)
        for pledges in self.by_queue.values():
            pledges.sort(key=_priority)


class _Pledge(NamedTuple):
    """A promised place: what it goes by, and whose it is."""

    priority: int
    milli: int
    youth: int
    turn: int
    record: GangRecord


def _priority(pledge: _Pledge) -> int:
    return pledge.priority


def as_promised(record: GangRecord, cause: CauseKind) -> VictimUnit:
    """The place that a gang was promised, as a victim."""
    assert record.promise
    return VictimUnit(record, record.promise.pods, False, 0, cause)


def as_if_there(held: Reservation) -> VictimUnit:
    """A gang with a reservation, as a victim where it will be."""
    return VictimUnit(held.record, held.placement.pods, True, 0, CauseKind.RECLAIMED)


def blockers(state: Store, record: GangRecord) -> tuple[str, ...]:
    """Gangs whose pods still have to leave the nodes that a gang was promised."""
    if record.promise is None:
        return ()
    nodes = dict.fromkeys(pod.node for pod in record.promise.pods)
    found = dict.fromkeys(gang for node in nodes for gang in state.holdings.leaving.get(node, ()))
    return tuple(found)


def _shapes(record: GangRecord) -> dict[str, Shape]:
    return {
        each.name: shape for each, shape in zip(record.gang.pod_sets, record.shapes, strict=True)
    }
