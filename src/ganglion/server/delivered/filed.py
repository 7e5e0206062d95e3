"""A gang of a cluster that has ended, as a workload of the history."""

from typing import Any

import msgspec

from ganglion.api import reasons, workloads
from ganglion.ledger.records import Ended, Filed, Submitted
from ganglion.lifecycle.clusters import DeliveredGang, place_of, workload_of
from ganglion.lifecycle.status import State, ended_as
from ganglion.metering.clusters import metered_name
from ganglion.model.events import Outcome
from ganglion.model.plan import Phase
from ganglion.model.resources import WHOLE, GpuRequest
from ganglion.model.workload import Workload

MOST_NAME = 190
"""Longest name of a workload; the id adds its number."""


def filed(cluster: str, ended: DeliveredGang, number: int) -> tuple[Submitted, Ended]:
    """What the history gets of a gang.

    Args:
        cluster: that it was in.
        ended: the gang.
        number: of the workload in the fleet of the server.
    """
    gang = ended.gang
    namespace, _, own = gang.name.rpartition("/")
    name = own[:MOST_NAME]
    workload = workload_of(gang, name, place_of(cluster, gang.queue), gang.user)
    document = {
        "cluster": cluster,
        "namespace": namespace,
        "name": own,
        "owner": ended.owner,
        "image": ended.image,
        "images": [str(each) for each in ended.images],
        "gang": gang.id,
    }
    key = f"{name}-{number}"
    state = ended_as(ended.outcome or Outcome.FAILED)
    detail = _detail(key, workload, ended, state, document)
    return (
        Submitted(key, number, gang.submitted, msgspec.json.encode(document), workload),
        Ended(key, ended.ended, state, msgspec.json.encode(detail)),
    )


def metered_as(row: Filed) -> str:
    """Id under which usage has a workload that has ended."""
    document = msgspec.json.decode(row.document, type=_Origin)
    return metered_name(document.cluster, document.gang) if document.cluster else row.id


def is_delivered(row: Filed) -> bool:
    """Whether a workload that has ended ran in a cluster."""
    return metered_as(row) != row.id


class _Origin(msgspec.Struct):
    cluster: str = ""
    gang: str = ""


def _detail(
    key: str, workload: Workload, ended: DeliveredGang, state: State, document: dict[str, Any]
) -> workloads.WorkloadDetail:
    gang = ended.gang
    pods = sum(each.count for each in gang.pod_sets)
    asked = sum(each.count * _milli(each.request.gpu) for each in gang.pod_sets)
    return workloads.WorkloadDetail(
        id=key,
        name=workload.name,
        kind=workload.kind,
        queue=workload.queue,
        user=workload.user,
        priority=workload.priority,
        state=state,
        message=ended.message,
        gpus=asked / WHOLE,
        pods=pods,
        succeeded=int(state is State.SUCCEEDED),
        failed=int(state not in (State.SUCCEEDED, State.CANCELLED)),
        cancelled=int(state is State.CANCELLED),
        submitted=gang.submitted,
        started=ended.began or None,
        ended=ended.ended,
        exit_code=ended.exit_code,
        preemptions=ended.preemptions,
        lost_gpu_ms=ended.lost_gpu_ms,
        gangs=(_gang(key, ended),),
        document=document,
        image=ended.image,
        time_limit_ms=gang.time_limit_ms,
        spent=workloads.Spent(
            wait_ms=max(ended.ended - gang.submitted - ended.run_ms, 0),
            run_ms=ended.run_ms,
            gpu_ms=ended.gpu_ms,
            attempts=ended.attempts,
            waited=_totals(ended),
        ),
    )


def _totals(ended: DeliveredGang) -> dict[str, int]:
    found = dict[str, int]()
    for each in ended.wait.over:
        found[each.kind] = found.get(each.kind, 0) + each.total_ms
    return found


def _milli(gpu: GpuRequest) -> int:
    return gpu.count * gpu.milli


def _gang(key: str, ended: DeliveredGang) -> workloads.GangView:
    return workloads.GangView(
        id=f"{key}/0",
        index=0,
        phase=Phase.ENDED,
        attempt=ended.attempts,
        ranks=sum(each.count for each in ended.gang.pod_sets),
        placement=_placement(ended),
        outcome=ended.outcome,
        exit_code=ended.exit_code,
        message=ended.message,
        restarts=ended.restarts,
        preemptions=ended.preemptions,
        lost_gpu_ms=ended.lost_gpu_ms,
        submitted=ended.gang.submitted,
        placed=ended.placed or None,
        started=ended.began or None,
        ended=ended.ended,
        waited=tuple(reasons.WaitedFor(*msgspec.structs.astuple(each)) for each in ended.wait.over),
    )


def _placement(ended: DeliveredGang) -> reasons.Placement | None:
    place = ended.placement
    if place is None:
        return None
    pods = tuple(reasons.PodPlacement(**msgspec.structs.asdict(pod)) for pod in place.pods)
    return reasons.Placement(pods=pods, level=place.level, domain=place.domain)
