"""Which gangs hold what a waiting gang needs."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from ganglion.engine.gangs.preemption_cost import saved_at
from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.ordering.attempt import seek
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.engine.store.undo import Tentative
from ganglion.engine.store.victims import VictimUnit
from ganglion.engine.timeline.nominations import as_promised
from ganglion.model.causes import CauseKind
from ganglion.model.reasons import Reason, Token

T = TypeVar("T")

_TRIED = Reason(Token.CAPACITY, "no place was found")


def holders_of(state: ClusterState, asker: GangRecord, now: int) -> tuple[str, ...]:
    """Gangs that hold what a gang needs: without them it finds a place.

    Found by trying it, with nothing else ahead of the gang. Those that were promised a place are
    taken first, then those that run, the first to end first; those not needed are left out.

    Args:
        state: left as it is.
        asker: a gang that found no place.
        now: the time in ms.

    Returns:
        Their ids, in that order; empty when it finds no place even without all of them.
    """
    units = [
        as_promised(state.gangs.records[each], CauseKind.PREEMPTED)
        for each in state.holdings.promised
        if each != asker.gang.id
    ]
    units += [_whole(each) for each in _by_end(state, now)]
    low, high = 0, len(units)
    if not _fits_without(state, asker, units, now):
        return ()
    while low < high:
        middle = (low + high) // 2
        if _fits_without(state, asker, units[:middle], now):
            high = middle
        else:
            low = middle + 1
    needed = _thin(units[:high], lambda fewer: _fits_without(state, asker, fewer, now))
    return tuple(unit.record.gang.id for unit in needed)


def awaited_by(
    state: ClusterState, now: int, holders: tuple[str, ...], starts: Callable[[Sequence[str]], bool]
) -> tuple[str, ...]:
    """Running gangs whose end starts a gang although all that goes before it has its turn first.

    Args:
        state: left as it is.
        now: the time in ms.
        holders: what `holders_of` says.
        starts: whether the gang starts in the next cycle once these have ended.

    Returns:
        Their ids, the first to end first; empty when none are known.
    """
    order = [each.gang.id for each in _by_end(state, now)]
    places = [order.index(each) for each in holders if each in order]
    if not places:
        return ()
    if len(places) == len(holders) and starts(holders):
        return holders
    if not starts(order):
        return ()
    few, many, step = max(places), len(order), 1
    while few + step < many:
        if starts(order[: few + step]):
            many = few + step
        else:
            few, step = few + step, 2 * step
    while many - few > 1:
        middle = (few + many) // 2
        if starts(order[:middle]):
            many = middle
        else:
            few = middle
    return tuple(_thin(order[:many], starts))


def _thin(needed: list[T], enough: Callable[[Sequence[T]], bool]) -> list[T]:
    """Drop halves, quarters and so on that are not needed."""
    kept, size = needed, max(len(needed) >> 1, 1)
    while kept:
        for start in range(0, len(kept), size):
            fewer = kept[:start] + kept[start + size :]
            if enough(fewer):
                kept = fewer
                break
        else:
            if size == 1:
                return kept
            size >>= 1
    return kept


def _by_end(state: ClusterState, now: int) -> list[GangRecord]:
    """What runs, the first to end first."""
    return sorted(state.holdings.settled(), key=lambda each: (_end(state, each, now), each.gang.id))


def _fits_without(
    state: ClusterState, asker: GangRecord, units: Sequence[VictimUnit], now: int
) -> bool:
    tentative = Tentative(state)
    try:
        for unit in units:
            tentative.take(unit)
        return seek(state, asker, now, _TRIED)[1] is not None
    finally:
        tentative.undo()


def _whole(record: GangRecord) -> VictimUnit:
    assert record.placement
    return VictimUnit(record, record.placement.pods, True, 0, CauseKind.PREEMPTED)


def _end(state: ClusterState, record: GangRecord, now: int) -> int:
    """When a running gang is expected to end."""
    began = record.started or saved_at(record, now)
    if record.gang.time_limit_ms:
        return began + record.gang.time_limit_ms
    return now + state.gangs.estimates.remaining(record.gang, max(now - began, 0)).p90_ms
