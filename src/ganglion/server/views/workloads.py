"""Workloads as the server shows them."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

import msgspec

from ganglion.api import reasons, workloads
from ganglion.api.use import ReportedMetric
from ganglion.engine.gangs.record import HOLDING, WAITING, GangRecord
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.ledger.history import UNLISTED
from ganglion.ledger.records import Filed
from ganglion.lifecycle.status import State, end_of, state_of
from ganglion.lifecycle.sweeps.trials import trial, trial_count
from ganglion.lifecycle.waiting.reserved import reason_of, waits_for
from ganglion.model.causes import sentence
from ganglion.model.credentials import redacted
from ganglion.model.errors import InputError
from ganglion.model.events import AlarmSet, Outcome
from ganglion.model.placement import Placement
from ganglion.model.plan import Phase
from ganglion.model.reasons import Reason
from ganglion.model.resources import WHOLE
from ganglion.model.workload import Gang, Kind, ResolvedModel
from ganglion.server.delivered.filed import life_view
from ganglion.server.state import visits
from ganglion.server.state.registry import LiveWorkload, Trail
from ganglion.server.state.replicas import Past
from ganglion.server.state.spending import Spent
from ganglion.server.state.transaction import Mind
from ganglion.specs.grammar.times.durations import parse_duration


def gpus_of(state: ClusterState, record: GangRecord) -> float:
    """GPUs that a gang asks for with all its pods.

    A share given as memory is the fraction of a GPU that it takes where it is placed, or would
    on the first kind of node that may take it.
    """
    milli = sum(
        pods.count * gpu.count * (_share(state, record, number) if gpu.share_mib else gpu.milli)
        for number, pods in enumerate(record.gang.pod_sets)
        for gpu in (pods.request.gpu,)
    )
    return milli / WHOLE


def _share(state: ClusterState, record: GangRecord, number: int) -> int:
    """Thousandths of a GPU that a pod of a set takes of each device; 0 = no node may take it."""
    name, place = record.gang.pod_sets[number].name, record.placement or record.promise
    for pod in place.pods if place else ():
        if pod.pod_set == name:
            return pod.milli
    sight = state.fleet.table.sight(record.shapes[number])
    views = (state.fleet.table.view(sight, each) for each in range(len(state.fleet.table.classes)))
    fits = (view.milli[view.devices[0]] for view in views if view.devices and not view.obstacle)
    return next(fits, 0)


def held_by(record: GangRecord) -> float:
    """GPUs that the pods of a gang hold."""
    place = record.placement if record.phase in HOLDING else None
    return place.gpu_milli / WHOLE if place else 0


def ranks_of(gang: Gang) -> int:
    """Processes of one attempt of a gang."""
    return sum(pods.count * pods.procs for pods in gang.pod_sets)


def reason_view(reason: Reason | None) -> reasons.Reason | None:
    """A reason as it is shown."""
    return None if reason is None else reasons.Reason(**msgspec.structs.asdict(reason))


def placement_view(placement: Placement | None) -> reasons.Placement | None:
    """A placement as it is shown."""
    if placement is None:
        return None
    return msgspec.convert(placement, reasons.Placement, from_attributes=True)


def view(mind: Mind, workload: str, positions: Mapping[str, int]) -> workloads.WorkloadView:
    """One line about a live workload.

    Args:
        mind: state and book.
        workload: its id.
        positions: gang id -> place in the order of all that waits.
    """
    base = _base(mind, mind.book.entries[workload])
    waiting = [positions[gang] for gang in mind.book.gangs[workload] if gang in positions]
    gangs = len(counted(mind, workload))
    return workloads.WorkloadView(**base, gangs=gangs, position=min(waiting, default=None))


def detail(
    mind: Mind,
    workload: str,
    positions: Mapping[str, int] | None = None,
    endpoints: Mapping[str, str] | None = None,
    url: str = "",
    now: int = 0,
) -> workloads.WorkloadDetail:
    """Everything about a live workload, or one that has just ended.

    Args:
        mind: state and book.
        workload: its id.
        positions: gang id -> place in the order of all that waits.
        endpoints: gang id -> where it listens.
        url: where all services are reached; empty = nowhere.
        now: until when waits are added up, in ms; 0 = the time of the state.
    """
    entry, gangs = mind.book.entries[workload], mind.book.gangs[workload]
    waiting = [positions[gang] for gang in gangs if gang in positions] if positions else []
    document = msgspec.json.decode(entry.document)
    limit, submitted = _limit(mind, workload), _submitted_limit(document)
    return workloads.WorkloadDetail(
        **_base(mind, entry),
        gangs=tuple(_gang(mind, gang, (endpoints or {}).get(gang, ""), now) for gang in gangs),
        document=redacted(document),
        time_limit_ms=limit,
        submitted_limit_ms=None if submitted == limit else submitted,
        position=min(waiting, default=None),
        url=f"{url}/{entry.workload.name}/" if url and entry.workload.run.port else "",
        scaling=_scaling(mind, entry),
        spent=_spent(mind, entry),
        sessions=visits.shown(mind.book.visits.get(workload, {})),
        model=model_view(entry.workload.model),
        image=entry.workload.run.recorded_image,
    )


def _limit(mind: Mind, workload: str) -> int:
    """Most that the gangs of a workload may run, in ms; 0 = no limit."""
    records = [mind.state.gangs.records[gang] for gang in counted(mind, workload)]
    live = (record for record in records if record.phase is not Phase.ENDED)
    return next(live, records[-1]).gang.time_limit_ms


def _submitted_limit(document: Mapping[str, object]) -> int | None:
    """The limit that a workload was submitted with, in ms; 0 = none, None = it cannot be read."""
    try:
        return parse_duration(document.get("time_limit", "0"))
    except InputError:
        return None


def model_view(model: ResolvedModel | None) -> reasons.ModelUse | None:
    """A model as clients see it."""
    if model is None:
        return None
    return reasons.ModelUse(model.reference, model.uri, model.version, model.digest)


def _spent(mind: Mind, entry: LiveWorkload) -> workloads.Spent | None:
    """What a workload used whose gangs have all ended; None while one lives."""
    ended = mind.book.ended_at(entry.id)
    if ended is None:
        return None
    spent, waited = mind.book.spending.of.get(entry.id, Spent()), dict[str, int]()
    for gang in mind.book.gangs[entry.id]:
        for each in mind.book.waits.parts(gang, ended):
            waited[each.kind] = waited.get(each.kind, 0) + each.total_ms
    return workloads.Spent(
        wait_ms=max(ended - entry.at - spent.run_ms, 0),
        run_ms=spent.run_ms,
        gpu_ms=spent.gpu_ms,
        attempts=spent.attempts,
        waited=waited,
    )


def _scaling(mind: Mind, entry: LiveWorkload) -> workloads.Scaling | None:
    """How a service scales, or was scaled by hand."""
    known, given = mind.book.replicas, entry.workload.scaling
    last = known.scaled.get(entry.id)
    if given is None and last is None:
        return None
    draining = (gang for gang in mind.book.gangs[entry.id] if gang in known.draining)
    return workloads.Scaling(
        floor=given.floor if given else None,
        ceiling=given.ceiling if given else None,
        wanted=entry.workload.replicas,
        draining=tuple(draining),
        at=last.at if last else None,
        cause=sentence(last.cause) if last else "",
    )


def counted(mind: Mind, workload: str) -> list[str]:
    """Gangs that a workload consists of: of a service that goes on, not the replicas that left."""
    gangs = mind.book.gangs[workload]
    if mind.book.entries[workload].workload.kind is not Kind.SERVICE:
        return gangs
    return [gang for gang in gangs if not mind.book.replicas.has_left(gang)] or gangs


def filed_detail(filed: Filed) -> workloads.WorkloadDetail:
    """Everything about a workload that has ended."""
    try:
        found = msgspec.json.decode(filed.detail, type=workloads.WorkloadDetail)
    except msgspec.MsgspecError:
        return workloads.WorkloadDetail(**_unreadable(filed), gangs=(), document={})
    # Those that were filed before values were hidden hold them.
    return msgspec.structs.replace(found, document=redacted(found.document))


def filed_view(filed: Filed) -> workloads.WorkloadView:
    """One line about a workload that has ended."""
    return _item(workloads.WorkloadView, filed)


def history_item(filed: Filed) -> workloads.HistoryItem:
    """One line about a workload that has ended, with what it used."""
    return _item(workloads.HistoryItem, filed)


V = TypeVar("V", bound=workloads.WorkloadView)


def _item(kind: type[V], filed: Filed) -> V:
    """A damaged row is shown as far as it can be read: it must not take others along."""
    try:
        told = _line(filed)
        if kind is workloads.WorkloadView:
            told.pop("spent", None)
        return msgspec.convert(told, kind)
    except (msgspec.MsgspecError, ValueError, KeyError):
        return kind(**_unreadable(filed), gangs=0)


def _unreadable(filed: Filed) -> dict[str, Any]:
    """What the other columns say of a workload whose detail cannot be read."""
    return {
        "id": filed.id,
        "name": filed.name,
        "kind": filed.workload.kind,
        "queue": filed.workload.queue,
        "user": filed.workload.user,
        "priority": filed.workload.priority,
        "state": filed.state,
        "message": "the row of this workload in the ledger is damaged",
        "submitted": filed.at,
        "ended": filed.ended,
    }


def _line(filed: Filed) -> dict[str, object]:
    shown = msgspec.json.decode(filed.detail, type=dict[str, msgspec.Raw])
    # Of thousands of trials only the number is wanted: none of them is read.
    gangs = len(msgspec.json.decode(shown.pop("gangs"), type=list[msgspec.Raw]))
    gangs = int(bytes(shown.pop("count", b""))) if "count" in shown else gangs  # of a trimmed one
    for key in ("document", *UNLISTED):
        shown.pop(key, None)
    return {**{key: msgspec.json.decode(value) for key, value in shown.items()}, "gangs": gangs}


def _base(mind: Mind, entry: LiveWorkload) -> dict[str, Any]:
    records = [mind.state.gangs.records[gang] for gang in counted(mind, entry.id)]
    past = mind.book.replicas.past.get(entry.id, Past())
    everything = [mind.book.trails[gang] for gang in mind.book.gangs[entry.id]]
    reasons = (reason_of(mind.state, record.gang.id) for record in records)
    trails = [mind.book.trails[record.gang.id] for record in records]
    promised = (record for record in records if record.promise)
    waited = (name for each in promised for name in waits_for(mind.state, each.gang.id))
    status = state_of(entry.workload.kind, records, reasons)
    ends = [end_of(record) for record in records if record.phase is Phase.ENDED]
    given_up = sum(record.outcome is Outcome.STOPPED_EARLY for record in records)
    first = records[0].gang
    live = [each for each in records if each.phase is not Phase.ENDED]
    awake = [each for each in live if not each.gang.recall_ms or each.phase is not Phase.PENDING]
    standby, wanted = len(live) - len(awake), awake or records
    return {
        "id": entry.id,
        "name": entry.workload.name,
        "kind": entry.workload.kind,
        "queue": first.queue,
        "user": entry.workload.user,
        "priority": first.priority,
        "state": status.state,
        "reason": status.reason,
        "message": status.message or _warning(trails),
        "gpus": len(wanted) * gpus_of(mind.state, wanted[0]),
        "gpus_held": sum(held_by(record) for record in live if record.placement),
        "pods": len(records) * sum(pods.count for pods in first.pod_sets),
        "running": sum(record.phase is Phase.RUNNING for record in records),
        "succeeded": ends.count(State.SUCCEEDED) - given_up,
        "failed": len(ends) - ends.count(State.SUCCEEDED) - ends.count(State.CANCELLED),
        "cancelled": ends.count(State.CANCELLED),
        "stopped_early": given_up,
        "waiting": sum(record.phase in WAITING for record in records) - standby,
        "standby": standby,
        "submitted": entry.at,
        "started": _began(mind, records),
        "ended": max(each.ended_at for each in records) if len(ends) == len(records) else None,
        "exit_code": status.exit_code,
        "waits_for": tuple(dict.fromkeys(waited)),
        "preemptions": past.preemptions + sum(trail.preemptions for trail in everything),
        "lost_gpu_ms": past.lost_gpu_ms + sum(trail.lost_gpu_ms for trail in everything),
        "alarms": {alarm: each.message for alarm, each in _alarms(mind, entry.id)},
    }


def _alarms(mind: Mind, workload: str) -> Iterator[tuple[str, AlarmSet]]:
    """What needs a person about a workload or one of its gangs."""
    for (subject, alarm), event in mind.book.alarms.items():
        if workload in (subject, subject.rpartition("/")[0]):
            yield alarm, event


def _warning(trails: Iterable[Trail]) -> str:
    """That a workspace is suspended soon."""
    return next((trail.warned.message for trail in trails if trail.warned), "")


def _began(mind: Mind, records: list[GangRecord]) -> int | None:
    times = (mind.book.trails[record.gang.id].started for record in records)
    return min((time for time in times if time), default=None)


def _saved(trail: Trail) -> workloads.Saved | None:
    """The newest checkpoint: what is known of it, or at least when it was."""
    newest = trail.saved[0] if trail.saved else None
    if newest and newest.at >= trail.span.committed:
        return workloads.Saved(**msgspec.structs.asdict(newest))
    return workloads.Saved(at=trail.span.committed) if trail.span.committed else None


def _params(mind: Mind, gang: Gang) -> dict[str, str]:
    if gang.kind is not Kind.SWEEP:
        return {}
    workload = mind.book.entries[gang.workload].workload
    return trial(workload, gang.index) if trial_count(workload) else {}


def waited_for(mind: Mind, gang: str, now: int = 0) -> tuple[reasons.WaitedFor, ...]:
    """For what a gang has waited until a time in ms; 0 = the time of the state."""
    found = mind.book.waits.parts(gang, max(now, mind.state.progress.clock))
    return tuple(reasons.WaitedFor(*msgspec.structs.astuple(each)) for each in found)


def _gang(mind: Mind, gang: str, endpoint: str, now: int) -> workloads.GangView:
    record, trail = mind.state.gangs.records[gang], mind.book.trails[gang]
    return workloads.GangView(
        id=gang,
        index=record.gang.index,
        params=_params(mind, record.gang),
        phase=record.phase,
        attempt=record.attempt,
        ranks=ranks_of(record.gang),
        placement=placement_view(record.placement or trail.placement),
        reason=reason_view(reason_of(mind.state, gang)),
        outcome=trail.outcome,
        exit_code=record.exit_code,
        message=record.message,
        restarts=trail.restarts,
        promise=placement_view(record.promise),
        waits_for=waits_for(mind.state, gang),
        preemptions=trail.preemptions,
        lost_gpu_ms=trail.lost_gpu_ms,
        saved=_saved(trail),
        submitted=record.gang.submitted,
        placed=record.placed_at or None,
        started=record.started or None,
        ended=record.ended_at or None,
        endpoint=endpoint,
        draining=gang in mind.book.replicas.draining,
        model=record.gang.model.uri if record.gang.model else "",
        metrics={
            name: ReportedMetric(each.at, each.step, each.value, each.attempt)
            for name, each in trail.metrics.items()
        },
        waited=waited_for(mind, gang, now),
        life=life_view(trail.life),
        life_left_out=trail.life.left_out,
    )
