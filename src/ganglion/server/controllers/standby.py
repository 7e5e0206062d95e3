"""Replicas of a service that sleep on lent capacity, beside those it has."""

from msgspec.structs import replace

from ganglion.engine.upkeep.scale_down import to_wake
from ganglion.lifecycle.services import Part, Replica
from ganglion.model.causes import Cause, CauseKind
from ganglion.model.events import GangSubmitted, GangUpdated
from ganglion.model.plan import Phase
from ganglion.server.commands import live
from ganglion.server.commands.scale import next_replica, replicas_of
from ganglion.server.controllers.alarms import settle
from ganglion.server.state.registry import LiveWorkload
from ganglion.server.state.transaction import Transaction

AT_RISK = "recall.at_risk"
"""Alarm: replicas that stand by have no place that could be called back."""

PATIENCE_MS = 10_000
"""A replica that stands by may be without a place for this time, in ms, before an alarm."""


def stand_by(draft: Transaction, entry: LiveWorkload) -> None:
    """Have as many replicas sleep as the service asks for, within its ceiling.

    A replica that is woken becomes one of those it has, and another takes its seat. A replica that
    finds no place, as after the loss of a node, changes its part with one that has one.
    """
    _relieve(draft, entry)
    replicas = replicas_of(draft, entry.id)
    asleep = [each for each in replicas if each.part is Part.STANDBY]
    wanted = _wanted(entry, replicas)
    if wanted or asleep:
        _fill(draft, entry, asleep, wanted)
        placeless = [each.gang for each in asleep[:wanted] if _lacks_place(draft, each.gang)]
        words = f"{len(placeless)} of {wanted} replicas that stand by have no place"
        settle(draft, entry.id, {AT_RISK: words} if placeless else {}, "recall.")


def _relieve(draft: Transaction, entry: LiveWorkload) -> None:
    replicas, state = replicas_of(draft, entry.id), draft.state
    asleep = [each.gang for each in replicas if each.part is Part.STANDBY]
    ready = [gang for gang in asleep if state.timeline.kept.get(gang)]
    if not ready:
        return
    stuck = [e.gang for e in replicas if e.part is Part.ACTIVE and _finds_no_place(draft, e.gang)]
    for tired, fresh in zip(stuck, to_wake(state, ready, len(stuck)), strict=False):
        notice = state.gangs.records[fresh].gang.recall_ms
        cause = Cause(CauseKind.PART_TAKEN, gang=fresh)
        draft.apply(GangUpdated(draft.now, tired, recall_ms=notice, cause=cause))
        woken = Cause(CauseKind.WOKEN, gang=tired)
        draft.apply(GangUpdated(draft.now, fresh, held=False, recall_ms=0, cause=woken))


def _finds_no_place(draft: Transaction, gang: str) -> bool:
    """Whether a replica waits for nothing but capacity, as far as was found out."""
    record = draft.state.gangs.records[gang]
    if record.phase is not Phase.PENDING or record.reason:
        return False
    reason = draft.state.gangs.reason(gang)
    return reason is not None and not reason.never


def _wanted(entry: LiveWorkload, replicas: list[Replica]) -> int:
    scaling = entry.workload.scaling
    lives = any(each.part not in (Part.LEAVING, Part.BROKEN) for each in replicas)
    if scaling is None or scaling.standby is None or entry.workload.held or not lives:
        return 0
    active = sum(each.part is Part.ACTIVE for each in replicas)
    return max(0, min(scaling.standby.replicas, scaling.ceiling - active))


def _fill(draft: Transaction, entry: LiveWorkload, asleep: list[Replica], wanted: int) -> None:
    scaling = entry.workload.scaling
    if scaling and scaling.standby:
        notice = scaling.standby.notice_ms
        for each in asleep[:wanted]:
            if draft.state.gangs.records[each.gang].gang.recall_ms != notice:
                draft.apply(GangUpdated(draft.now, each.gang, recall_ms=notice))
        for _ in range(wanted - len(asleep)):
            gang = replace(next_replica(draft, entry), recall_ms=notice)
            draft.apply(GangSubmitted(draft.now, gang, entry.workload.run.image))
    for each in asleep[wanted:]:
        fewer = Cause(CauseKind.RELEASED, because=Cause(CauseKind.FEWER_STAND_BY))
        live.withdraw(draft, draft.state.gangs.records[each.gang], fewer)


def _lacks_place(draft: Transaction, gang: str) -> bool:
    submitted = draft.state.gangs.records[gang].gang.submitted
    return draft.state.timeline.kept.get(gang) is None and draft.now >= submitted + PATIENCE_MS
