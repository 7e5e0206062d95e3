"""Running gangs whose users want fewer pods than they have."""

from collections.abc import Sequence

from ganglion.engine.decisions import decide
from ganglion.engine.gangs.record import SETTLED, GangRecord
from ganglion.engine.placement.pack import common
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.model.causes import Cause, CauseKind
from ganglion.model.events import GangResized
from ganglion.model.placement import Placement, PodPlacement
from ganglion.model.plan import Plan, Resize
from ganglion.model.workload import Gang

TRIMMED = Cause(CauseKind.FEWER_WANTED)


def trim(state: ClusterState, plan: Plan) -> None:
    """Have the last pods of such gangs stop."""
    for name in list(state.holdings.oversized):
        del state.holdings.oversized[name]
        record = state.gangs.records.get(name)
        if record and record.phase in SETTLED and record.placement and not record.fault:
            state.journal.attend(name)
            _trim(state, record, plan)


def _trim(state: ClusterState, record: GangRecord, plan: Plan) -> None:
    pods = wanted(record)
    assert record.placement
    if len(pods) == len(record.placement.pods):
        return
    level, domain = common(state.fleet.indexes, [state.fleet.tree.rank(pod.node) for pod in pods])
    place = Placement(pods, level, domain)
    event = GangResized(plan.at, record.gang.id, record.attempt, place, TRIMMED)
    decide(state, [event], plan)
    plan.resizes.append(Resize(record.gang, record.attempt, place, TRIMMED))


def wanted(record: GangRecord) -> tuple[PodPlacement, ...]:
    """The first pods of every set, as many as are wanted."""
    counts = {each.name: each.count for each in record.gang.pod_sets}
    kept = []
    for pod in record.placement.pods if record.placement else ():
        counts[pod.pod_set] -= 1
        if counts[pod.pod_set] >= 0:
            kept.append(pod)
    return tuple(kept)


def is_enough(gang: Gang, pods: Sequence[PodPlacement]) -> bool:
    """Whether an elastic gang can go on with these of its pods."""
    left = [sum(pod.pod_set == each.name for pod in pods) for each in gang.pod_sets]
    return all(
        count >= each.least and (not each.slices or count % each.slices[0].size == 0)
        for count, each in zip(left, gang.pod_sets, strict=True)
    )
