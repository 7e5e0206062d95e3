"""A gang of a cluster as a workload: of the history, once it has ended."""

from collections.abc import Iterable
from typing import Any

import msgspec

from ganglion.api import reasons, workloads
from ganglion.ledger.history import MOST_NAME
from ganglion.ledger.records import Ended, Filed, Submitted
from ganglion.lifecycle.cluster_gangs import DeliveredGang, asked_milli
from ganglion.lifecycle.clusters import place_of, workload_of
from ganglion.lifecycle.past.life import GangLife
from ganglion.lifecycle.status import State, ended_as
from ganglion.lifecycle.waiting.sums import WaitSum
from ganglion.metering.clusters import metered_name
from ganglion.model.causes import sentence
from ganglion.model.events import Outcome
from ganglion.model.plan import Phase
from ganglion.model.resources import WHOLE
from ganglion.model.workload import Workload

ESCALATED = "waiting raised it"


def filed(cluster: str, ended: DeliveredGang, number: int) -> tuple[Submitted, Ended]:
    """What the history gets of a gang.

    Args:
        cluster: that it was in.
        ended: the gang.
        number: of the workload in the fleet of the server.
    """
    gang = ended.gang
    name = ended.own_name[:MOST_NAME]
    workload = workload_of(gang, name, place_of(cluster, gang.queue), gang.user)
    document = document_of(cluster, ended)
    key = f"{name}-{number}"
    state = ended_as(ended.outcome or Outcome.FAILED)
    detail = _detail(key, workload, ended, state, document)
    return (
        Submitted(
            *(key, number, gang.submitted, msgspec.json.encode(document), workload),
            metered=metered_name(cluster, gang.id),
            first_at=ended.first or None,
            first_milli=ended.first_milli if ended.first else None,
        ),
        Ended(key, ended.ended, state, msgspec.json.encode(detail)),
    )


def document_of(cluster: str, found: DeliveredGang) -> dict[str, Any]:
    """Where a gang comes from, and what it runs."""
    return {
        "cluster": cluster,
        "namespace": found.namespace,
        "name": found.own_name,
        "owner": found.owner,
        "image": found.image,
        "images": [str(each) for each in found.images],
        "gang": found.gang.id,
    }


def metered_as(row: Filed) -> str:
    """Id under which usage has a workload that has ended."""
    if row.metered:
        return row.metered
    document = msgspec.json.decode(row.document, type=_Origin)  # early versions say it there
    return metered_name(document.cluster, document.gang) if document.cluster else row.id


class _Origin(msgspec.Struct):
    cluster: str = ""
    gang: str = ""


def _detail(
    key: str, workload: Workload, ended: DeliveredGang, state: State, document: dict[str, Any]
) -> workloads.WorkloadDetail:
    gang = ended.gang
    pods = sum(each.count for each in gang.pod_sets)
    return workloads.WorkloadDetail(
        id=key,
        name=workload.name,
        kind=workload.kind,
        queue=workload.queue,
        user=workload.user,
        priority=workload.priority,
        state=state,
        message=ended.message,
        gpus=asked_milli(gang) / WHOLE,
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
        gangs=(gang_view(key, ended, Phase.ENDED, ended.wait.over),),
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


def gang_view(
    key: str, ended: DeliveredGang, phase: Phase, waits: Iterable[WaitSum]
) -> workloads.GangView:
    """The one gang of a workload of a cluster, and for what it has waited."""
    place = ended.placement
    return workloads.GangView(
        id=f"{key}/0",
        index=0,
        phase=phase,
        attempt=ended.attempts,
        ranks=sum(each.count for each in ended.gang.pod_sets),
        placement=None
        if place is None
        else msgspec.convert(place, reasons.Placement, from_attributes=True),
        outcome=ended.outcome,
        exit_code=ended.exit_code,
        message=ended.message,
        restarts=ended.restarts,
        preemptions=ended.preemptions,
        lost_gpu_ms=ended.lost_gpu_ms,
        submitted=ended.gang.submitted,
        placed=ended.placed or None,
        started=ended.began or None,
        ended=ended.ended or None,
        waited=waited_view(waits),
        life=life_view(ended.life),
        life_left_out=ended.life.left_out,
    )


def life_view(life: GangLife) -> tuple[workloads.LifeEvent, ...]:
    """What happened to a gang, as it is shown."""
    return tuple(
        workloads.LifeEvent(
            *(each.at, str(each.kind), each.attempt, each.step, each.path, each.saved_by),
            tuple(workloads.LifeChange(*msgspec.structs.astuple(one)) for one in each.changes),
            each.missing or (ESCALATED if each.escalated else sentence(each.cause)),
        )
        for each in life.marks
    )


def waited_view(waits: Iterable[WaitSum]) -> tuple[reasons.WaitedFor, ...]:
    """For what a gang has waited, as it is shown."""
    return tuple(reasons.WaitedFor(*msgspec.structs.astuple(each)) for each in waits)
