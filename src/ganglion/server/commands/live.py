"""What users may do to live workloads, queues and nodes; each runs within one turn."""

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from ganglion.api.bulk import BeforeUpdate
from ganglion.engine.gangs.record import WAITING, GangRecord
from ganglion.model.causes import Cause, CauseKind, CordonKind, sentence
from ganglion.model.errors import Conflict, Stale
from ganglion.model.events import (
    GangEnded,
    GangStopping,
    GangUpdated,
    NodeCordoned,
    Outcome,
    QueueRemoved,
    QueueSet,
)
from ganglion.model.plan import Phase, Plan, Stop
from ganglion.model.queue import Queue
from ganglion.model.workload import Deadline
from ganglion.server.commands.drains import check_open
from ganglion.server.commands.queue_changes import check_one
from ganglion.server.commands.submission.submit_rules import check_deadline, check_queue
from ganglion.server.state.refs import resolve
from ganglion.server.state.registry import LiveWorkload
from ganglion.server.state.transaction import Order, Transaction
from ganglion.worlds.world import ServedWorld

NO_DEADLINE = Deadline()
"""In `Changes`: the workload has no deadline any more."""


class Changes(Struct, frozen=True):
    """What to change of a workload; None leaves a property as it is."""

    priority: int | None = None
    queue: str | None = None
    time_limit_ms: int | None = None
    deadline: Deadline | None = None
    held: bool | None = None


def cancel(draft: Transaction, ref: str, user: str, *, force: bool = False) -> str:
    """End what waits of a workload, or of one gang of it, and stop what runs; returns its id.

    Args:
        draft: the open turn.
        ref: id, name or unique prefix, with `/index` for one gang.
        user: who asks.
        force: leave no grace.

    Raises:
        NotFound: there is no such workload or gang.
        Conflict: it has ended.
    """
    found = resolve(draft.mind, draft.ledger, ref)
    if found.filed:
        raise Conflict(f"{found.workload} has ended already, as {found.filed.state}")
    for record in _chosen(draft, found.workload, found.gang):
        withdraw(draft, record, Cause(CauseKind.CANCELLED, user=user), force=force)
    return found.workload


def cancel_all(draft: Transaction, user: str) -> None:
    """Cancel every live workload."""
    for workload in list(draft.book.entries):
        for record in draft.records(workload):
            if record.phase is not Phase.ENDED:
                withdraw(draft, record, Cause(CauseKind.CANCELLED, user=user))


def _chosen(draft: Transaction, workload: str, index: int | None) -> list[GangRecord]:
    """The live gangs that a reference means."""
    if index is None:
        return [each for each in draft.records(workload) if each.phase is not Phase.ENDED]
    record = draft.state.gangs.records[draft.book.gang(workload, index)]
    if record.phase is Phase.ENDED:
        raise Conflict(f"{workload}/{index} has ended already")
    return [record]


def withdraw(draft: Transaction, record: GangRecord, cause: Cause, *, force: bool = False) -> None:
    """End a gang that waits, stop one that runs.

    Args:
        draft: the open turn.
        record: a gang that has not ended.
        cause: one of `causes.CANCELS`.
        force: leave no grace.
    """
    gang, attempt = record.gang.id, record.attempt
    if record.phase in WAITING:
        draft.apply(GangEnded(draft.now, gang, attempt, Outcome.CANCELLED, message=sentence(cause)))
        return
    halt(draft, record, cause, force=force)


def halt(draft: Transaction, record: GangRecord, cause: Cause, *, force: bool = False) -> None:
    """Stop a gang that runs; what follows depends on the cause. `force`: leave no grace."""
    gang, attempt = record.gang.id, record.attempt
    draft.apply(GangStopping(draft.now, gang, attempt, cause))
    draft.orders.append(_stop(Stop(gang, attempt, cause), draft.now, force))


def _stop(stop: Stop, now: int, force: bool) -> Order:
    def carry_out(world: ServedWorld) -> None:
        if force:
            world.stop(stop.gang, stop.attempt, stop.cause, force=True)
        else:
            world.execute(Plan(now, stops=[stop]), {})

    return carry_out


def change(draft: Transaction, ref: str, changes: Changes) -> str:
    """Change a live workload; returns its id.

    Raises:
        NotFound: there is no such workload.
        FieldError: the queue is wrong.
        Conflict: it has ended, or it is too late for that change.
    """
    found = resolve(draft.mind, draft.ledger, ref)
    if found.filed:
        raise Conflict(f"{found.workload} has ended already, as {found.filed.state}")
    entry = draft.book.entries[found.workload]
    records = _chosen(draft, found.workload, None)
    _check_change(draft, found.workload, records, changes)
    for record in records:
        draft.apply(
            GangUpdated(
                draft.now,
                record.gang.id,
                priority=None if record.gang.spare else changes.priority,
                queue=changes.queue,
                time_limit_ms=changes.time_limit_ms,
                deadline_ms=_due(changes, record.gang.submitted),
                held=changes.held,
            )
        )
        if changes.time_limit_ms is not None:
            draft.orders.append(_limit(record.gang.id, changes.time_limit_ms))
    given = {key: getattr(changes, key) for key in changes.__struct_fields__}
    kept = {key: value for key, value in given.items() if value is not None}
    if changes.deadline == NO_DEADLINE:
        kept["deadline"] = None
    draft.change(entry, **kept)
    return found.workload


def as_before(entry: LiveWorkload, changes: Changes) -> BeforeUpdate:
    """What a change will change of a workload, as it is before."""
    keys = [key for key in ("priority", "queue", "held") if getattr(changes, key) is not None]
    return BeforeUpdate(entry.id, **{key: getattr(entry.workload, key) for key in keys})


def check_before(entry: LiveWorkload, known: Mapping[str, object]) -> None:
    """Check that a workload is as the client knows it. Raises Stale: it is not."""
    for key, value in known.items():
        present = getattr(entry.workload, key)
        if present != value:
            raise Stale(
                f"{entry.id} was changed meanwhile: {key} is {present}, not {value}",
                "look at its life, and change it as it is now",
            )


def _due(changes: Changes, submitted: int) -> int | None:
    """When a gang should end from now on, in ms; 0 = no matter when, None = as before."""
    due = changes.deadline
    if due is None:
        return None
    return 0 if due == NO_DEADLINE else due.of(submitted)


def _check_change(
    draft: Transaction, workload: str, records: list[GangRecord], changes: Changes
) -> None:
    holding = [record for record in records if record.phase not in WAITING]
    if changes.queue is not None:
        check_queue(draft.state, changes.queue)
        if holding:
            raise Conflict(
                f"{workload} is {holding[0].phase}: only what waits can change its queue",
                "cancel it and submit it to the other queue",
            )
    if changes.deadline and changes.deadline != NO_DEADLINE:
        check_deadline(changes.deadline, records[0].gang.submitted, draft.now)
    limit = changes.time_limit_ms
    refused = None
    if limit is not None:
        refused = draft.state.holdings.costs.refuse_limit(holding, limit, draft.now)
    if refused:
        hint = "give it less time, or have its budget raised"
        raise Conflict(f"{workload} may not run that long: {refused.message}", hint)
    if changes.held and len(holding) == len(records):
        raise Conflict(f"{workload} is {holding[0].phase}: only what waits can be held")


def _limit(gang: str, time_limit_ms: int) -> Order:
    return lambda world: world.set_time_limit(gang, time_limit_ms)


def set_queue(draft: Transaction, queue: Queue) -> None:
    """Make or change a queue.

    Raises:
        FieldError: its quota is above its parent's, or a child's would be above its own.
        NotFound: its parent is unknown.
        Conflict: it would lie under itself, or hold gangs and queues at once.
    """
    check_one(draft.state, queue)
    draft.apply(QueueSet(draft.now, queue))


def remove_queue(draft: Transaction, name: str) -> None:
    """Remove a queue.

    Raises:
        NotFound: there is no such queue.
        Conflict: it holds gangs or queues.
    """
    draft.apply(QueueRemoved(draft.now, name))


def cordon(draft: Transaction, node: str, reason: str) -> None:
    """Start nothing new on a node; an empty reason lifts that.

    Raises:
        NotFound: there is no such node.
        Conflict: it is to be opened, and drains.
    """
    if not reason:
        check_open(draft.state, node)
    draft.apply(NodeCordoned(draft.now, node, reason, CordonKind.PERSON if reason else None))


def keep_queues(draft: Transaction, queues: tuple[Queue, ...]) -> None:
    """Bring the queues of a cluster file in; make `default` when there would be none.

    Queues that were made by request and are not in the file stay.
    """
    for queue in queues:
        draft.apply(QueueSet(draft.now, queue))
    if not draft.state.queues.by_name:
        draft.apply(QueueSet(draft.now, Queue("default")))


def renamed(queue: Queue, name: str) -> Queue:
    """The queue under the name that the request's path gives it."""
    return replace(queue, name=name)
