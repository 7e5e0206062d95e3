"""Promises: places that are a gang's own while others still leave them."""

from collections.abc import Iterable, Iterator

from ganglion.engine.condition import UNBOUNDED, Condition
from ganglion.engine.holdings import Holdings
from ganglion.engine.record import GangRecord
from ganglion.engine.reservation import Reservation
from ganglion.engine.shapes import SHARED, Shape
from ganglion.engine.victims import Cause, Rules, Unit
from ganglion.model.placement import Placement, PodPlacement
from ganglion.model.plan import Phase
from ganglion.model.resources import WHOLE


def is_clear(state: Holdings, record: GangRecord, placement: Placement, *, counted: bool) -> bool:
    """Whether a gang's pods could really start there now.

    The tree no longer counts pods that were told to stop; until they are gone, what it shows
    as free beside them may not be.

    Args:
        state: the fleet.
        record: the gang.
        placement: its place.
        counted: whether the tree counts the gang there already.
    """
    leaving = state.leaving
    if not leaving:
        return True
    shapes = _shapes(record)
    touched: dict[str, list[PodPlacement]] = {}
    for pod in placement.pods:
        if pod.node in leaving:
            touched.setdefault(pod.node, []).append(pod)
    return all(_holds(state, node, pods, shapes, counted) for node, pods in touched.items())


def _holds(
    state: Holdings,
    node: str,
    pods: list[PodPlacement],
    shapes: dict[str, Shape],
    counted: bool,
) -> bool:
    """Whether one node has room for the pods beside all that still leaves it."""
    condition = condition_of(state, node)
    cpu, memory, slots, gpu = condition.cpu, condition.memory, condition.slots, [*condition.gpu]
    spent = [] if counted else [(pod, shapes[pod.pod_set]) for pod in pods]
    for gang in state.leaving[node]:
        other = state.records[gang]
        beside = _shapes(other)
        gone = [(pod, beside[pod.pod_set]) for pod in other.leaving if pod.node == node]
        if not _tenants_agree((shape for _, shape in gone), pods, shapes):
            return False
        spent += gone
    for pod, shape in spent:
        cpu -= shape.request.cpu_milli
        memory -= shape.request.memory_mib
        slots -= slots != UNBOUNDED
        for device in pod.devices:
            if device < len(gpu):  # else the node came back without it
                gpu[device] -= pod.milli
    fits = all(device < len(gpu) and gpu[device] >= 0 for pod in pods for device in pod.devices)
    return fits and cpu >= 0 and memory >= 0 and slots >= 0


def _tenants_agree(
    leaving: Iterable[Shape], pods: list[PodPlacement], shapes: dict[str, Shape]
) -> bool:
    tenancies = {shape.tenancy for shape in leaving} | {shapes[pod.pod_set].tenancy for pod in pods}
    return tenancies == {SHARED} or len(tenancies) == 1


def overfull(state: Holdings, nodes: Iterable[str]) -> list[str]:
    """Nodes among these on which more is counted than they have."""
    found = []
    for node in dict.fromkeys(nodes):
        condition = condition_of(state, node)
        left = (condition.cpu, condition.memory, condition.slots, *condition.gpu)
        sick = any(condition.gpu[each] < WHOLE for each in condition.sick)
        if sick or min(left) < 0:
            found.append(node)
    return found


def condition_of(state: Holdings, node: str) -> Condition:
    """What is free on a node as the tree counts it. Raises NotFound."""
    return state.table.known[state.tree.conditions[state.tree.rank(node)]]


def pledged(state: Holdings, rules: Rules, asker: GangRecord, now: int) -> Iterator[Unit]:
    """Places that are only promised so far, to gangs that yield to the asker.

    They come as victims that lose no work: those of lower priority first, then smaller ones, then
    younger gangs. The rules are asked just before each one is taken.
    """
    queue = asker.gang.queue
    found = [
        Unit(
            record,
            record.promise.pods,
            False,
            0,
            Cause.PREEMPTED if record.gang.queue == queue else Cause.RECLAIMED,
        )
        for record in map(state.records.__getitem__, state.promised)
        if record.promise and record is not asker and record.phase is Phase.RESERVED
    ]
    return (unit for unit in sorted(found, key=_rank) if rules.allows(state, asker, unit, now))


def as_if_there(held: Reservation) -> Unit:
    """A gang with a reservation, as a victim where it will be."""
    return Unit(held.record, held.placement.pods, True, 0, Cause.RECLAIMED)


def _rank(unit: Unit) -> tuple[int, int, int]:
    gang = unit.record.gang
    return gang.priority, unit.gpu_milli, -gang.submitted


def blockers(state: Holdings, record: GangRecord) -> tuple[str, ...]:
    """Gangs whose pods still have to leave the nodes that a gang was promised."""
    if record.promise is None:
        return ()
    nodes = dict.fromkeys(pod.node for pod in record.promise.pods)
    found = dict.fromkeys(gang for node in nodes for gang in state.leaving.get(node, ()))
    return tuple(found)


def _shapes(record: GangRecord) -> dict[str, Shape]:
    return {
        each.name: shape for each, shape in zip(record.gang.pod_sets, record.shapes, strict=True)
    }
