"""Replaces the replicas of a service that has another model than they have."""

from collections.abc import Collection

from ganglion.lifecycle.services import Part, RolloutStep, rolled
from ganglion.model.causes import Cause, CauseKind
from ganglion.model.events import GangSubmitted, GangUpdated, ServiceScaled
from ganglion.server.commands import live
from ganglion.server.commands.scale import is_rolling, next_replica, outdated_of, replicas_of
from ganglion.server.controllers.alarms import settle
from ganglion.server.state.registry import LiveWorkload
from ganglion.server.state.transaction import Transaction

STUCK = "model.stuck"
"""Alarm: a replica with the new model failed for good, so that no other is replaced."""


def roll(draft: Transaction, entry: LiveWorkload, ready: Collection[str]) -> None:
    """Take the next step of a rollout.

    Args:
        draft: the open turn.
        entry: the service.
        ready: its replicas that answer requests.
    """
    known = draft.book.replicas.updated.get(entry.id)
    outdated = outdated_of(draft, entry)
    replicas = replicas_of(draft, entry.id)
    broken = [e.gang for e in replicas if e.part is Part.BROKEN and e.gang not in outdated]
    rolling = is_rolling(replicas, outdated)
    words = {STUCK: _stuck(draft, entry, broken[-1])} if rolling and broken else {}
    settle(draft, entry.id, words, STUCK)
    if known is None or not rolling:
        return
    step = rolled(replicas, outdated, ready, entry.workload.replicas, known.surge)
    if step:
        _carry_out(draft, entry, step, known.cause)


def _stuck(draft: Transaction, entry: LiveWorkload, gang: str) -> str:
    record, model = draft.state.gangs.records[gang], entry.workload.model
    said = record.message or f"exit code {record.exit_code}"
    back = f"ganglion models update {entry.workload.name} --back"
    return f"{gang} with {model.uri if model else 'its model'} ended for good: {said}; {back}"


def _carry_out(draft: Transaction, entry: LiveWorkload, step: RolloutStep, cause: Cause) -> None:
    image = entry.workload.run.recorded_image
    for number in range(step.submit + step.nap):
        made = next_replica(draft, entry)
        draft.apply(GangSubmitted(draft.now, made, image))
        if number >= step.submit:
            asleep = Cause(CauseKind.ASLEEP)
            draft.apply(GangUpdated(draft.now, made.id, held=True, cause=asleep))
    released = Cause(CauseKind.RELEASED, because=cause)
    for gang in step.end:
        live.withdraw(draft, draft.state.gangs.records[gang], released)
    if step.drain:
        every = replicas_of(draft, entry.id)
        before = {each.gang for each in every if each.part is Part.DRAINING}
        going, count = tuple(sorted({*before, *step.drain})), entry.workload.replicas
        draft.record(ServiceScaled(draft.now, entry.id, count, count, cause, going))
