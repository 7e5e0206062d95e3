"""Which queues took back from which, and why."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

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
from ganglion.model.causes import CauseKind
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


class ReclaimReader:
    """Reads who reclaimed from whom.

    Args:
        reader: of the ledger.
        live: workloads that live -> their queues, as they are now.
        sees: whether the caller may see a queue.
    """

    def __init__(
        self, reader: Reader, live: Mapping[str, str], sees: Callable[[str], bool]
    ) -> None:
        self._reader, self._live, self._sees = reader, live, sees

    def page(self, period: tuple[int, int], queues: frozenset[str] | None) -> ReclaimPage:
        """What was taken back in a period.

        Args:
            period: its begin and end, in ms.
            queues: leaf queues that gave or took; None = all.

        Raises:
            EnvironmentFault: the database does not answer.
        """
        found = reclaims(self._reader, period, MOST)
        return ReclaimPage(
            *period, self._known_since(period[0]), self._rows(found, queues), found.cut
        )

    def _known_since(self, since: int) -> int | None:
        """When the events begin, where that is after a time; None = all since then are there."""
        base = self._reader.base()
        first = self._reader.events(base.seq, 1) if base else ()
        return first[0].at if first and first[0].at > since else None

    def _rows(self, found: ReclaimsFound, queues: frozenset[str] | None) -> tuple[ReclaimView, ...]:
        known = self._queues(found.items)
        rows: dict[tuple[str, str, CauseKind], list[tuple[Reclaim, bool, bool]]] = {}
        for each in found.items:
            taker, giver = known.get(each.asker, ""), known.get(each.gang, "")
            if queues is not None and not {taker, giver} & queues:
                continue
            takes, gives = (bool(name) and self._sees(name) for name in (taker, giver))
            if takes or gives:
                key = (taker if takes else "", giver if gives else "", each.cause)
                rows.setdefault(key, []).append((each, takes, gives))
        shown = [each for stops in rows.values() for each, *_ in stops]
        held = held_before(self._reader, shown)
        made = [_row(key, stops, held) for key, stops in rows.items()]
        return tuple(sorted(made, key=lambda row: (-row.last_at, row.taker, row.giver)))

    def _queues(self, stops: tuple[Reclaim, ...]) -> dict[str, str]:
        """Gang -> its queue."""
        gangs = {each: workload_of(each) for stop in stops for each in (stop.gang, stop.asker)}
        missing = sorted({each for each in gangs.values() if each not in self._live})
        ended = queues_of_ended(self._reader, missing)
        return {gang: self._live.get(name) or ended.get(name, "") for gang, name in gangs.items()}


def live_queues(mind: Mind) -> dict[str, str]:
    """Workloads that live -> their queues."""
    return {key: each.workload.queue for key, each in mind.book.entries.items()}


def _row(
    key: tuple[str, str, CauseKind],
    stops: list[tuple[Reclaim, bool, bool]],
    held: Mapping[Reclaim, int],
) -> ReclaimView:
    taker, giver, cause = key
    gave = [_gave(each, held) for each, *_ in stops]
    last = tuple(
        ReclaimedAttempt(
            each.at,
            workload_of(each.gang) if gives else "",
            workload_of(each.asker) if takes else "",
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
