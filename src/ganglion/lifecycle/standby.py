"""Which replicas of a service stand by; every host of services that lends their places runs it.

A host observes the replicas and carries out what is decided: the server of a home by events about
gangs. A cluster keeps no places and refuses `standby`: docs/kubernetes.md says why.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ganglion.lifecycle.services import Part, Replica, lives
from ganglion.model.behaviour import Scaling

AT_RISK = "recall.at_risk"
"""Alarm: replicas that stand by have no place that could be called back."""

PATIENCE_MS = 10_000
"""A replica that stands by may be without a place for this time, in ms, before an alarm."""


class Sleeper(Struct, frozen=True):
    """A replica that stands by.

    Attributes:
        notice_ms: time that borrowers of its place have to leave.
        placed: whether a place is kept for it.
        submitted: when it was, in ms.
    """

    notice_ms: int
    placed: bool
    submitted: int


class ObservedStandby(Struct, frozen=True):
    """The replicas of a service, as its host finds them.

    Attributes:
        replicas: all of them, by index.
        sleepers: those that stand by.
        stuck: those that are active and find no place -> when each was submitted, in ms.
        best: sleepers with a place, the one that should be woken first in front.
    """

    replicas: Sequence[Replica]
    sleepers: Mapping[str, Sleeper]
    stuck: Mapping[str, int] = {}
    best: Sequence[str] = ()


class Swap(Struct, frozen=True):
    """Two replicas that change their parts.

    Attributes:
        stuck: finds no place, and stands by from now on.
        fresh: has a place, and is woken.
        notice_ms: time that borrowers of the place of `stuck` will have to leave.
    """

    stuck: str
    fresh: str
    notice_ms: int


class StandbyDecision(Struct, frozen=True):
    """What a host does about the replicas that stand by, in this order.

    Attributes:
        swaps: those that change their parts.
        renotice: sleepers whose borrowers get the time that the service says now.
        submit: how many more stand by.
        notice_ms: the time that the service says, for both.
        end: sleepers that are not wanted any more.
        alarms: alarms that should stand, by code; those of `recall.` that are not here go.
    """

    swaps: tuple[Swap, ...]
    renotice: tuple[str, ...]
    submit: int
    notice_ms: int
    end: tuple[str, ...]
    alarms: Mapping[str, str]


def decide(seen: ObservedStandby, scaling: Scaling | None, now: int) -> StandbyDecision:
    """Which replicas stand by: as many as the service asks for, within its ceiling.

    A replica that is woken becomes one of those that the service has, and another takes its part.
    One that finds no place, as after the loss of a node, changes its part with one that has one.

    Args:
        seen: what the host found.
        scaling: what the owner of the service wants; None = that none stands by.
        now: the time, in ms.
    """
    swaps = tuple(
        Swap(stuck, fresh, seen.sleepers[fresh].notice_ms)
        for stuck, fresh in zip(seen.stuck, seen.best, strict=False)
    )
    replicas, sleepers = _swapped(seen, swaps)
    asleep = [each.gang for each in replicas if each.part is Part.STANDBY]
    wanted = _wanted(replicas, scaling)
    kept = asleep[:wanted]
    notice_ms = scaling.standby.notice_ms if scaling and scaling.standby else 0
    renotice = tuple(each for each in kept if sleepers[each].notice_ms != notice_ms)
    placeless = sum(_lacks_place(sleepers[each], now) for each in kept)
    words = f"{placeless} of {wanted} replicas that stand by have no place"
    return StandbyDecision(
        swaps,
        renotice,
        max(0, wanted - len(asleep)),
        notice_ms,
        tuple(asleep[wanted:]),
        {AT_RISK: words} if placeless else {},
    )


def _swapped(
    seen: ObservedStandby, swaps: Sequence[Swap]
) -> tuple[list[Replica], dict[str, Sleeper]]:
    """The replicas, and those of them that stand by, once these have changed their parts."""
    parts = {each.stuck: Part.STANDBY for each in swaps}
    parts |= {each.fresh: Part.ACTIVE for each in swaps}
    replicas = [replace(each, part=parts.get(each.gang, each.part)) for each in seen.replicas]
    tired = {each.stuck: Sleeper(each.notice_ms, False, seen.stuck[each.stuck]) for each in swaps}
    return replicas, {**seen.sleepers, **tired}


def _wanted(replicas: Sequence[Replica], scaling: Scaling | None) -> int:
    if scaling is None or scaling.standby is None or not lives(replicas):
        return 0
    active = sum(each.part is Part.ACTIVE for each in replicas)
    return max(0, min(scaling.standby.replicas, scaling.ceiling - active))


def _lacks_place(sleeper: Sleeper, now: int) -> bool:
    return not sleeper.placed and now >= sleeper.submitted + PATIENCE_MS
