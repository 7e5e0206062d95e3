"""Waits that are long: what waits whole, for how long, and of which of it there was no notice."""

from collections.abc import Callable, Iterator, Mapping, Sequence
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

Wishes = Callable[[str, Notify | None], tuple[Notify, ...]]
"""User of a workload, and what its file says -> what is sent for it."""
Sight = Callable[[str, str], bool]
"""User and queue -> whether the user may see the work of the queue."""


WaitsOf = Callable[[int, Wishes], "list[SeenWait]"]
"""Time in ms, and wishes -> what waits whole, of users who wish for notices of that."""


class SeenWait(Struct, frozen=True):
    """A workload of which nothing runs, and that waits.

    Attributes:
        id: of the workload.
        since, at: begin of the wait, and until when it was looked at, in ms by one clock.
        waited_ms: how long it has waited, without the time that its user chose.
        facts: what a notice says of it.
        wishes: for notices of long waits.
    """

    id: str
    since: int
    at: int
    waited_ms: int
    facts: dict[str, str]
    wishes: tuple[Notify, ...]


class NotedWait(Struct, frozen=True):
    """A wait of which there was a notice.

    Attributes:
        at: until when that had been looked at, in ms.
        waited_ms: how long it had lasted.
    """

    at: int
    waited_ms: int


def newly_long(
    seen: Sequence[SeenWait], noted: Mapping[str, NotedWait]
) -> tuple[dict[str, NotedWait], list[tuple[SeenWait, tuple[Notify, ...]]]]:
    """Choose the waits that are longer by now than a wish says, each once for every wish.

    Args:
        seen: all that waits, of users who wish for notices.
        noted: workload -> the newest notice of its waits.

    Returns:
        `noted` as it is after the notices, without what waits no more; and the notices.
    """
    after, news = dict[str, NotedWait](), list[tuple[SeenWait, tuple[Notify, ...]]]()
    for wait in seen:
        before = noted.get(wait.id)
        # A notice from before the begin of this wait was about another one.
        told = before.waited_ms if before and before.at >= wait.since else -1
        due = tuple(each for each in wait.wishes if told < each.waiting_ms <= wait.waited_ms)
        if due:
            news.append((wait, due))
            after[wait.id] = NotedWait(wait.at, wait.waited_ms)
        elif before:
            after[wait.id] = before
    return after, news


def waiting_now(
    read: Callable[[], AbstractContextManager[Mind]], sees: Sight, now: int, wishes: Wishes
) -> list[SeenWait]:
    """Return what waits whole, of users who wish for notices of long waits.

    Args:
        read: lends state and book.
        sees: decides about work in clusters, whose schedulers name its users.
        now: time in ms.
        wishes: for notices.

    Raises:
        EnvironmentFault: the state cannot be read.
    """
    with read() as mind:
        return [*_here(mind, now, wishes), *_away(mind, wishes, sees)]


def _here(mind: Mind, now: int, wishes: Wishes) -> Iterator[SeenWait]:
    for entry in mind.book.entries.values():
        its = entry.workload
        if found := _of_waits(wishes(its.user, its.notify)):
            yield from _whole(mind, entry, now, found)


def _of_waits(wishes: tuple[Notify, ...]) -> tuple[Notify, ...]:
    return tuple(each for each in wishes if behaviour.WAITING in each.on)


def _whole(
    mind: Mind, entry: LiveWorkload, now: int, wishes: tuple[Notify, ...]
) -> Iterator[SeenWait]:
    """The wait of a workload of which no gang has pods."""
    records = [mind.state.gangs.records[gang] for gang in mind.book.gangs[entry.id]]
    live = [each for each in records if each.phase is not Phase.ENDED]
    waiting = [each for each in live if not _sleeps(each)]
    if not waiting or any(each.phase not in WAITING for each in live):
        return
    first = min(waiting, key=lambda each: (each.waits_since, each.number))
    ended = max((each.ended_at for each in records), default=0)
    since = max(first.waits_since, ended)
    parts = mind.book.waits.parts(first.gang.id, now)
    waited = min(_counted(parts, first.attempt + 1), max(now - since, 0))
    reason = reason_of(mind.state, first.gang.id)
    its = entry.workload
    facts = _facts((entry.id, its.name, first.gang.id, first.gang.queue, its.user), waited)
    said = {"REASON": str(reason.token), "MESSAGE": reason.message} if reason else {}
    yield SeenWait(entry.id, since, now, waited, facts | said, wishes)


def _sleeps(record: GangRecord) -> bool:
    """Whether it is a replica on standby, whose GPUs others use."""
    return bool(record.gang.recall_ms) and record.phase is Phase.PENDING


def _counted(parts: Sequence[WaitSum], attempt: int) -> int:
    return sum(e.total_ms for e in parts if e.attempt == attempt and e.kind not in OWN_CHOICE)


def _away(mind: Mind, wishes: Wishes, sees: Sight) -> Iterator[SeenWait]:
    seen = cache(sees)  # of one user thousands of gangs may wait
    for cluster, found in mind.book.clusters.live():
        clock = None if found.holds else found.wait.clock
        wanted = _of_waits(wishes(found.gang.user, None)) if clock else ()
        if clock is None or not wanted:
            continue
        key, queue = live_id(cluster, found), place_of(cluster, found.gang.queue)
        if not seen(found.gang.user, queue):
            wanted = _of_waits(wishes("", None))  # a namespace that is called as a user is
        waits, attempt = mind.book.clusters.of[cluster].waits, found.wait.attempt
        said = waits.said
        parts = found.wait.parts(said)  # of a scheduler that is silent no wait becomes longer
        since = said - sum(each.total_ms for each in parts if each.attempt == attempt)
        waited = _counted(parts, attempt)
        facts = _facts((key, found.own_name, found.gang.id, queue, found.gang.user), waited)
        kind = "" if clock.kind == UNKNOWN else clock.kind
        sentence = waits.sentences.get(found.gang.id)
        # It names and counts work of all queues.
        tells = sentence and sentence.token == kind and seen(found.gang.user, place_of(cluster))
        facts |= {"REASON": kind, "MESSAGE": sentence.message if sentence and tells else kind}
        yield SeenWait(key, since, said, waited, facts, wanted)


def _facts(named: tuple[str, str, str, str, str], waited: int) -> dict[str, str]:
    names = ("JOB_ID", "NAME", "GANG", "QUEUE", "USER")
    spent = print_duration(waited // SECOND * SECOND)
    rest = {"STATE": "QUEUED", "EXIT_CODE": "", "WAITED": spent, "REASON": "", "MESSAGE": ""}
    return dict(zip(names, named, strict=True)) | rest
