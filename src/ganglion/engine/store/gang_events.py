"""The life of a gang, event by event. Each says whether it changed anything."""

from typing import Any

from msgspec.structs import replace

from ganglion.engine.gangs.preemption_cost import attained
from ganglion.engine.gangs.record import HOLDING, SETTLED, WAITING, GangRecord
from ganglion.engine.store.queue_rules import protected_ms, reshape, shapes_for
from ganglion.engine.store.store import Store
from ganglion.model import events as ev
from ganglion.model.causes import MOVES, cancels
from ganglion.model.errors import Conflict, NotFound
from ganglion.model.plan import Phase
from ganglion.model.workload import PodSet

CHANGEABLE = (
    "priority",
    "queue",
    "time_limit_ms",
    "expected_ms",
    "deadline_ms",
    "held",
    "floor",
    "recall_ms",
)
"""Properties of a gang that may change until it ends."""


def submitted(state: Store, event: ev.GangSubmitted) -> bool:
    """A gang entered its queue."""
    record = entered(state, event)
    if record is None:
        return False
    state.gangs.wait(record)
    return True


def entered(state: Store, event: ev.GangSubmitted) -> GangRecord | None:
    """The record of a gang that entered its queue and does not wait yet; None = it was known."""
    gang = event.gang
    if gang.id in state.gangs.records:
        if state.gangs.records[gang.id].gang == gang:
            return None
        raise Conflict(f"there already is a gang {gang.id}")
    _check_leaf(state, gang.queue)
    record = GangRecord(gang, shapes_for(state, gang), None, waits_since=gang.submitted)
    state.gangs.enter(record)
    return record


def updated(state: Store, event: ev.GangUpdated) -> bool:
    """Properties of a gang changed."""
    record = state.gangs.record(event.gang)
    if record.phase is Phase.ENDED:
        return False
    changes = {
        name: value
        for name in CHANGEABLE
        if (value := getattr(event, name)) is not None and value != getattr(record.gang, name)
    }
    if event.counts:
        changes |= _resized_sets(record, event.counts)
    if not changes:
        return False
    if "queue" in changes:
        _check_leaf(state, changes["queue"])
        if record.phase not in WAITING:
            raise Conflict(f"gang {event.gang} is {record.phase} and cannot change its queue")
    if "pod_sets" in changes and record.phase in SETTLED:
        state.holdings.oversized[event.gang] = None
    if record.phase is Phase.RESERVED:
        state.holdings.redeem(record)
        record.phase = Phase.PENDING
    if changes.get("recall_ms"):
        state.holdings.redeem(record)
    if changes.get("recall_ms") == 0:
        state.gangs.asleep.pop(event.gang, None)
    state.gangs.lanes.discard(event.gang)
    before = record.gang.priority
    state.gangs.sharers.change(record, replace(record.gang, **changes))
    step = (event.at, before, record.gang.priority)
    record.raised += (step,) if event.escalated else ()
    record.fault = ""
    if "held" in changes:
        record.held_for = event.cause if event.held else None
    state.progress.changed("floor" in changes)
    if record.phase in SETTLED:
        state.holdings.measure(record)
        state.holdings.costs.count(record)
    if record.phase is Phase.PENDING:
        reshape(state, record)
    return True


def _resized_sets(record: GangRecord, counts: dict[str, int]) -> dict[str, Any]:
    """Pod sets with other numbers of pods; what runs may stay as it is or grow."""
    gang = record.gang
    for name in counts:
        if name not in (each.name for each in gang.pod_sets):
            raise NotFound(f"gang {gang.id} has no pod set {name}")
    sets = tuple(_resized(gang.id, each, counts.get(each.name)) for each in gang.pod_sets)
    return {"pod_sets": sets} if sets != gang.pod_sets else {}


def _resized(gang: str, each: PodSet, count: int | None) -> PodSet:
    if count is None or count == each.count:
        return each
    size = each.slices[0].size if each.slices else 1
    if count < 1 or count % size:
        raise Conflict(
            f"pod set {each.name} of gang {gang} cannot have {count} pods",
            f"give a multiple of {size}" if size > 1 else "give at least 1",
        )
    return replace(each, count=count, min_count=min(each.least, count))


def placed(state: Store, event: ev.GangPlaced) -> bool:
    """A gang takes its resources."""
    record = state.gangs.record(event.gang)
    if event.attempt <= record.attempt or record.phase not in WAITING:
        return False
    state.holdings.redeem(record)
    state.holdings.hold(record, event.placement)
    state.gangs.leave_lane(record)
    record.phase, record.attempt, record.placed_at = Phase.STARTING, event.attempt, event.at
    record.started, record.committed_at, record.reason, record.cause = 0, 0, None, None
    record.resized_at = 0
    state.holdings.costs.count(record)
    state.gangs.gates.started(record.gang)
    state.progress.changed(bool(record.gang.floor))
    state.progress.turn += 1
    state.gangs.watcher.stands(record, event.at)
    return True


def started(state: Store, event: ev.GangStarted) -> bool:
    """All pods of an attempt run."""
    record = state.gangs.record(event.gang)
    if event.attempt != record.attempt or record.phase is not Phase.STARTING:
        return False
    record.phase, record.started = Phase.RUNNING, event.at
    state.holdings.costs.count(record)
    state.gangs.floors.runs(record)
    state.progress.changed(
        bool(record.gang.floor)
    )  # its siblings may be stopped for others from now on
    protected = protected_ms(state, record.gang)
    if protected:
        state.gangs.alarm(event.at + protected, event.gang)
    return True


def stopping(state: Store, event: ev.GangStopping) -> bool:
    """A gang was asked to stop."""
    record = state.gangs.record(event.gang)
    if event.attempt != record.attempt or record.phase not in HOLDING:
        return False
    # A cancel overrides whatever else a gang is being stopped for, and nothing overrides it.
    if record.phase is Phase.STOPPING and not (cancels(event.cause) and not cancels(record.cause)):
        return False
    if record.phase in SETTLED:
        record.attained = attained(record, event.at)
        state.holdings.step_off(record)
        record.stopping_at = event.at
        record.moved_at = event.at if event.cause.kind in MOVES else record.moved_at
    if cancels(event.cause):
        state.holdings.redeem(record)
    record.phase, record.cause = Phase.STOPPING, event.cause
    return True


def reserved(state: Store, event: ev.GangReserved) -> bool:
    """A gang got a promise, or lost it."""
    record = state.gangs.record(event.gang)
    if record.phase not in (*WAITING, Phase.STOPPING) or event.placement == record.promise:
        return False
    state.holdings.redeem(record)
    if event.placement:
        state.holdings.pledge(record, event.placement)
    if record.phase in WAITING:
        _stand(state, record)
    return True


def resized(state: Store, event: ev.GangResized) -> bool:
    """An elastic gang grew or shrank."""
    record = state.gangs.record(event.gang)
    if event.attempt != record.attempt or record.phase not in SETTLED:
        return False
    if event.placement == record.placement:
        return False
    before = record.placement
    state.holdings.resize(record, event.placement)
    grew = before is not None and set(before.pods) < set(event.placement.pods)
    if grew and record.gang.in_place:
        return True
    record.resized_at = event.at
    state.gangs.alarm(event.at + state.config.policy.evict.restart_ms, event.gang)
    return True


def pods_left(state: Store, event: ev.PodsLeft) -> bool:
    """The pods that a resized gang dropped are gone."""
    record = state.gangs.record(event.gang)
    if event.attempt != record.attempt or record.phase not in SETTLED or not record.leaving:
        return False
    state.holdings.gone(record)
    state.progress.changed()
    return True


def set_apart(state: Store, event: ev.GangSetApart) -> bool:
    """The engine failed over a gang, which is left out of decisions from now on."""
    record = state.gangs.record(event.gang)
    fault = f"{event.stage}: {event.error}"
    if record.phase is Phase.ENDED or record.fault == fault:
        return False
    record.fault = fault
    state.holdings.redeem(record)
    if record.phase in WAITING:
        _stand(state, record)
    return True


def committed(state: Store, event: ev.CheckpointCommitted) -> bool:
    """A gang saved its work."""
    record = state.gangs.record(event.gang)
    if event.attempt != record.attempt or event.at <= record.committed_at:
        return False
    record.committed_at = event.at
    return True


def broken(state: Store, record: GangRecord) -> None:
    """A promise cannot be kept, as its place is gone: the gang waits again."""
    state.holdings.redeem(record)
    if record.phase in WAITING:
        _stand(state, record)


def _stand(state: Store, record: GangRecord) -> None:
    """A waiting gang waits in its lane, or for its promise."""
    if record.promise:
        state.gangs.leave_lane(record)
        record.phase, record.reason = Phase.RESERVED, None
        state.holdings.awaited()
        state.gangs.watcher.stands(record, state.progress.clock)
    else:
        record.phase = Phase.PENDING
        reshape(state, record)


def ended(state: Store, event: ev.GangEnded) -> bool:
    """An attempt is over."""
    record = state.gangs.record(event.gang)
    if record.phase is Phase.ENDED or event.attempt != record.attempt:
        return False
    if record.phase in HOLDING:
        record.attained = attained(record, event.at)
        state.holdings.release(record)
    elif event.outcome not in (ev.Outcome.CANCELLED, ev.Outcome.STOPPED_EARLY):
        # Only a user who gives a gang up ends one that waits: anything else is old news of its
        # last attempt.
        return False
    record.exit_code, record.message = event.exit_code, event.message
    record.failures += event.outcome is ev.Outcome.FAILED
    record.preempted += event.outcome is ev.Outcome.PREEMPTED
    record.stopping_at, record.fault = 0, ""
    if event.requeue:
        record.phase, record.not_before = Phase.PENDING, event.not_before
        record.waits_since = event.at
        _stand(state, record)
    else:
        _end(state, record, event)
    return True


def _end(state: Store, record: GangRecord, event: ev.GangEnded) -> None:
    state.gangs.leave_lane(record)
    state.gangs.asleep.pop(record.gang.id, None)
    state.holdings.redeem(record)
    record.phase, record.outcome, record.ended_at = Phase.ENDED, event.outcome, event.at
    record.reason = None
    state.gangs.watcher.stands(record, event.at)
    for workload in state.gangs.gates.ended(record.gang, event.outcome):
        for waiting in state.gangs.gates.dependents(workload):
            if state.gangs.records[waiting].phase is Phase.PENDING:
                state.gangs.wait(state.gangs.records[waiting])


def _check_leaf(state: Store, queue: str) -> None:
    state.queues.shares.path(queue)
    if not state.queues.shares.is_leaf(queue):
        raise Conflict(
            f"queue {queue} has queues under it and takes no gangs itself",
            "use one of the queues under it",
        )
