"""From a number of replicas that is wanted to what has to be done with each of them.

A replica is a gang of its own. It waits, starts, runs; is drained, then asked to stop; a service
without any keeps one that sleeps, on hold, so that a request finds one to wake.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import StrEnum

from msgspec import Struct

from ganglion.engine.gangs.record import WAITING, GangRecord
from ganglion.model.causes import cancels
from ganglion.model.plan import Phase


class Part(StrEnum):
    """What a replica does for its service."""

    ACTIVE = "active"
    """It runs, or waits to."""
    ASLEEP = "asleep"
    """On hold, as none is wanted."""
    STANDBY = "standby"
    """Its place is lent; it can be called back."""
    DRAINING = "draining"
    """It finishes its requests, then it goes."""
    LEAVING = "leaving"
    """It is being stopped for good, or was."""
    BROKEN = "broken"
    """It ended for good by itself; no other replica takes its index."""


class Replica(Struct, frozen=True):
    """One replica of a service.

    Attributes:
        gang: id of its gang.
        part: what it does.
        waits: whether it has no pods.
        since: when it began to drain, or else when it was placed, in ms; 0 = never.
    """

    gang: str
    part: Part
    waits: bool = False
    since: int = 0


class Shift(Struct, frozen=True):
    """What takes a service from the replicas it has to those it should have.

    Attributes:
        keep: replicas that drain and are wanted again.
        wake: replicas that sleep or stand by and are wanted now.
        submit: new replicas.
        rest: replicas that wait and go to sleep.
        nap: new replicas that sleep at once.
        end: replicas that wait and are not wanted any more.
        drain: replicas that begin to drain.
    """

    keep: tuple[str, ...] = ()
    wake: tuple[str, ...] = ()
    submit: int = 0
    rest: tuple[str, ...] = ()
    nap: int = 0
    end: tuple[str, ...] = ()
    drain: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Whether there is anything to do."""
        return self != Shift()


def replica(record: GangRecord, *, draining: int = 0, left: bool = False) -> Replica:
    """What a gang does for its service.

    Args:
        record: the gang.
        draining: since when it drains, in ms; 0 = it does not.
        left: whether it ended because it was not wanted any more.
    """
    part = _part(record, draining, left)
    since = draining if part is Part.DRAINING else record.placed_at
    return Replica(record.gang.id, part, record.phase in WAITING, since)


def _part(record: GangRecord, draining: int, left: bool) -> Part:
    if left or (record.phase is Phase.STOPPING and cancels(record.cause)):
        return Part.LEAVING
    if record.phase is Phase.ENDED:
        return Part.BROKEN
    if draining:
        return Part.DRAINING
    if record.gang.held and record.phase in WAITING:
        return Part.ASLEEP
    return Part.STANDBY if record.gang.recall_ms else Part.ACTIVE


def shift(
    replicas: Sequence[Replica], wanted: int, worst: Sequence[str] = (), best: Sequence[str] = ()
) -> Shift:
    """What gives a service as many active replicas as are wanted.

    Wanted again, those come first that need no start: what drains, what stands by, what sleeps.
    Not wanted, those go first that wait; then in the order of `worst`; then the youngest.

    Args:
        replicas: all of them, by index.
        wanted: how many should be active.
        worst: gangs, the one that should go first in front.
        best: those that stand by, the one that should be woken first in front.
    """
    if not lives(replicas):
        return Shift()
    active = _of(replicas, Part.ACTIVE)
    missing = wanted - len(active) - len(_of(replicas, Part.BROKEN))
    if missing > 0:
        return _more(replicas, missing, best)
    return _fewer(replicas, active, max(0, len(active) - wanted), worst)


def _more(replicas: Sequence[Replica], missing: int, best: Sequence[str]) -> Shift:
    draining = sorted(_of(replicas, Part.DRAINING), key=lambda each: -each.since)
    keep = _ids(draining[:missing])
    place = {gang: number for number, gang in enumerate(best)}
    standby = _of(replicas, Part.STANDBY)
    standby = sorted(standby, key=lambda each: place.get(each.gang, len(place)))
    sleepers = [*standby, *_of(replicas, Part.ASLEEP)]
    wake = _ids(sleepers[: missing - len(keep)])
    surplus = set(_ids(_of(replicas, Part.ASLEEP))) - set(wake)
    return Shift(keep, wake, missing - len(keep) - len(wake), end=tuple(sorted(surplus)))


def _fewer(
    replicas: Sequence[Replica], active: Sequence[Replica], surplus: int, worst: Sequence[str]
) -> Shift:
    going = _order(active, worst)[:surplus]
    waiting = [each for each in going if each.waits]
    asleep = _ids(_of(replicas, Part.ASLEEP))
    drain = _ids(each for each in going if not each.waits)
    others = _of(replicas, Part.BROKEN) + _of(replicas, Part.STANDBY)
    if len(active) > len(going) or others:
        return Shift(end=(*asleep, *_ids(waiting)), drain=drain)
    if asleep:
        return Shift(end=(*asleep[1:], *_ids(waiting)), drain=drain)
    if waiting:
        return Shift(rest=_ids(waiting[:1]), end=_ids(waiting[1:]), drain=drain)
    return Shift(nap=1, drain=drain)


def _order(active: Sequence[Replica], worst: Sequence[str]) -> list[Replica]:
    place = {gang: number for number, gang in enumerate(worst)}
    youngest = active[::-1]
    return sorted(
        youngest,
        key=lambda each: (not each.waits, place.get(each.gang, len(place)), -each.since),
    )


def lives(replicas: Sequence[Replica]) -> bool:
    """Whether the service is to go on: when all were cancelled, it is on its way out."""
    return any(each.part not in (Part.LEAVING, Part.BROKEN) for each in replicas)


def drained(
    replicas: Iterable[Replica], busy: Mapping[str, bool | None], now: int, drain_ms: int
) -> tuple[str, ...]:
    """Replicas that may be stopped: they have no request left, or had their time.

    Args:
        replicas: all of them.
        busy: gang -> whether it has, or may still get, requests; None = unknown.
        now: the time, in ms.
        drain_ms: how long requests may take.
    """
    return tuple(
        each.gang
        for each in replicas
        if each.part is Part.DRAINING
        and (each.waits or now >= each.since + drain_ms or busy.get(each.gang) is False)
    )


def _of(replicas: Iterable[Replica], part: Part) -> list[Replica]:
    return [each for each in replicas if each.part is part]


def _ids(replicas: Iterable[Replica]) -> tuple[str, ...]:
    return tuple(each.gang for each in replicas)


class RolloutStep(Struct, frozen=True):
    """What takes a service one step on towards replicas that all have its present model.

    Attributes:
        submit: new replicas.
        nap: new replicas that sleep at once.
        end: outdated replicas without pods.
        drain: outdated replicas that begin to drain.
    """

    submit: int = 0
    nap: int = 0
    end: tuple[str, ...] = ()
    drain: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Whether there is anything to do."""
        return self != RolloutStep()


def rolled(
    replicas: Sequence[Replica],
    outdated: Collection[str],
    ready: Collection[str],
    wanted: int,
    surge: int,
) -> RolloutStep:
    """Replace outdated replicas: none that answers goes before as many as are wanted do.

    Without surge one may be missing, so that a full fleet can be gone through. While a replica of
    the present model has failed for good, nothing is replaced.

    Args:
        replicas: all of them, by index.
        outdated: those that have another model than the service.
        ready: those that answer requests.
        wanted: how many should be active.
        surge: how many more may be active meanwhile.
    """
    active = _of(replicas, Part.ACTIVE)
    fresh = [each for each in active if each.gang not in outdated]
    old = [each for each in active if each.gang in outdated]
    if not lives(replicas) or any(e.gang not in outdated for e in _of(replicas, Part.BROKEN)):
        return RolloutStep()
    asleep = [e.gang for e in _of(replicas, Part.ASLEEP) if e.gang in outdated]
    standby = [e.gang for e in _of(replicas, Part.STANDBY) if e.gang in outdated]
    waiting, up = [e for e in old if e.waits], [e for e in old if not e.waits]
    answering = [each for each in up if each.gang in ready]
    spare = sum(each.gang in ready for each in active) - wanted + (not surge)
    leaving = sorted(answering, key=lambda each: each.since)[: max(0, spare)]
    silent = [each for each in up if each.gang not in ready]
    going = _ids([*silent, *leaving])
    room = wanted + surge - len(fresh) - (len(up) - len(going))
    submit = max(0, min(wanted - len(fresh), room))
    return RolloutStep(submit, len(asleep), (*asleep, *standby, *_ids(waiting)), going)
