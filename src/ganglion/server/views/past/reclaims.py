"""Which queues took back from which, and why."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

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
from ganglion.metering.intervals import UsageInterval
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
        held = held_before(self._reader, shown, self._present.still)
        made = [_row(key, stops, held) for key, stops in rows.items()]
        return tuple(sorted(made, key=lambda row: (-row.last_at, row.taker, row.giver)))

    def _queues(self, stops: tuple[Reclaim, ...]) -> dict[str, str]:
        """Gang -> its queue."""
        gangs = {each: workload_of(each) for stop in stops for each in (stop.gang, stop.asker)}
        missing = sorted({each for each in gangs.values() if each not in self._present.queues})
        ended = queues_of_ended(self._reader, missing)
        return {
            gang: self._present.queues.get(name) or ended.get(name, "")
            for gang, name in gangs.items()
        }


class ReclaimsPresent(Struct, frozen=True):
    """What a reader of reclaims needs of one moment.

    Attributes:
        queues: workloads that live -> their queues.
        still: what attempts hold, as if it ended now.
    """

    queues: Mapping[str, str]
    still: tuple[UsageInterval, ...]


def reclaims_present(mind: Mind, now: int) -> ReclaimsPresent:
    """Note what lives and is held, so that reading the past need not hold the state still."""
    queues = {key: each.workload.queue for key, each in mind.book.entries.items()}
    return ReclaimsPresent(queues, tuple(mind.book.meter.open_usage(now)))


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
