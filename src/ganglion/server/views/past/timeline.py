"""Who held, holds and will hold nodes, over the times of a timeline."""

from collections.abc import Collection, Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from ganglion.api.past.timeline import AttemptPage, TimelinePage, TimelineSpan
from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.timeline.free_at import by_node, devices_of
from ganglion.engine.timeline.reservation import FOREVER
from ganglion.ledger.ledger import Ledger
from ganglion.ledger.metering import usage_between, usage_of
from ganglion.metering.intervals import UsageInterval, devices_in
from ganglion.model.placement import Placement, PodPlacement
from ganglion.server.state.transaction import Mind

MOST = 5_000
"""Most intervals of the past that are read."""


class TimelinePresent(Struct, frozen=True):
    """What is open and planned at one moment, between two turns.

    Attributes:
        held: what attempts hold now, as spans.
        planned: promised places and reservations.
        closed: what was held and is not in the ledger yet.
        cycle: the last cycle that is written.
        since: when metering began, in ms; None = it has not.
    """

    held: tuple[TimelineSpan, ...]
    planned: tuple[TimelineSpan, ...]
    closed: tuple[UsageInterval, ...]
    cycle: int
    since: int | None


def timeline_present(
    mind: Mind, ledger: Ledger, now: int, gangs: Collection[str] | None = None
) -> TimelinePresent:
    """Note what is open and planned, so that reading the past need not hold the state still.

    Args:
        mind: the state.
        ledger: where what is closed lies.
        now: the time in ms.
        gangs: what these hold counts, by their names in usage, and nothing that is planned; None =
            all of it.
    """
    meter, state = mind.book.meter, mind.state
    held, closed = list[TimelineSpan](), list[UsageInterval]()
    for each in meter.open_usage(now, gangs):
        record = state.gangs.records.get(each.gang)
        if record and record.attempt == each.attempt and record.placement:
            held.append(_open(each, record, record.placement))
        else:
            closed.append(each)
    for each in mind.book.cluster_meters.open_usage(now, gangs):
        span = _span(each, None)
        span.open = True
        held.append(span)
    return TimelinePresent(
        tuple(held),
        tuple(_planned(mind, now)) if gangs is None else (),
        tuple(closed),
        ledger.cycle,
        mind.book.metered_since(),
    )


def timeline(ledger: Ledger, found: TimelinePresent, since: int, until: int) -> TimelinePage:
    """What was held in a period, what is held, and what is planned; the newest first.

    Raises:
        EnvironmentFault: the database does not answer.
    """
    rows = usage_between(ledger, (since, until), found.cycle, MOST + 1)
    past = [each for each in _past(rows[:MOST], found) if each.begin < until]
    items = sorted([*past, *found.planned], key=lambda each: (-each.begin, each.node, each.gang))
    return TimelinePage(since, until, found.since, tuple(items), len(rows) > MOST)


def attempts(ledger: Ledger, found: TimelinePresent, workload: str) -> AttemptPage:
    """What a workload held and holds, the first first.

    Raises:
        EnvironmentFault: the database does not answer.
    """
    rows = usage_of(ledger, workload, found.cycle, MOST + 1)
    items = sorted(_past(rows[:MOST], found), key=lambda each: (each.begin, each.gang, each.node))
    return AttemptPage(found.since, tuple(items), len(rows) > MOST)


def _past(rows: Iterable[UsageInterval], found: TimelinePresent) -> list[TimelineSpan]:
    """What was held by closed intervals, and what is held."""
    begun = {(each.gang, each.attempt, each.node): each for each in found.held}
    past = list[TimelineSpan]()
    for each in _joined([*rows, *found.closed]):
        now = begun.get((each.gang, each.attempt, each.node))
        if now and now.begin == each.end_ms and now.milli == each.held_milli:
            now.begin = each.begin_ms  # midnight of UTC lay between them
        else:
            past.append(_span(each, each.end_ms))
    return [*past, *found.held]


def _open(interval: UsageInterval, record: GangRecord, place: Placement) -> TimelineSpan:
    pods = [pod for pod in (*place.pods, *record.leaving) if pod.node == interval.node]
    limit = record.gang.time_limit_ms
    start = record.started or record.placed_at
    span = _span(interval, start + limit if limit and start else None)
    span.open, span.devices = True, _devices(pods)
    return span


def _planned(mind: Mind, now: int) -> Iterator[TimelineSpan]:
    """Promised places and reservations; what is promised begins now at the earliest."""
    for record in mind.state.gangs.records.values():
        if record.promise:
            limit = record.gang.time_limit_ms
            end = now + limit if limit else None
            yield from _ahead("promise", record, record.promise, now, end, guess=True)
    for each in mind.state.timeline.future.reservations():
        end = None if each.end_ms >= FOREVER else each.end_ms
        yield from _ahead(
            "reservation", each.record, each.placement, each.start_ms, end, guess=each.drains
        )


def _ahead(
    kind: str, record: GangRecord, place: Placement, begin: int, end: int | None, *, guess: bool
) -> Iterator[TimelineSpan]:
    gang = record.gang
    for node, pods in by_node(place).items():
        yield TimelineSpan(
            *(kind, node, gang.id, gang.workload, gang.user, gang.queue, 0, begin, end),
            milli=sum(pod.milli * len(pod.devices) for pod in pods),
            devices=_devices(pods),
            guess=guess,
        )


def _devices(pods: Iterable[PodPlacement]) -> tuple[int, ...]:
    return tuple(sorted(set(devices_of(pods))))


def _span(each: UsageInterval, end: int | None) -> TimelineSpan:
    return TimelineSpan(
        *("run", each.node, each.gang, each.workload, each.user, each.queue),
        *(each.attempt, each.begin_ms, end),
        milli=each.held_milli,
        devices=devices_in(each.devices),
        ahead_of=each.ahead_of,
    )


def _joined(rows: Iterable[UsageInterval]) -> Iterator[UsageInterval]:
    """Intervals of one attempt on one node that touch and hold the same, as one."""
    last: UsageInterval | None = None
    for each in sorted(rows, key=lambda row: (row.gang, row.attempt, row.node, row.begin_ms)):
        if last and _follows(last, each):
            last = replace(last, end_ms=each.end_ms, devices=each.devices or last.devices)
            continue
        if last:
            yield last
        last = each
    if last:
        yield last


def _follows(last: UsageInterval, each: UsageInterval) -> bool:
    same = (last.gang, last.attempt, last.node, last.held_milli, last.end_ms)
    return same == (each.gang, each.attempt, each.node, each.held_milli, each.begin_ms)
