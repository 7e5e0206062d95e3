"""For what gangs of a cluster have waited, from what its schedulers deliver.

Equal gangs share their reasons: a scheduler says which gangs are one group, and which reason each
group has. What it has said holds until its next record says otherwise. Where records are missing,
or no scheduler decided, the reason is unknown, until it is said again.
"""

from collections.abc import Callable, Iterable

from msgspec import Struct, field

from ganglion.lifecycle.waiting.sums import (
    UNKNOWN,
    WaitClock,
    WaitSum,
    bounded,
    parts_of,
    trimmed,
)
from ganglion.model.events import OrderedReason, ReasonsChanged, WaitGroups, WaitOrder

LOOK_MS = 1_000
"""A scheduler that decides finds the reason of what begins to wait within this time: it is taken
to have held from the begin on."""


class DeliveredWait(Struct):
    """The waits of one gang.

    Attributes:
        over: those that are over.
        clock: of the present one; None = it does not wait.
        attempt: number of the attempt that it waits for.
        group: of the gangs that share its reason; empty = it shares none, or that is unknown.
    """

    over: tuple[WaitSum, ...] = ()
    clock: WaitClock | None = None
    attempt: int = 0
    group: str = ""

    def begin(self, attempt: int, at: int) -> None:
        """It waits for an attempt from a time in ms on."""
        self.clock, self.attempt, self.group = WaitClock(UNKNOWN, at), attempt, ""

    def resume(self, ended: int) -> None:
        """The wait that ended at a time in ms goes on; what lies between is unknown."""
        again = [each for each in self.over if each.attempt == self.attempt]
        self.over = self.over[: len(self.over) - len(again)]
        spent = {each.kind: (each.total_ms, each.times, each.until) for each in again}
        self.clock = WaitClock(UNKNOWN, ended, spent=spent)

    def turn(self, kind: str, at: int, decides_since: int) -> None:
        """Another reason is in force from a time in ms on.

        Args:
            kind: token of the reason, or unknown.
            at: the time.
            decides_since: since when its scheduler has decided without a gap, in ms.
        """
        clock = self.clock
        if clock is None:
            return
        is_first = clock.kind == UNKNOWN and not clock.spent and decides_since <= clock.since
        if is_first and at - clock.since <= LOOK_MS:
            clock.kind = kind
        else:
            clock.turn(kind, at)

    def end(self, at: int) -> None:
        """It does not wait from a time in ms on."""
        self.over, self.clock, self.group = self.parts(at), None, ""

    def parts(self, now: int) -> tuple[WaitSum, ...]:
        """For what it has waited until a time in ms, the first first."""
        if self.clock is None:
            return self.over
        sums = self.clock.as_of(now)
        if now < self.clock.since:
            sums = trimmed(sums, self.clock.since - now)
        return bounded((*self.over, *parts_of(self.attempt, sums)))


WaitOf = Callable[[str], DeliveredWait | None]
"""Id of a gang -> its waits; None = it is not known."""


class ClusterWaits(Struct):
    """What the newest scheduler of a cluster has said of waits.

    Attributes:
        reasons: group -> token of its reason.
        since: since when it has decided without a gap, in ms.
        said: time of its newest record, in ms: until then holds what it has said.
        order: the first gangs in the order in which it decides, without those that wait no more.
        sentences: gang of that order -> its reason, as it was then.
    """

    reasons: dict[str, str] = field(default_factory=dict)
    since: int = 0
    said: int = 0
    order: tuple[str, ...] = ()
    sentences: dict[str, OrderedReason] = field(default_factory=dict)

    def interrupted(self, waits: Iterable[DeliveredWait], last: int, since: int) -> None:
        """What was said holds until a time; nothing is known from then on.

        Args:
            waits: of all gangs that live.
            last: that time in ms.
            since: when it is decided and said again, in ms.
        """
        for each in waits:
            each.turn(UNKNOWN, last, since)
            each.group = ""
        self.reasons, self.since = {}, since
        self.order, self.sentences = (), {}

    def ordered(self, event: WaitOrder) -> None:
        """Gangs wait in another order."""
        self.order = event.gangs
        named = ((each, event.gangs[n - 1 : n]) for each in event.reasons for n in each.places)
        self.sentences = {gang: each for each, found in named for gang in found}

    def leaves(self, gang: str) -> None:
        """A gang waits no more, or begins to wait anew."""
        if gang in self.order:
            self.order = tuple(each for each in self.order if each != gang)
            self.sentences.pop(gang, None)

    def grouped(self, event: WaitGroups, find: WaitOf) -> None:
        """Gangs belong to other groups."""
        for group, gangs in event.groups.items():
            kind = self.reasons.get(group, UNKNOWN) if group.isdigit() else group
            for each in filter(None, map(find, gangs)):
                each.group = group
                each.turn(kind, event.at, self.since)

    def changed(self, event: ReasonsChanged, waits: Iterable[DeliveredWait], find: WaitOf) -> None:
        """Groups have other reasons; each is named by one of its gangs."""
        news = dict[str, str]()
        for kind, gangs in event.reasons.items():
            known = filter(None, map(find, gangs))
            news |= {each.group: kind for each in known if each.group.isdigit()}
        for each in waits if news else ():
            if each.group in news:
                each.turn(news[each.group], event.at, self.since)
        self.reasons |= news
