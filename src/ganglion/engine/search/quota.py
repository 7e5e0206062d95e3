"""Which flavors a gang's queue may still use."""

from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.queues.limits import Passed
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.model.placement import Placement
from ganglion.model.queue import ANY_FLAVOR
from ganglion.model.reasons import Reason
from ganglion.model.resources import Usage


def asked(record: GangRecord) -> Usage:
    """The least a gang starts with; a share given in memory counts when it is placed."""
    total = Usage()
    for each in record.gang.pod_sets:
        request, pods = each.request, each.least
        gpu = 0 if request.gpu.share_mib else request.gpu.count * request.gpu.milli
        more = Usage(gpu * pods, request.cpu_milli * pods, request.memory_mib * pods)
        total = total.plus(more)
    return total


def spent(state: ClusterState, record: GangRecord) -> tuple[Reason | None, dict[str, Reason]]:
    """Check quota and limits at the queue and everything above it.

    Returns:
        (reason, {}) when no flavor is left that the gang could use, else (None, the flavors
        that it must keep off, each with the reason).
    """
    if not state.queues.shares.is_governed(record.gang.queue, record.gang.preemptible):
        return None, {}
    wanted = asked(record)
    whole = passed(state, record, ANY_FLAVOR, wanted)
    if whole:
        return whole.reason, {}
    refusals = {
        flavor: found.reason
        for flavor in state.fleet.totals.flavors()
        if (found := passed(state, record, flavor, wanted))
    }
    usable = state.fleet.totals.flavors_for(record.shapes) if refusals else ()
    if usable and all(flavor in refusals for flavor in usable):
        return refusals[usable[0]], {}
    return None, refusals


def passed(state: ClusterState, record: GangRecord, flavor: str, wanted: Usage) -> Passed | None:
    """The bound that a gang would pass with `wanted` of a flavor; None = it would pass none."""
    gang = record.gang
    return state.queues.shares.passed(
        gang.queue, flavor, wanted, gang.preemptible, state.fleet.totals.free_gpu, gang.user
    )


class Means:
    """Judges a placement by what it would really use.

    The check before the search knows the least a gang asks for; elastic pods and shares
    given in memory are known only once they have a place.

    Attributes:
        refusal: why the last placement was refused; None = none was.
    """

    def __init__(self, state: ClusterState, record: GangRecord) -> None:
        self._state, self._record = state, record
        self.refusal: Reason | None = None

    def allow(self, placement: Placement) -> bool:
        """Whether the queue and all above it may use that much."""
        state, record = self._state, self._record
        self.refusal, total = None, Usage()
        used = state.holdings.usage_of(record, placement)
        for usage in used.values():
            total = total.plus(usage)
        for flavor, usage in ((ANY_FLAVOR, total), *used.items()):
            found = passed(state, record, flavor, usage)
            if found:
                self.refusal = found.reason
                return False
        return True
