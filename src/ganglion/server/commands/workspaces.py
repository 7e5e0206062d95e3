"""Suspending workspaces and taking them up again, on request; each runs within one turn."""

from msgspec import Struct

from ganglion.engine.gangs.record import HOLDING, WAITING, GangRecord
from ganglion.lifecycle.workspaces.look import Look, Loss
from ganglion.lifecycle.workspaces.returning import returning_priority
from ganglion.model.causes import Cause, CauseKind, suspends
from ganglion.model.errors import Conflict
from ganglion.model.events import GangStopping, GangUpdated
from ganglion.model.plan import Phase, Plan, Stop
from ganglion.model.workload import Kind
from ganglion.server.state.refs import resolve
from ganglion.server.state.transaction import Mind, Order, Transaction
from ganglion.worlds.world import ServedWorld


class NamedWorkspace(Struct, frozen=True):
    """A workspace that a caller names.

    Attributes:
        workload: its id.
        record: its gang.
    """

    workload: str
    record: GangRecord


def find(draft: Transaction, ref: str) -> NamedWorkspace:
    """The live workspace that a reference means.

    Raises:
        NotFound: there is no such workload.
        Conflict: it has ended, or is no workspace.
    """
    found = resolve(draft.mind, draft.ledger, ref)
    if found.filed:
        raise Conflict(f"{found.workload} has ended already, as {found.filed.state}")
    kind = draft.book.entries[found.workload].workload.kind
    if kind is not Kind.WORKSPACE:
        raise Conflict(
            f"{found.workload} is of kind {kind}: only workspaces are suspended",
            f"keep it from starting with: ganglion update {found.workload} --hold",
        )
    return NamedWorkspace(found.workload, draft.records(found.workload)[0])


def loss_of(look: Look | None) -> str:
    """What a workspace would lose now, and what it keeps, for people."""
    return (look.loss if look else Loss()).text


def suspend(draft: Transaction, ref: str, user: str) -> str:
    """Suspend a workspace on request; returns its id.

    Raises:
        NotFound: there is no such workload.
        Conflict: it has ended, is no workspace, or sleeps already.
    """
    asked = find(draft, ref)
    record = asked.record
    if record.gang.held:
        what = "is suspended" if suspends(record.held_for) else "is on hold"
        raise Conflict(f"{asked.workload} {what} already")
    put_to_sleep(draft, record, Cause(CauseKind.SUSPENDED, user=user))
    return asked.workload


def put_to_sleep(draft: Transaction, record: GangRecord, cause: Cause) -> None:
    """Keep a gang from starting, and stop it if it has started.

    Args:
        draft: the open turn.
        record: the gang.
        cause: one of `causes.SUSPENDS`.
    """
    gang, attempt = record.gang.id, record.attempt
    draft.apply(GangUpdated(draft.now, gang, held=True, cause=cause))
    if record.phase in HOLDING and record.phase is not Phase.STOPPING:
        draft.apply(GangStopping(draft.now, gang, attempt, cause))
        draft.orders.append(_stop(Stop(gang, attempt, cause), draft.now))


def resume(draft: Transaction, ref: str, cause: Cause) -> str:
    """Let a suspended workspace start again, before all that waits with a usual priority.

    Args:
        draft: the open turn.
        ref: id, name or unique prefix.
        cause: on whose wish.

    Raises:
        NotFound: there is no such workload.
        Conflict: it has ended, is no workspace, does not sleep, or its user has too many awake.
    """
    asked = find(draft, ref)
    record = asked.record
    if not (record.gang.held and suspends(record.held_for)):
        raise Conflict(f"{asked.workload} is not suspended", "see: ganglion ps")
    workload = draft.book.entries[asked.workload].workload
    check_awake(draft.mind, workload.user)
    priority = returning_priority(workload, draft.state.config.policy)
    draft.apply(GangUpdated(draft.now, record.gang.id, priority, held=False, cause=cause))
    return asked.workload


def check_awake(mind: Mind, user: str) -> None:
    """A user may have one more workspace that is not suspended.

    Raises:
        Conflict: there are as many as the policy allows.
    """
    most = mind.state.config.policy.workspaces_per_user
    if not most:
        return
    awake = [
        entry.id
        for entry in mind.book.entries.values()
        if entry.workload.kind is Kind.WORKSPACE
        and entry.workload.user == user
        and not _asleep(mind.state.gangs.records[mind.book.gangs[entry.id][0]])
    ]
    if len(awake) >= most:
        raise Conflict(
            f"{user} has {len(awake)} workspaces that are not suspended; most are {most}",
            f"suspend one first: ganglion suspend {awake[0]}",
        )


def _asleep(record: GangRecord) -> bool:
    return record.phase in WAITING and record.gang.held and suspends(record.held_for)


def _stop(stop: Stop, now: int) -> Order:
    def carry_out(world: ServedWorld) -> None:
        world.execute(Plan(now, stops=[stop]), {})

    return carry_out
