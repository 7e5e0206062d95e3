"""Queues that lend to each other, on one node with room for everything."""

from msgspec.structs import replace

from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.kueue.classic_preemption import Asker
from ganglion.engine.kueue.minimal_victims import victims_for
from ganglion.engine.queues.cohort import Borrowing, Cells
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.model import events as ev
from ganglion.model.placement import Placement, PodPlacement
from ganglion.model.policy import Entitlement, Future, Order, Placing, Policy
from ganglion.model.queue import Preemption, Queue, Victims
from ganglion.model.resources import WHOLE, Amount
from tests.engine.build import gang, node, state_of

CLASSIC = Policy(
    order=Order.FIFO,
    heads_only=True,
    entitlement=Entitlement.QUOTA,
    placement=Placing.TIGHT,
    future=Future(reservations=0),
)
FAIR = replace(CLASSIC, entitlement=Entitlement.DOMINANT)
FREELY = Preemption(Victims.LOWER, Victims.ANY)
NOBODY = Preemption(Victims.NEVER, Victims.NEVER)
CELL = ("H100", "gpu_milli")


def queue(
    name: str,
    gpus: int = 0,
    parent: str = "all",
    preemption: Preemption = FREELY,
    weight: int = 1,
    strict: bool = False,
) -> Queue:
    quota = {"H100": Amount(gpus * WHOLE)}
    return Queue(
        name, parent, quota, over_quota_weight=weight, preemption=preemption, strict=strict
    )


def lenders(*queues: Queue, policy: Policy = CLASSIC, gpus: int = 32) -> ClusterState:
    total = sum(each.quota["H100"].gpu_milli or 0 for each in queues if each.parent == "all")
    root = Queue("all", quota={"H100": Amount(total)})
    return state_of(node("n", gpus), queues=(root, *queues), policy=policy)


def runs(
    state: ClusterState, name: str, queue: str, gpus: int = 1, priority: int = 5, at: int = 1
) -> GangRecord:
    """A gang that runs since then."""
    state.apply(ev.GangSubmitted(at, gang(name, 1, gpus, queue, priority=priority, submitted=at)))
    record = state.gangs.record(f"{name}/0")
    free = [i for i, left in enumerate(_free(state)) if left == WHOLE][:gpus]
    placement = Placement((PodPlacement("main", 0, "n", tuple(free), WHOLE),))
    state.apply(ev.GangPlaced(at, record.gang.id, 1, placement))
    return record


def waits(
    state: ClusterState, name: str, queue: str, gpus: int = 1, priority: int = 5, at: int = 2
) -> GangRecord:
    """A gang that waits since then."""
    state.apply(ev.GangSubmitted(at, gang(name, 1, gpus, queue, priority=priority, submitted=at)))
    return state.gangs.record(f"{name}/0")


def victims(state: ClusterState, record: GangRecord) -> dict[str, str]:
    """Whom a waiting gang would have stopped, and why."""
    gpus = record.gang.pod_sets[0].request.gpu.count
    wants: Cells = {CELL: gpus * WHOLE}
    asker = Asker(record, wants, frozenset((CELL,)), 100)
    found = victims_for(state, Borrowing(state.queues.shares), asker, None)
    return {each.gang.workload: str(cause) for each, cause in found}


def _free(state: ClusterState) -> tuple[int, ...]:
    return state.fleet.table.known[state.fleet.tree.conditions[0]].gpu
