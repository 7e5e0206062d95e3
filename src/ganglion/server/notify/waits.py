"""Waits that are long: what waits whole, for how long, and of which of it there was no notice."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cache

from msgspec import Struct

from ganglion.engine.gangs.record import WAITING, GangRecord
from ganglion.lifecycle.clusters import live_id, place_of
from ganglion.lifecycle.waiting.reserved import reason_of
from ganglion.lifecycle.waiting.sums import UNKNOWN, WaitSum
from ganglion.model import behaviour
from ganglion.model.behaviour import Notify
from ganglion.model.plan import Phase
from ganglion.model.reasons import Token
from ganglion.server.state.registry import LiveWorkload
from ganglion.server.state.transaction import Mind
from ganglion.specs.grammar.times.durations import SECOND, print_duration

OWN_CHOICE = (Token.HELD, Token.DEPENDENCY)
"""Kinds of waits that users chose: time in these is not counted."""
AT_ONCE = 256
"""Workloads that are looked at before the state is free again."""

Wishes = Callable[[str, Notify | None], tuple[Notify, ...]]
"""User of a workload, and what its file says -> what is sent for it."""
Sight = Callable[[str, str], bool]
"""User and queue -> whether the user may see the work of the queue."""
Noted = Mapping[str, "NotedWait"]
"""Workload -> the newest notice of its waits."""
WaitsOf = Callable[[int, Wishes, Noted], "Iterable[Sequence[WaitLook]]"]
"""Time in ms, wishes, and notices so far -> what waits, in parts."""


class NotedWait(Struct, frozen=True):
    """A wait of which there was a notice.

    Attributes:
        at: until when that had been looked at, in ms.
        waited_ms: how long it had lasted.
    """

    at: int
    waited_ms: int


class WaitLook(Struct, frozen=True):
    """A workload of which nothing runs, and that waits.

    Attributes:
        id: of the workload.
        noted: the newest notice of its waits, with those that are due now.
        due: wishes that the wait is as long as by now, and that got no notice of it.
        facts: what a notice says of it; empty = none is due.
    """

    id: str
    noted: NotedWait
    due: tuple[Notify, ...] = ()
    facts: dict[str, str] = {}


def open_wishes(
    wishes: Sequence[Notify], before: NotedWait | None, since: int, most_ms: int
) -> tuple[Notify, ...]:
    """Choose the wishes that a wait is as long as, and that got no notice of it.

    Args:
        wishes: for notices of long waits.
        before: the newest notice of waits of the workload; None = there was none.
        since: begin of the wait, in ms.
        most_ms: how long it is, or is at most.
    """
    # A notice from before the begin of this wait was about another one.
    told = before.waited_ms if before and before.at >= since else -1
    return tuple(each for each in wishes if told < each.waiting_ms <= most_ms)


def waiting_now(
    read: Callable[[], AbstractContextManager[Mind]],
    sees: Sight,
    now: int,
    wishes: Wishes,
    noted: Noted,
) -> Iterator[list[WaitLook]]:
    """Look once at each live workload, in parts; between two parts the state is free.

    Args:
        read: lends state and book.
        sees: decides about work in clusters, whose schedulers name its users.
        now: time in ms.
        wishes: for notices.
        noted: notices so far.

    Yields:
        Of each part what waits whole and has a notice, or gets one now. What is in no part waits
        no more, or has no notice and needs none.

    Raises:
        EnvironmentFault: the state cannot be read.
    """
    with read() as mind:
        here = tuple(mind.book.entries)
        away = {cluster: tuple(book.gangs) for cluster, book in mind.book.clusters.of.items()}
    look = _Look(now, wishes, noted, sees)
    for part in _parts(here):
        with read() as mind:
            found = [look.here(mind, mind.book.entries.get(each)) for each in part]
        yield [each for each in found if each]
    for cluster, gangs in away.items():
        for part in _parts(gangs):
            with read() as mind:
                found = [look.away(mind, cluster, each) for each in part]
            yield [each for each in found if each]


def _parts(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    return (ids[begin : begin + AT_ONCE] for begin in range(0, len(ids), AT_ONCE))


class _Look:
    """One look at all that waits."""

    def __init__(self, now: int, wishes: Wishes, noted: Noted, sees: Sight) -> None:
        self._now, self._wishes, self._noted = now, wishes, noted
        self._usual = cache(lambda user: self._of_waits(user, None))
        self._sees = cache(sees)  # of one user thousands of gangs may wait

    def here(self, mind: Mind, entry: LiveWorkload | None) -> WaitLook | None:
        """A workload of this server, of which no gang has pods."""
        if entry is None:
            return None
        its = entry.workload
        wishes = self._of_waits(its.user, its.notify) if its.notify else self._usual(its.user)
        begun = _whole(mind, entry.id) if wishes else None
        if begun is None:
            return None
        first, since = begun
        # Only what might need a notice is added up.
        passed, before = max(self._now - since, 0), self._noted.get(entry.id)
        due = open_wishes(wishes, before, since, passed)
        if due:
            parts = mind.book.waits.parts(first.gang.id, self._now)
            waited = min(_counted(parts, first.attempt + 1), passed)
            due = open_wishes(due, before, since, waited)
        if not due:
            return WaitLook(entry.id, before) if before else None
        reason = reason_of(mind.state, first.gang.id)
        facts = _facts((entry.id, its.name, first.gang.id, first.gang.queue, its.user), waited)
        said = {"REASON": str(reason.token), "MESSAGE": reason.message} if reason else {}
        return WaitLook(entry.id, NotedWait(self._now, waited), due, facts | said)

    def away(self, mind: Mind, cluster: str, gang: str) -> WaitLook | None:
        """A gang of a cluster that waits."""
        book = mind.book.clusters.of.get(cluster)
        found = book.gangs.get(gang) if book else None
        clock = found.wait.clock if found and not found.holds else None
        if book is None or found is None or clock is None:
            return None
        user, queue = found.gang.user, place_of(cluster, found.gang.queue)
        wishes = self._usual(user)
        if wishes and not self._sees(user, queue):
            wishes = self._usual("")  # a namespace that is called as a user is
        if not wishes:
            return None
        said, key = book.waits.said, live_id(cluster, found)
        parts = found.wait.parts(said)  # of a scheduler that is silent no wait becomes longer
        since = said - sum(each.total_ms for each in parts if each.attempt == found.wait.attempt)
        waited, before = _counted(parts, found.wait.attempt), self._noted.get(key)
        due = open_wishes(wishes, before, since, waited)
        if not due:
            return WaitLook(key, before) if before else None
        facts = _facts((key, found.own_name, found.gang.id, queue, user), waited)
        kind = "" if clock.kind == UNKNOWN else clock.kind
        sentence = book.waits.sentences.get(found.gang.id)
        # It names and counts work of all queues.
        tells = sentence and sentence.token == kind and self._sees(user, place_of(cluster))
        facts |= {"REASON": kind, "MESSAGE": sentence.message if sentence and tells else kind}
        return WaitLook(key, NotedWait(said, waited), due, facts)

    def _of_waits(self, user: str, own: Notify | None) -> tuple[Notify, ...]:
        found = self._wishes(user, own)
        return tuple(each for each in found if behaviour.WAITING in each.on)


def _whole(mind: Mind, workload: str) -> tuple[GangRecord, int] | None:
    """The first gang that waits of a workload without pods, and since when in ms; None = none."""
    first, ended = None, 0
    for gang in mind.book.gangs[workload]:
        record = mind.state.gangs.records[gang]
        ended = max(ended, record.ended_at)
        if record.phase is Phase.ENDED:
            continue
        if record.phase not in WAITING:
            return None
        if not _sleeps(record) and (
            first is None or (record.waits_since, record.number) < (first.waits_since, first.number)
        ):
            first = record
    return (first, max(first.waits_since, ended)) if first else None


def _sleeps(record: GangRecord) -> bool:
    """Whether it is a replica on standby, whose GPUs others use."""
    return bool(record.gang.recall_ms) and record.phase is Phase.PENDING


def _counted(parts: Sequence[WaitSum], attempt: int) -> int:
    return sum(e.total_ms for e in parts if e.attempt == attempt and e.kind not in OWN_CHOICE)


def _facts(named: tuple[str, str, str, str, str], waited: int) -> dict[str, str]:
    names = ("JOB_ID", "NAME", "GANG", "QUEUE", "USER")
    spent = print_duration(waited // SECOND * SECOND)
    rest = {"STATE": "QUEUED", "EXIT_CODE": "", "WAITED": spent, "REASON": "", "MESSAGE": ""}
    return dict(zip(names, named, strict=True)) | rest
