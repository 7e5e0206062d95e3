"""The two sides of a preemption: where their queues part, what one holds that the other needs."""

from collections.abc import Iterable
from typing import NamedTuple

from ganglion.engine.gangs.preemption_cost import gpu_milli
from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.store.store import Store
from ganglion.model.placement import PodPlacement
from ganglion.model.queue import Victims
from ganglion.model.workload import SPARE, Gang


class QueueBranch(NamedTuple):
    """Where the paths of asker and victim part, seen from the top; empty = one queue."""

    mine: str
    theirs: str


class VictimView(NamedTuple):
    """What pods of a gang are for an asker.

    Attributes:
        flavors: those that they lie in and the asker may use.
        kinds: resources that the asker wants and they free.
        milli: thousandths of GPUs that they free.
    """

    flavors: tuple[str, ...]
    kinds: tuple[str, ...]
    milli: int


def branch_of(state: Store, asker: str, victim: str) -> QueueBranch:
    """Where the paths of two queues part."""
    path = state.queues.shares.path
    paths = zip(path(asker)[::-1], path(victim)[::-1], strict=False)
    parted = (QueueBranch(mine, theirs) for mine, theirs in paths if mine != theirs)
    return next(parted, QueueBranch("", ""))


def view_of(
    state: Store,
    record: GangRecord,
    pods: tuple[PodPlacement, ...],
    flavors: Iterable[str],
    kinds: Iterable[str],
) -> VictimView:
    """What pods of a gang are for an asker.

    Args:
        state: the fleet.
        record: the gang.
        pods: its pods that would leave.
        flavors: those that the asker may use.
        kinds: resources that it asks for.
    """
    tree, milli = state.fleet.tree, gpu_milli(pods)
    found = {tree.flavors[tree.index[pod.node]] for pod in pods}
    return VictimView(
        tuple([flavor for flavor in flavors if flavor in found]),
        tuple([kind for kind in kinds if _frees(record, milli, kind)]),
        milli,
    )


def highest(asker: Gang, rule: Victims) -> int:
    """The highest priority of a victim under a rule."""
    if rule is Victims.ANY:
        return 1 << 30
    if rule is Victims.NEVER:
        return SPARE
    return asker.priority - (rule is Victims.LOWER)


def outranks(asker: Gang, victim: GangRecord, rule: Victims) -> bool:
    """Whether a rule lets a gang take from another."""
    theirs = victim.gang
    if theirs.spare:
        return not asker.spare
    if rule is Victims.ANY:
        return True
    if rule is Victims.NEVER or asker.priority < theirs.priority:
        return False
    newer = rule is Victims.LOWER_OR_NEWER and theirs.submitted > asker.submitted
    return asker.priority > theirs.priority or newer


def _frees(record: GangRecord, milli: int, kind: str) -> bool:
    if kind == "gpu_milli":
        return milli > 0
    return any(getattr(each.request, kind) for each in record.gang.pod_sets)
