"""For what gangs have waited, and how long: by kind of reason, attempt by attempt.

Equal gangs share the reason of their lane, and so they share the clock that adds it up: a reason
that changes costs the same for one gang as for ten thousand. A gang that joins a lane notes what
the clock shows, and takes the difference when it leaves.
"""

from collections.abc import Hashable, Mapping
from typing import Any, Self

from msgspec import Struct, field
from msgspec.structs import astuple, replace

from ganglion.engine.gangs.record import WAITING, GangRecord
from ganglion.model.events import Event, ReasonsChanged
from ganglion.model.plan import Phase
from ganglion.model.reasons import Token

UNKNOWN = "unknown"
"""Kind of a wait whose reason was never found out."""
MOST_ATTEMPTS = 16
"""Attempts whose waits are kept apart; those of earlier ones are added up."""

Sums = dict[str, tuple[int, int, int]]
"""Kind -> time in all, periods, end of the last one; replaced, never changed."""


class WaitSum(Struct, frozen=True):
    """One kind of reason of one wait.

    Attributes:
        attempt: number of the attempt that the gang waited for.
        kind: token of the reason, or `unknown`.
        total_ms: for how long in all.
        times: in how many periods.
        until: end of the last period, in ms.
    """

    attempt: int
    kind: str
    total_ms: int
    times: int
    until: int


class WaitClock(Struct):
    """Adds up the reasons of one lane, or of one gang apart from lanes.

    Attributes:
        kind: in force.
        since: from when on, in ms.
        members: gangs that share it.
        spent: what is over.
    """

    kind: str = UNKNOWN
    since: int = 0
    members: int = 0
    spent: Sums = field(default_factory=dict)

    def turn(self, kind: str, at: int) -> None:
        """Another reason is in force from a time in ms on."""
        if kind != self.kind:
            self.spent = self.as_of(at)
            self.kind, self.since = kind, max(at, self.since)

    def as_of(self, at: int) -> Sums:
        """The sums at a time in ms, with what is in force then."""
        length = at - self.since
        if length <= 0:
            return self.spent
        total, times, _ = self.spent.get(self.kind, (0, 0, 0))
        return {**self.spent, self.kind: (total + length, times + 1, at)}


class OpenWait(Struct):
    """A gang waits.

    Attributes:
        attempt: number of the attempt that it waits for.
        place: lane or gate at which it waits.
        clock: of that.
        joined: when it joined that clock, in ms.
        kind: what was in force then.
        late: how long that had been in force, in ms; below 0 = it came into force later.
        base: what the clock showed then.
        sums: of the wait before that.
    """

    attempt: int
    place: Hashable
    clock: WaitClock
    joined: int
    kind: str
    late: int
    base: Sums
    sums: Sums

    def as_of(self, at: int) -> Sums:
        """The sums of this wait at a time in ms: all of it up to then, and no more."""
        at = max(at, self.joined)
        found, over = dict(self.sums), at - self.joined
        for kind, (total, times, until) in self.clock.as_of(at).items():
            known = self.base.get(kind, (0, 0, 0))
            length = total - known[0] - (self.late if kind == self.kind else 0)
            if length > 0:
                found[kind] = self._added(kind, length, times - known[1], until)
                over -= length
        if over > 0:  # it came before what was in force, which is taken to have held then too
            total, times, until = found.get(self.kind, (0, 1, 0))
            found[self.kind] = (total + over, times, max(until, min(at, self.joined - self.late)))
        return trimmed(found, -over) if over < 0 else found

    def _added(self, kind: str, length: int, times: int, until: int) -> tuple[int, int, int]:
        total, before, _ = self.sums.get(kind, (0, 0, 0))
        return total + length, before + max(times, 1), until


def trimmed(sums: Sums, excess: int) -> Sums:
    """Without some time at the end: a gang may have left before its reason was found out."""
    found = dict(sums)
    for kind in sorted(sums, key=lambda each: -sums[each][2]):
        total, times, until = found[kind]
        cut = min(total, excess)
        found[kind] = (total - cut, times, until - cut)
        excess -= cut
    return {kind: each for kind, each in found.items() if each[0]}


class WaitSums:
    """Adds up the waits of gangs; follows from events alone."""

    def __init__(self) -> None:
        self._lanes: dict[Hashable, WaitClock] = {}
        self._open: dict[str, OpenWait] = {}
        self._over: dict[str, tuple[WaitSum, ...]] = {}

    def stands(self, record: GangRecord, at: int) -> None:
        """A gang waits somewhere, or somewhere else, or no more, from a time in ms on."""
        gang, known = record.gang.id, self._open.get(record.gang.id)
        if record.phase not in WAITING:
            if record.phase is Phase.STARTING and known is None:
                known = self._begun(record, record.attempt, at)
            if known:
                self._close(gang, known, at)
            return
        place = waiting_place(record)
        if known is None:
            self._open[gang] = self._begun(record, record.attempt + 1, at)
        elif known.place != place:
            sums = known.as_of(at)
            self._leave(known)
            self._open[gang] = self._joined(record, known.attempt, max(at, known.joined), sums)

    def forgets(self, gang: str) -> None:
        """A gang is no more."""
        self._over.pop(gang, None)
        if known := self._open.pop(gang, None):
            self._leave(known)

    def note(self, event: Event) -> None:
        """Take in that gangs and their equals wait for other kinds of reasons."""
        if not isinstance(event, ReasonsChanged):
            return
        for kind, gangs in event.reasons.items():
            for known in filter(None, map(self._open.get, gangs)):
                if known.clock.members > 0:  # else it stands apart
                    known.clock.turn(kind, event.at)

    def kind(self, gang: str) -> str:
        """For what a gang waits as far as is known; empty = it does not."""
        known = self._open.get(gang)
        return known.clock.kind if known else ""

    def parts(self, gang: str, now: int) -> tuple[WaitSum, ...]:
        """For what a gang has waited until now, the first first."""
        known = self._open.get(gang)
        over = self._over.get(gang, ())
        return over + parts_of(known.attempt, known.as_of(now)) if known else over

    def saved(self) -> dict[str, Any]:
        """All of it as plain values."""
        waiting = {}
        for gang, each in self._open.items():
            since = max(each.joined, each.clock.since)
            sums = each.as_of(since)
            waiting[gang] = (each.attempt, each.clock.kind, since, sums)
        over = {gang: tuple(map(astuple, each)) for gang, each in self._over.items()}
        return {"waiting": waiting, "over": over}

    @classmethod
    def of(cls, saved: Mapping[str, Any], records: Mapping[str, GangRecord]) -> Self:
        """What was saved, of gangs as they stand now; those that were not saved wait since then."""
        made = cls()
        over, waiting = saved.get("over", {}), saved.get("waiting", {})
        made._over = {gang: tuple(WaitSum(*each) for each in over[gang]) for gang in over}
        stand = {gang: each for gang, each in records.items() if each.phase in WAITING}
        kept = [gang for gang in waiting if gang in stand]
        for gang in sorted(kept, key=lambda gang: waiting[gang][2]):  # the first starts its clock
            attempt, kind, since, sums = waiting[gang]
            made._open[gang] = made._joined(stand[gang], attempt, since, sums, kind)
        for gang, record in stand.items():
            if gang not in waiting:
                made.stands(record, record.waits_since)
        return made

    def _begun(self, record: GangRecord, attempt: int, at: int) -> OpenWait:
        """A wait begins; one that was taken back goes on from where it was."""
        gang, begin, sums = record.gang.id, min(record.waits_since, at), dict[str, Any]()
        over = self._over.get(gang, ())
        if over and over[-1].attempt == attempt:
            again = [each for each in over if each.attempt == attempt]
            self._over[gang] = over[: len(over) - len(again)]
            sums = {each.kind: (each.total_ms, each.times, each.until) for each in again}
            begin = min(begin + sum(each.total_ms for each in again), at)
        return self._joined(record, attempt, begin, sums)

    def _joined(
        self, record: GangRecord, attempt: int, at: int, sums: Sums, kind: str = UNKNOWN
    ) -> OpenWait:
        place = waiting_place(record)
        if isinstance(place, str):
            clock = WaitClock(place, at)
        else:
            clock = self._lanes.setdefault(place, WaitClock(kind, at))
            clock.members += 1
        late = at - clock.since
        return OpenWait(attempt, place, clock, at, clock.kind, late, clock.spent, sums)

    def _leave(self, known: OpenWait) -> None:
        known.clock.members -= 1
        if known.clock.members == 0:
            self._lanes.pop(known.place, None)

    def _close(self, gang: str, known: OpenWait, at: int) -> None:
        self._open.pop(gang, None)
        self._leave(known)
        found = (*self._over.get(gang, ()), *parts_of(known.attempt, known.as_of(at)))
        if found:
            self._over[gang] = bounded(found)


def waiting_place(record: GangRecord) -> Hashable:
    """Where a gang waits: the kind of its reason where that is its own, else its lane."""
    if record.phase is Phase.STARTING:
        return UNKNOWN
    if record.phase is Phase.RESERVED:
        return Token.DRAINING.value
    return record.reason.token.value if record.reason else record.lane


def parts_of(attempt: int, sums: Sums) -> tuple[WaitSum, ...]:
    """The sums of the wait for an attempt, the first first."""
    found = (WaitSum(attempt, kind, *each) for kind, each in sums.items() if each[0])
    return tuple(sorted(found, key=lambda each: (each.until, each.kind)))


def bounded(parts: tuple[WaitSum, ...]) -> tuple[WaitSum, ...]:
    """With the earliest attempts as one, as soon as there are too many."""
    attempts = list(dict.fromkeys(each.attempt for each in parts))
    if len(attempts) <= MOST_ATTEMPTS:
        return parts
    first, second = attempts[:2]
    merged = dict[str, WaitSum]()
    for each in parts:
        if each.attempt in (first, second):
            known = merged.get(each.kind, WaitSum(second, each.kind, 0, 0, 0))
            merged[each.kind] = replace(
                known,
                total_ms=known.total_ms + each.total_ms,
                times=known.times + each.times,
                until=each.until,
            )
    rest = (each for each in parts if each.attempt not in (first, second))
    return (*sorted(merged.values(), key=lambda each: each.until), *rest)
