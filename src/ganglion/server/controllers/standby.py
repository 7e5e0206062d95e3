"""The local host of replicas that stand by: observes them, and carries out what is decided."""

from msgspec.structs import replace

from ganglion.engine.upkeep.scale_down import to_wake
from ganglion.lifecycle.services import Part, Replica
from ganglion.lifecycle.standby import ObservedStandby, Sleeper, StandbyDecision, decide
from ganglion.model.causes import Cause, CauseKind
from ganglion.model.events import GangSubmitted, GangUpdated
from ganglion.model.plan import Phase
from ganglion.server.commands import live
from ganglion.server.commands.scale import next_replica, replicas_of
from ganglion.server.controllers.alarms import settle
from ganglion.server.state.registry import LiveWorkload
from ganglion.server.state.transaction import Transaction


def stand_by(draft: Transaction, entry: LiveWorkload) -> None:
    """Have as many replicas sleep on lent places as the service asks for."""
    scaling = None if entry.workload.held else entry.workload.scaling
    decision = decide(_observed(draft, replicas_of(draft, entry.id)), scaling, draft.now)
    _carry_out(draft, entry, decision)
    settle(draft, entry.id, decision.alarms, "recall.")


def _observed(draft: Transaction, replicas: list[Replica]) -> ObservedStandby:
    asleep = [each.gang for each in replicas if each.part is Part.STANDBY]
    if not asleep:
        return ObservedStandby(replicas, {})
    records, kept = draft.state.gangs.records, draft.state.timeline.kept
    sleepers = {
        each: Sleeper(gang.recall_ms, kept.get(each) is not None, gang.submitted)
        for each in asleep
        for gang in (records[each].gang,)
    }
    ready = [each for each in asleep if sleepers[each].placed]
    stuck = {
        each.gang: records[each.gang].gang.submitted
        for each in replicas
        if ready and each.part is Part.ACTIVE and _finds_no_place(draft, each.gang)
    }
    best = to_wake(draft.state, ready, len(stuck)) if stuck else []
    return ObservedStandby(replicas, sleepers, stuck, best)


def _finds_no_place(draft: Transaction, gang: str) -> bool:
    """Whether a replica waits for nothing but capacity, as far as was found out."""
    record = draft.state.gangs.records[gang]
    if record.phase is not Phase.PENDING or record.reason:
        return False
    reason = draft.state.gangs.reason(gang)
    return reason is not None and not reason.never


def _carry_out(draft: Transaction, entry: LiveWorkload, decision: StandbyDecision) -> None:
    for swap in decision.swaps:
        taken = Cause(CauseKind.PART_TAKEN, gang=swap.fresh)
        draft.apply(GangUpdated(draft.now, swap.stuck, recall_ms=swap.notice_ms, cause=taken))
        woken = Cause(CauseKind.WOKEN, gang=swap.stuck)
        draft.apply(GangUpdated(draft.now, swap.fresh, held=False, recall_ms=0, cause=woken))
    for gang in decision.renotice:
        draft.apply(GangUpdated(draft.now, gang, recall_ms=decision.notice_ms))
    for _ in range(decision.submit):
        asleep = replace(next_replica(draft, entry), recall_ms=decision.notice_ms)
        draft.apply(GangSubmitted(draft.now, asleep, entry.workload.run.recorded_image))
    for gang in decision.end:
        fewer = Cause(CauseKind.RELEASED, because=Cause(CauseKind.FEWER_STAND_BY))
        live.withdraw(draft, draft.state.gangs.records[gang], fewer)
