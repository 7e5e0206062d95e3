"""Who holds what a waiting gang needs."""

from ganglion.engine.price import saved_at
from ganglion.engine.record import GangRecord
from ganglion.engine.seek import seek
from ganglion.engine.state import ClusterState
from ganglion.engine.tentative import Tentative
from ganglion.engine.victims import Cause, Unit
from ganglion.model.reasons import Reason, Token

_TRIED = Reason(Token.CAPACITY, "no place was found")


def holders_of(state: ClusterState, asker: GangRecord, now: int) -> tuple[str, ...]:
    """Running gangs whose end would let a gang start, found by trying it.

    Those that are expected to end first are taken first; whoever turns out not to be needed is
    left out.

    Args:
        state: left as it is.
        asker: a gang that found no place.
        now: the time in ms.

    Returns:
        Their ids, the first to end first; empty when no end of others would help.
    """
    running = sorted(
        state.settled(),
        key=lambda each: (_end(state, each, now), each.gang.id),
    )
    units = [_whole(each) for each in running]
    low, high = 0, len(units)
    if not _fits_without(state, asker, units, now):
        return ()
    while low < high:
        middle = (low + high) // 2
        if _fits_without(state, asker, units[:middle], now):
            high = middle
        else:
            low = middle + 1
    needed = _thin(state, asker, units[:high], now)
    return tuple(unit.record.gang.id for unit in needed)


def _thin(state: ClusterState, asker: GangRecord, units: list[Unit], now: int) -> list[Unit]:
    """Drop halves, quarters and so on that are not needed."""
    kept, size = units, max(len(units) >> 1, 1)
    while kept:
        for start in range(0, len(kept), size):
            fewer = kept[:start] + kept[start + size :]
            if _fits_without(state, asker, fewer, now):
                kept = fewer
                break
        else:
            if size == 1:
                return kept
            size >>= 1
    return kept


def _fits_without(state: ClusterState, asker: GangRecord, units: list[Unit], now: int) -> bool:
    tentative = Tentative(state)
    try:
        for unit in units:
            tentative.take(unit)
        return seek(state, asker, now, _TRIED)[1] is not None
    finally:
        tentative.undo()


def _whole(record: GangRecord) -> Unit:
    assert record.placement
    return Unit(record, record.placement.pods, True, 0, Cause.PREEMPTED)


def _end(state: ClusterState, record: GangRecord, now: int) -> int:
    """When a running gang is expected to end."""
    began = record.started or saved_at(record, now)
    if record.gang.time_limit_ms:
        return began + record.gang.time_limit_ms
    return now + state.estimates.remaining(record.gang, max(now - began, 0)).p90_ms
