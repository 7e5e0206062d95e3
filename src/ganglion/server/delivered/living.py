"""A gang of a cluster that lives, as a workload: as its scheduler said last."""

from typing import Any

from ganglion.api import reasons, workloads
from ganglion.lifecycle.cluster_gangs import DeliveredGang, asked_milli
from ganglion.lifecycle.clusters import live_id, place_of
from ganglion.lifecycle.status import live_as
from ganglion.lifecycle.waiting.sums import UNKNOWN
from ganglion.model.plan import Phase
from ganglion.model.resources import WHOLE
from ganglion.server.delivered.filed import document_of, gang_view, waited_view


def living_view(cluster: str, found: DeliveredGang) -> workloads.WorkloadView:
    """One line about it."""
    return workloads.WorkloadView(**_base(cluster, found))


def living_detail(cluster: str, found: DeliveredGang, said: int) -> workloads.WorkloadDetail:
    """All that is known of it.

    Args:
        cluster: that it lives in.
        found: the gang.
        said: time of the last record about its cluster, in ms: what waits has waited until then.
    """
    base = _base(cluster, found)
    return workloads.WorkloadDetail(
        **base,
        gangs=(gang_view(base["id"], found, found.phase, found.wait.parts(said)),),
        document=document_of(cluster, found),
        image=found.image,
        time_limit_ms=found.gang.time_limit_ms,
    )


def living_why(cluster: str, found: DeliveredGang, said: int) -> reasons.Why:
    """For which reasons it waits and has waited; see `living_detail`. Its scheduler says more."""
    key, phase, name = live_id(cluster, found), found.phase, found.own_name
    text = f"{key} " + ("waits" if phase is Phase.PENDING else f"does not wait: it is {phase}")
    if phase is Phase.PENDING:
        ask = f"ganglion why {name} --context CONTEXT -N {found.namespace}"
        cause = f" ({waits_for(found)})" if waits_for(found) else ""
        text += f"{cause} in cluster {cluster}, whose scheduler says more: {ask}"
    waited = waited_view(found.wait.parts(said))
    told = reasons.Explained(
        gang=key, phase=phase, text=text, preemptions=found.preemptions, waited=waited
    )
    return reasons.Why(workload=key, gangs=1, explanations=(told,))


def waits_for(found: DeliveredGang) -> str:
    """Token of the reason that its scheduler said last; empty = unknown, or it does not wait."""
    clock = None if found.holds else found.wait.clock
    return clock.kind if clock and clock.kind != UNKNOWN else ""


def _base(cluster: str, found: DeliveredGang) -> dict[str, Any]:
    gang, phase = found.gang, found.phase
    return {
        "id": live_id(cluster, found),
        "name": found.own_name,
        "kind": gang.kind,
        "queue": place_of(cluster, gang.queue),
        "user": gang.user,
        "priority": gang.priority,
        "state": live_as(found.phase),
        "reason": waits_for(found),
        "gpus": asked_milli(gang) / WHOLE,
        "gpus_held": found.placement.gpu_milli / WHOLE if found.holds and found.placement else 0,
        "pods": sum(each.count for each in gang.pod_sets),
        "running": int(phase is Phase.RUNNING),
        "waiting": int(phase is Phase.PENDING),
        "submitted": gang.submitted,
        "started": found.began or None,
        "preemptions": found.preemptions,
        "lost_gpu_ms": found.lost_gpu_ms,
    }
