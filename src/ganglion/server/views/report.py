"""The three metrics over a period: what is written, what is open, and what is measured now."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from msgspec import Struct

from ganglion.api.use import (
    GangUse,
    OverheadRow,
    Report,
    ReportSpan,
    UtilisationRow,
    WaitRow,
)
from ganglion.engine.gangs.record import WAITING
from ganglion.ledger.ledger import Ledger
from ganglion.ledger.metering import UsageWanted, activity_sums, supply_held, usage_sums
from ganglion.ledger.sql.waits import WaitCount, last_workload, wait_counts
from ganglion.lifecycle.cluster_gangs import asked_milli
from ganglion.lifecycle.clusters import live_id, place_of
from ganglion.metering.clusters import ClusterMeter
from ganglion.metering.intervals import DAY_MS, UsageInterval
from ganglion.metering.sums import (
    ActivitySum,
    Group,
    LostSum,
    UsageBy,
    UsageSum,
    add_activity,
    add_usage,
    date_of,
    day_of,
    overlap_ms,
)
from ganglion.metering.waits import percentile_ms, size_of, span_of, step_of
from ganglion.model.resources import WHOLE
from ganglion.server.state.transaction import Mind
from ganglion.server.views.past.losses import Losses, losses
from ganglion.server.views.usage import OpenIntervals, with_activity, with_losses
from ganglion.server.views.workloads import gpus_of

WEEKLY_MS = 62 * DAY_MS
"""Periods that are longer are shown by week."""


class WaitingWorkload(Struct, frozen=True):
    """A workload that waits for its first place: its queue, size class, and since when, in ms."""

    queue: str
    size: str
    since: int


class OpenWaits(Struct, frozen=True):
    """What the state says of waits at one moment.

    Attributes:
        waiting: what waits for its first place.
        submitted: first gang of a workload that runs -> when it was submitted, in ms.
        placed: waits of live gangs of clusters, each with when it got its first place, in ms.
        last: number of the newest workload that is written.
    """

    waiting: tuple[WaitingWorkload, ...]
    submitted: Mapping[str, int]
    placed: tuple[tuple[int, WaitCount], ...] = ()
    last: int = 0


def open_waits(mind: Mind, ledger: Ledger) -> OpenWaits:
    """Note who waits, so that summing up need not hold the state still."""
    waiting: list[WaitingWorkload] = []
    placed: list[tuple[int, WaitCount]] = []
    submitted: dict[str, int] = {}
    for record in mind.state.gangs.records.values():
        gang = record.gang
        if not gang.id.endswith("/0"):
            continue
        if record.phase in WAITING and not record.attempt:
            milli = round(gpus_of(mind.state, record) * 1000)
            waiting.append(WaitingWorkload(gang.queue, size_of(milli), gang.submitted))
        elif record.attempt == 1:
            submitted[gang.id] = gang.submitted
    for cluster, each in mind.book.clusters.live():
        gang, queue = each.gang, place_of(cluster, each.gang.queue)
        if each.first:
            step, size = step_of(each.first - gang.submitted), size_of(each.first_milli)
            placed.append((each.first, WaitCount(each.first // DAY_MS, queue, size, step, 1)))
        elif not each.attempts:
            waiting.append(WaitingWorkload(queue, size_of(asked_milli(gang)), gang.submitted))
    return OpenWaits(tuple(waiting), submitted, tuple(placed), last_workload(ledger))


def cluster_uses(mind: Mind) -> list[GangUse]:
    """What gangs of clusters hold by what was delivered; how busy it is, is unknown."""
    meters = mind.book.cluster_meters.of
    return [
        GangUse(
            *(live_id(cluster, each), live_id(cluster, each), each.gang.user),
            queue=place_of(cluster, each.gang.queue),
            phase=each.phase,
            gpus=sum(meters.get(cluster, ClusterMeter()).held(each.placement).values()) / WHOLE,
        )
        for cluster, each in mind.book.clusters.live()
        if each.holds and each.placement
    ]


class SchedulerFigures(Struct, frozen=True):
    """What the server has measured since it started.

    Attributes:
        overhead: how long steps take.
        cpu_ms: CPU time spent; None = unknown.
    """

    overhead: tuple[OverheadRow, ...]
    cpu_ms: int | None


class ReportWanted(Struct, frozen=True):
    """What to report.

    Attributes:
        since, until: the period, in ms.
        queues: leaf queues; None = all.
        fleet: whether to add what there was, and what the server spends.
    """

    since: int
    until: int
    queues: Collection[str] | None
    fleet: bool


def report(
    ledger: Ledger,
    found: OpenIntervals,
    waits: OpenWaits,
    using: Sequence[GangUse],
    figures: SchedulerFigures,
    wanted: ReportWanted,
    now: int,
) -> Report:
    """Sum up a period.

    Args:
        ledger: with the closed intervals.
        found: the open ones.
        waits: what the state says of waits.
        using: what gangs use now.
        figures: of the server.
        wanted: the period and queues.
        now: the time in ms.

    Raises:
        EnvironmentFault: the database does not answer.
    """
    # Nothing is older than metering: there are no spans before it.
    since = max(wanted.since, found.since if found.since is not None else wanted.until)
    by = (UsageBy.QUEUE, UsageBy.DAY)
    asked = UsageWanted(by, since, wanted.until, found.cycle, wanted.queues)
    mine = [each for each in found.usage if _counts(each.queue, wanted.queues)]
    sums = usage_sums(ledger, asked)
    add_usage(sums, mine, by, since, wanted.until)
    done = activity_sums(ledger, asked)
    unwritten = [each for each in found.activity if _counts(each.queue, wanted.queues)]
    add_activity(done, unwritten, by, since, wanted.until)
    thrown = losses(ledger, asked, found.lost_after, done, unwritten)
    weekly = wanted.until - since > WEEKLY_MS
    capacity = _capacity(ledger, found, since, wanted.until) if wanted.fleet else None
    became, known = _by_span(thrown or {}, weekly=weekly), "unknown"
    if thrown is not None and found.lost_since is not None:
        known = date_of(span_of(found.lost_since // DAY_MS, weekly=weekly))
    first = list(_first_places(mine, waits, since, wanted.until))
    away = [
        each
        for at, each in waits.placed
        if since <= at < wanted.until and _counts(each.queue, wanted.queues)
    ]
    counts = [*wait_counts(ledger, asked, waits.last, weekly=weekly), *first, *away]
    waiting = [each for each in waits.waiting if _counts(each.queue, wanted.queues)]
    holders = [each for each in using if _counts(each.queue, wanted.queues)]
    return Report(
        since=wanted.since,
        until=wanted.until,
        metered_since=found.since,
        utilisation=tuple(
            _whole(each, done, thrown) for each in _utilisation(sums, capacity, holders)
        ),
        waits=tuple(_waits(counts, waiting, now)),
        overhead=figures.overhead if wanted.fleet else (),
        cpu_ms=figures.cpu_ms if wanted.fleet else None,
        spans=tuple(
            with_losses(each, became.get(each.begin, LostSum())) if each.begin >= known else each
            for each in _spans(sums, capacity, counts, (since, wanted.until), weekly=weekly)
        ),
        lost_since=found.lost_since,
    )


def _whole(
    row: UtilisationRow, done: Mapping[Group, ActivitySum], thrown: Losses | None
) -> UtilisationRow:
    """A row with what GPUs did, and what became of it."""
    found, lost = ActivitySum(), LostSum()
    for (name, _), each in done.items():
        if row.queue in ("", name):
            found.plus(each)
    for (name, _), one in (thrown or {}).items():
        if row.queue in ("", name):
            lost.plus(one)
    row = with_activity(row, found)
    return row if thrown is None else with_losses(row, lost)


def _by_span(thrown: Losses, *, weekly: bool) -> dict[str, LostSum]:
    """First date of a span -> what became of the work of all queues."""
    made: dict[str, LostSum] = {}
    for (_, date), each in thrown.items():
        begin = date_of(span_of(day_of(date), weekly=weekly))
        made.setdefault(begin, LostSum()).plus(each)
    return made


def _counts(queue: str, queues: Collection[str] | None) -> bool:
    return queues is None or queue in queues


def _capacity(ledger: Ledger, found: OpenIntervals, since: int, until: int) -> Counter[int]:
    """Day -> GPU-microseconds that there were."""
    made: Counter[int] = Counter()
    closed = supply_held(ledger, since, until, found.cycle)
    for each in (*closed, *found.supply):
        begin, end = max(each.begin_ms, since), min(each.end_ms, until)
        for day in range(begin // DAY_MS, -(-end // DAY_MS)):
            lasted = overlap_ms(each, max(since, day * DAY_MS), min(until, (day + 1) * DAY_MS))
            made[day] += each.gpu_milli * lasted
    return made


def _first_places(
    intervals: Iterable[UsageInterval], waits: OpenWaits, since: int, until: int
) -> Iterable[WaitCount]:
    """Waits of what still is where it was placed first."""
    placed: dict[str, list[UsageInterval]] = {}
    for each in intervals:
        if each.attempt == 1 and each.gang in waits.submitted:
            placed.setdefault(each.gang, []).append(each)
    for gang, parts in placed.items():
        begun = next((each.begin_ms for each in parts if each.begun), None)
        if begun is None or not since <= begun < until:
            continue
        milli = sum(each.requested_milli for each in parts if each.begin_ms == begun)
        step = step_of(begun - waits.submitted[gang])
        yield WaitCount(begun // DAY_MS, parts[0].queue, size_of(milli), step, 1)


def _utilisation(
    sums: Mapping[Group, UsageSum],
    capacity: Counter[int] | None,
    using: Sequence[GangUse],
) -> Iterable[UtilisationRow]:
    """All together, then by queue."""
    held: Counter[str] = Counter()
    for (queue, _), each in sums.items():
        held[queue] += each.held_gpu_us
    holders: dict[str, list[GangUse]] = {}
    for gang in using:
        holders.setdefault(gang.queue, []).append(gang)
    there = None if capacity is None else sum(capacity.values())
    yield _row("", sum(held.values()), there, using)
    for name in sorted({*held, *holders}):
        yield _row(name, held[name], None, holders.get(name, ()))


def _row(queue: str, held: int, there: int | None, using: Sequence[GangUse]) -> UtilisationRow:
    active: int | None = 0
    for gang in using:
        if gang.gpus and active is not None:
            busy = gang.gpu_busy_milli
            active = None if busy is None else active + round(gang.gpus * busy)
    now = round(sum(gang.gpus for gang in using) * 1000)
    return UtilisationRow(queue, held, there, now, active)


def _waits(
    counts: Iterable[WaitCount], waiting: Sequence[WaitingWorkload], now: int
) -> Iterable[WaitRow]:
    """All together, then each queue, as a whole and by size."""
    steps: dict[tuple[str, str], Counter[int]] = {("", ""): Counter()}
    ages: dict[tuple[str, str], list[int]] = {}
    for each in counts:
        for key in (("", ""), (each.queue, ""), (each.queue, each.size)):
            steps.setdefault(key, Counter())[each.step] += each.count
    for one in waiting:
        for key in (("", ""), (one.queue, ""), (one.queue, one.size)):
            ages.setdefault(key, []).append(max(now - one.since, 0))
    for key in sorted({*steps, *ages}, key=_by_size):
        found, since = steps.get(key, Counter()), ages.get(key, [])
        yield WaitRow(
            *key,
            started=found.total(),
            p50_ms=percentile_ms(found, 500),
            p95_ms=percentile_ms(found, 950),
            waiting=len(since),
            longest_ms=max(since, default=None),
        )


def _by_size(key: tuple[str, str]) -> tuple[str, int]:
    queue, size = key
    return queue, int(size.partition("-")[0].rstrip("+")) if size else -1


def _spans(
    sums: Mapping[Group, UsageSum],
    capacity: Counter[int] | None,
    counts: Iterable[WaitCount],
    period: tuple[int, int],
    *,
    weekly: bool,
) -> Iterable[ReportSpan]:
    """By day, in long periods by week; those in which nothing was held or placed as well."""
    since, until = period
    held: Counter[int] = Counter()
    there: Counter[int] = Counter()
    days = {date_of(day): day for day in range(since // DAY_MS, until // DAY_MS + 1)}
    for (_, date), each in sums.items():
        held[span_of(days[date], weekly=weekly)] += each.held_gpu_us
    for day, amount in (capacity or {}).items():
        there[span_of(day, weekly=weekly)] += amount
    steps: dict[int, Counter[int]] = {}
    for count in counts:
        steps.setdefault(span_of(count.day, weekly=weekly), Counter())[count.step] += count.count
    for span in dict.fromkeys(span_of(day, weekly=weekly) for day in days.values()):
        waits = steps.get(span, Counter())
        yield ReportSpan(
            date_of(span),
            held[span],
            None if capacity is None else there[span],
            waits.total(),
            percentile_ms(waits, 500),
            percentile_ms(waits, 950),
        )
