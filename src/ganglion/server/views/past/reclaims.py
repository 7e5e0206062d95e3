"""Which queues took back from which, and why."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from msgspec import Struct

from ganglion.api.queues import ReclaimedAttempt, ReclaimPage, ReclaimView
from ganglion.ledger.reader import Reader
from ganglion.ledger.sql.stops import (
    Reclaim,
    ReclaimsFound,
    held_before,
    queues_of_ended,
    reclaims,
    workload_of,
)
from ganglion.lifecycle.clusters import ClusterBook, live_id, place_of
from ganglion.lifecycle.past.cluster_reclaims import ClusterReclaim, ClusterReclaims
from ganglion.metering.clusters import metered_name
from ganglion.metering.intervals import UsageInterval
from ganglion.model.causes import CauseKind
from ganglion.model.queue import CLUSTER_SIGN
from ganglion.server.state.transaction import Mind

MOST = 20_000
"""Most stops that are looked at."""
SHOWN = 5
"""Last attempts of each line."""
WHY: Mapping[CauseKind, str] = MappingProxyType(
    {
        CauseKind.RECLAIMED: "the giver used more than it is entitled to",
        CauseKind.RECLAIMED_BORROWING: "the giver used more than it is entitled to; the taker"
        " goes beyond its own quota",
        CauseKind.SHARED: "the share of the giver was larger than that of the taker",
    }
)


class _Yielded(NamedTuple):
    """An attempt that yielded to another queue.

    Attributes:
        stop: the attempt.
        taker, giver: the queues; empty = unknown.
        before: thousandths of GPUs that it held, where a scheduler said so.
    """

    stop: Reclaim
    taker: str
    giver: str
    before: int | None = None


class ReclaimReader:
    """Reads who reclaimed from whom.

    Args:
        reader: of the ledger.
        present: what lives and is held, noted before the ledger is read.
        sees: whether the caller may see a queue.
    """

    def __init__(
        self, reader: Reader, present: "ReclaimsPresent", sees: Callable[[str], bool]
    ) -> None:
        self._reader, self._present, self._sees = reader, present, sees

    def page(self, period: tuple[int, int], queues: frozenset[str] | None) -> ReclaimPage:
        """What was taken back in a period.

        Args:
            period: its begin and end, in ms.
            queues: leaf queues that gave or took; None = all.

        Raises:
            EnvironmentFault: the database does not answer.
        """
        found = reclaims(self._reader, period, MOST)
        away = [each for each in self._present.away if self._concerns(each, queues)]
        begins = [self._events_begin(), *(each.since for each in away)]
        return ReclaimPage(
            *period,
            max((each for each in begins if each > period[0]), default=None),
            self._rows([*self._own(found), *_delivered(away, period)], queues),
            found.cut or any(each.dropped >= period[0] for each in away),
        )

    def _events_begin(self) -> int:
        """Time of the first event that is there, where others have left the ledger; else 0."""
        base = self._reader.base()
        first = self._reader.events(base.seq, 1) if base else ()
        return first[0].at if first else 0

    def _concerns(self, away: "ReclaimsAway", queues: frozenset[str] | None) -> bool:
        """Whether a cluster has queues that are asked for, and that the caller sees."""
        asked = (each for each in away.queues if queues is None or each in queues)
        return any(map(self._sees, asked))

    def _own(self, found: ReclaimsFound) -> Iterator[_Yielded]:
        known = self._queues(found.items)
        for each in found.items:
            yield _Yielded(each, known.get(each.asker, ""), known.get(each.gang, ""))

    def _rows(
        self, found: Iterable[_Yielded], queues: frozenset[str] | None
    ) -> tuple[ReclaimView, ...]:
        rows: dict[tuple[str, str, CauseKind], list[tuple[_Yielded, bool, bool]]] = {}
        for each in found:
            if queues is not None and not {each.taker, each.giver} & queues:
                continue
            takes, gives = (bool(e) and self._sees(e) for e in (each.taker, each.giver))
            if takes or gives:
                key = (each.taker if takes else "", each.giver if gives else "", each.stop.cause)
                rows.setdefault(key, []).append((each, takes, gives))
        shown = [each for stops in rows.values() for each, *_ in stops]
        own = [each.stop for each in shown if each.before is None and not _is_away(each.stop.gang)]
        held = held_before(self._reader, own, self._present.still)
        held |= {each.stop: each.before for each in shown if each.before is not None}
        last = [each.stop for stops in rows.values() for each, *_ in stops[:SHOWN]]
        names = self._names({name for each in last for name in (each.gang, each.asker)})
        made = [_row(key, stops, held, names) for key, stops in rows.items()]
        return tuple(sorted(made, key=lambda row: (-row.last_at, row.taker, row.giver)))

    def _names(self, gangs: Collection[str]) -> dict[str, str]:
        """Gang -> id of its workload; of a cluster, as it is called now."""
        live, away = self._present.live, {each for each in gangs if _is_away(each)}
        filed = self._reader.history.metered_as(away - live.keys())
        found = {each: filed[each].id if each in filed else live.get(each, each) for each in away}
        return found | {each: workload_of(each) for each in gangs if not _is_away(each)}

    def _queues(self, stops: tuple[Reclaim, ...]) -> dict[str, str]:
        """Gang -> its queue."""
        gangs = {each: workload_of(each) for stop in stops for each in (stop.gang, stop.asker)}
        missing = sorted({each for each in gangs.values() if each not in self._present.queues})
        ended = queues_of_ended(self._reader, missing)
        return {
            gang: self._present.queues.get(name) or ended.get(name, "")
            for gang, name in gangs.items()
        }


class ReclaimsAway(Struct, frozen=True):
    """What was taken back in one cluster.

    Attributes:
        cluster: its name.
        queues: all of it, as rights name them.
        since: since when it is known, in ms; 0 = since the cluster delivers.
        dropped: time of the newest that is known no more, in ms; 0 = all are.
        items: the newest first.
    """

    cluster: str
    queues: tuple[str, ...]
    since: int
    dropped: int
    items: tuple[ClusterReclaim, ...]


class ReclaimsPresent(Struct, frozen=True):
    """What a reader of reclaims needs of one moment.

    Attributes:
        queues: workloads that live -> their queues.
        still: what attempts hold, as if it ended now.
        away: the same of clusters, each for itself.
        live: gangs of clusters in them, as usage names them -> their ids, as long as they live.
    """

    queues: Mapping[str, str]
    still: tuple[UsageInterval, ...]
    away: tuple[ReclaimsAway, ...] = ()
    live: Mapping[str, str] = {}


def reclaims_present(mind: Mind, now: int) -> ReclaimsPresent:
    """Note what lives and is held, so that reading the past need not hold the state still."""
    queues = {key: each.workload.queue for key, each in mind.book.entries.items()}
    books = mind.book.clusters
    away = tuple(_away(name, book) for name, book in books.of.items())
    gangs = {
        metered_name(each.cluster, gang)
        for each in away
        for stop in each.items
        for gang in (stop.gang, stop.asker)
    }
    live = {each: live_id(*found) for each in gangs if (found := books.keyed(each))}
    return ReclaimsPresent(queues, tuple(mind.book.meter.open_usage(now)), away, live)


def _away(cluster: str, book: ClusterBook) -> ReclaimsAway:
    known = book.reclaims or ClusterReclaims()
    queues = tuple(place_of(cluster, each) for each in ("", *book.parents))
    return ReclaimsAway(cluster, queues, known.since, known.dropped, tuple(reversed(known.items)))


def _delivered(away: Iterable[ReclaimsAway], period: tuple[int, int]) -> Iterator[_Yielded]:
    begin, end = period
    for cluster in away:
        for each in cluster.items:
            if begin <= each.at <= end:
                gang, asker = (metered_name(cluster.cluster, e) for e in (each.gang, each.asker))
                stop = Reclaim(each.at, each.cause, gang, each.attempt, asker, each.kept_milli)
                taker = each.taker and place_of(cluster.cluster, each.taker)
                giver = place_of(cluster.cluster, each.giver)
                gave = each.gave_milli
                before = None if gave is None else gave + each.kept_milli
                yield _Yielded(stop, taker, giver, before)


def _is_away(gang: str) -> bool:
    return CLUSTER_SIGN in gang


def _row(
    key: tuple[str, str, CauseKind],
    found: list[tuple[_Yielded, bool, bool]],
    held: Mapping[Reclaim, int],
    names: Mapping[str, str],
) -> ReclaimView:
    taker, giver, cause = key
    stops = [(each.stop, takes, gives) for each, takes, gives in found]
    gave = [_gave(each, held) for each, *_ in stops]
    last = tuple(
        ReclaimedAttempt(
            each.at,
            names[each.gang] if gives else "",
            names[each.asker] if takes else "",
            milli,
        )
        for (each, takes, gives), milli in zip(stops[:SHOWN], gave, strict=False)
    )
    return ReclaimView(
        *(taker, giver, cause, WHY[cause], len(stops)),
        gpu_milli=sum(each for each in gave if each is not None),
        unknown=gave.count(None),
        last_at=stops[0][0].at,
        last=last,
    )


def _gave(stop: Reclaim, held: Mapping[Reclaim, int]) -> int | None:
    before = held.get(stop)
    return None if before is None else max(0, before - stop.kept_milli)
