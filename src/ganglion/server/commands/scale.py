"""Giving a service another number of replicas, within a turn."""

from collections.abc import Collection, Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.upkeep.scale_down import to_release, to_wake
from ganglion.lifecycle.expand import replica_of
from ganglion.lifecycle.services import Part, Replica, Shift, lives, replica, shift
from ganglion.model.behaviour import Scaling
from ganglion.model.causes import Cause, CauseKind
from ganglion.model.errors import Conflict, FieldError
from ganglion.model.events import GangSubmitted, GangUpdated, ServiceScaled
from ganglion.model.plan import Phase
from ganglion.model.workload import Gang, Kind
from ganglion.server.commands import live
from ganglion.server.state.refs import resolve
from ganglion.server.state.registry import LiveWorkload
from ganglion.server.state.transaction import Mind, Transaction

MOST_REPLICAS = 10_000
"""Most replicas that one service may have."""


class ReplicaSpan(Struct, frozen=True):
    """How many replicas a caller asked for.

    Attributes:
        low: fewest, or the number.
        high: most; None = a number was asked for.
    """

    low: int
    high: int | None = None


def replicas_of(draft: Transaction, service: str) -> list[Replica]:
    """All replicas of a service that are remembered, by index."""
    known = draft.book.replicas
    left = known.left(service)
    return [
        replica(record, draining=known.draining.get(record.gang.id, 0), left=record.gang.id in left)
        for record in draft.records(service)
    ]


def set_replicas(
    draft: Transaction, entry: LiveWorkload, wanted: int, cause: Cause, held_until: int = -1
) -> bool:
    """Have a service get or lose replicas; returns whether anything changed.

    Args:
        draft: the open turn.
        entry: the service.
        wanted: how many there should be.
        cause: why.
        held_until: as in `ServiceScaled`.
    """
    outdated = outdated_of(draft, entry)
    # What drains for another model is not wanted again.
    every = replicas_of(draft, entry.id)
    found = [e for e in every if e.part is not Part.DRAINING or e.gang not in outdated]
    active = [each.gang for each in found if each.part is Part.ACTIVE]
    target = wanted + min(_surge(draft, every, outdated), max(0, len(active) - wanted))
    surplus = max(0, len(active) - target)
    worst = _worst(draft, active, outdated, surplus) if surplus else []
    asleep = [each.gang for each in found if each.part is Part.STANDBY]
    first = to_wake(draft.state, asleep, len(asleep)) if len(active) < target else []
    todo = shift(found, target, worst, first)
    if not todo and held_until < 0:
        return False
    before = sum(each.part is Part.ACTIVE for each in found)
    if todo:
        _begin(draft, entry, todo, cause)
        _end(draft, todo, cause)
    draining = {each.gang for each in every if each.part is Part.DRAINING}
    if todo:
        draining = (draining - set(todo.keep)) | set(todo.drain)
    going = tuple(sorted(draining))
    draft.record(ServiceScaled(draft.now, entry.id, before, wanted, cause, going, held_until))
    if entry.workload.replicas != wanted:
        draft.change(draft.book.entries[entry.id], replicas=wanted)
    return True


def outdated_of(draft: Transaction, entry: LiveWorkload) -> set[str]:
    """Replicas of a service that have another model than it has by now, ended ones too."""
    wanted, gangs = entry.workload.model, draft.state.gangs.records
    every = draft.book.gangs[entry.id] if wanted else ()
    return {gang for gang in every if gangs[gang].gang.model != wanted}


def counted_models(mind: Mind, entry: LiveWorkload) -> tuple[int, int]:
    """How many gangs that have not ended have the model of their workload, and how many do not."""
    records = [mind.state.gangs.records[gang] for gang in mind.book.gangs[entry.id]]
    lives = [each.gang.model == entry.workload.model for each in records if not _is_over(each)]
    return sum(lives), len(lives) - sum(lives)


def _is_over(record: GangRecord) -> bool:
    return record.phase is Phase.ENDED


def is_rolling(replicas: Iterable[Replica], outdated: Collection[str]) -> bool:
    """Whether replicas are still to be replaced."""
    going = (Part.ACTIVE, Part.ASLEEP, Part.STANDBY)
    return any(each.part in going and each.gang in outdated for each in replicas)


def _surge(draft: Transaction, replicas: Sequence[Replica], outdated: Collection[str]) -> int:
    """Replicas beyond the wanted ones that may be there while others are replaced."""
    if not is_rolling(replicas, outdated):
        return 0
    update = draft.book.replicas.updated.get(replicas[0].gang.rpartition("/")[0])
    return update.surge if update else 0


def _worst(
    draft: Transaction, active: list[str], outdated: Collection[str], surplus: int
) -> list[str]:
    """Those that should go first: what has another model than the service, then by their places."""
    old = [each for each in active if each in outdated][:surplus]
    others = [each for each in active if each not in old]
    left = surplus - len(old)
    return [*old, *(to_release(draft.state, others, left) if left else ())]


def _begin(draft: Transaction, entry: LiveWorkload, todo: Shift, cause: Cause) -> None:
    for gang in todo.wake:
        draft.apply(GangUpdated(draft.now, gang, held=False, recall_ms=0, cause=cause))
    for _ in range(todo.submit):
        draft.apply(
            GangSubmitted(draft.now, next_replica(draft, entry), entry.workload.run.recorded_image)
        )
    for _ in range(todo.nap):
        asleep = next_replica(draft, entry)
        draft.apply(GangSubmitted(draft.now, asleep, entry.workload.run.recorded_image))
        draft.apply(GangUpdated(draft.now, asleep.id, held=True, cause=Cause(CauseKind.ASLEEP)))


def next_replica(draft: Transaction, entry: LiveWorkload) -> Gang:
    """One more replica of a service, with a number that no other ever had."""
    index = draft.book.replicas.issued[entry.id]
    return replica_of(entry.id, entry.workload, draft.now, index)


def _end(draft: Transaction, todo: Shift, cause: Cause) -> None:
    for gang in todo.rest:
        draft.apply(GangUpdated(draft.now, gang, held=True, cause=Cause(CauseKind.ASLEEP)))
    for gang in todo.end:
        released = Cause(CauseKind.RELEASED, because=cause)
        live.withdraw(draft, draft.state.gangs.records[gang], released)


def scale(draft: Transaction, ref: str, span: ReplicaSpan, user: str) -> str:
    """Do as a user says; returns the id of the service.

    A number is what there is from now on; where the service follows its load, it stays for the
    service's hold-down, and load counts again after that. Two numbers are its new floor and
    ceiling, between which load counts at once.

    Args:
        draft: the open turn.
        ref: id, name or unique prefix.
        span: what the user wants.
        user: who asks.

    Raises:
        NotFound: there is no such workload.
        Conflict: it has ended, or is no service, or is held.
        FieldError: the numbers make no sense, or lie outside of floor and ceiling.
    """
    found = resolve(draft.mind, draft.ledger, ref)
    if found.filed:
        raise Conflict(f"{found.workload} has ended already, as {found.filed.state}")
    entry = draft.book.entries[found.workload]
    _check(entry, span)
    if not lives(replicas_of(draft, entry.id)):
        raise Conflict(f"{entry.id} is being stopped", "submit it again once it has ended")
    if span.high is not None:
        entry = _bounded(draft, entry, span.low, span.high)
    now = sum(each.part is Part.ACTIVE for each in replicas_of(draft, entry.id))
    wanted = span.low if span.high is None else max(span.low, min(now, span.high))
    scaling = draft.book.entries[entry.id].workload.scaling
    held = 0
    if span.high is None and wanted and scaling:
        # Zero is sleep, which the first request ends: it is not held against it.
        held = draft.now + scaling.hold_down_ms
    cause = Cause(CauseKind.SCALED, user=user)
    set_replicas(draft, entry, wanted, cause, held if scaling else -1)
    return found.workload


def _check(entry: LiveWorkload, span: ReplicaSpan) -> None:
    workload = entry.workload
    if workload.kind is not Kind.SERVICE:
        hint = "a training is made elastic by `nodes: 2..4`"
        raise Conflict(f"{entry.id} is no service: it has no replicas", hint)
    if workload.held:
        hint = f"release it first: ganglion update {entry.id} --release"
        raise Conflict(f"{entry.id} is held", hint)
    if not 0 <= span.low <= MOST_REPLICAS or (span.high or 0) > MOST_REPLICAS:
        hint = f"write 0 to {MOST_REPLICAS:,}"
        raise FieldError(f"replicas cannot be {span.low}", key="replicas", hint=hint)
    scaling = workload.scaling
    if span.high is not None and not 0 < span.high >= span.low:
        hint = "floor..ceiling, as 1..8"
        raise FieldError(f"the ceiling is {span.high}", key="replicas", hint=hint)
    if span.high is None and scaling and not scaling.floor <= span.low <= scaling.ceiling:
        raise _outside(workload.name, scaling, span.low)


def _outside(name: str, scaling: Scaling, wanted: int) -> FieldError:
    """A number beyond floor or ceiling is refused with the command that moves that bound."""
    above = wanted > scaling.ceiling
    side, bound = ("above", "ceiling") if above else ("below", "floor")
    limit = scaling.ceiling if above else scaling.floor
    floor, ceiling = min(wanted, scaling.floor), max(wanted, scaling.ceiling)
    return FieldError(
        f"{wanted} replicas of {name} are {side} its {bound} of {limit}",
        key="replicas",
        hint=f"move the {bound}: ganglion scale {name} {floor}..{ceiling}",
    )


def _bounded(draft: Transaction, entry: LiveWorkload, floor: int, ceiling: int) -> LiveWorkload:
    """The service with another floor and ceiling."""
    scaling = replace(entry.workload.scaling or Scaling(), floor=floor, ceiling=ceiling)
    for each in draft.records(entry.id):
        draft.apply(GangUpdated(draft.now, each.gang.id, floor=floor))
    draft.change(entry, scaling=scaling)
    return draft.book.entries[entry.id]
