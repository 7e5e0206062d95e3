"""Whom a gang would displace, and what they would lose by it."""

from collections.abc import Iterable, Iterator

from ganglion.engine.gangs import preemption_cost
from ganglion.engine.gangs.record import SETTLED, GangRecord
from ganglion.engine.preemption.trade import Decided
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.model import events as ev
from ganglion.model.causes import MOVES
from ganglion.model.placement import Placement, PodPlacement
from ganglion.model.reasons import Displaced, Yielding

S = 1_000


def displaced_by(state: ClusterState, decided: Iterable[Decided], now: int) -> Iterator[Displaced]:
    """Say what gangs lose that yield to another one.

    Args:
        state: before anything of it happens.
        decided: about those that yield; what is decided about others is left out.
        now: when it is decided, in ms.
    """
    for event in decided:
        record = state.gangs.records[event.gang]
        pods = record.placement.pods if record.placement else ()
        match event:
            case ev.GangStopping():
                fate = Yielding.MOVED if event.cause.kind in MOVES else Yielding.REQUEUED
                settled = record.phase in SETTLED
                unsaved = preemption_cost.unsaved_ms(record, now) if settled else 0
                yield _displaced(state, record, fate, pods, now, unsaved)
            case ev.GangResized():
                kept = set(event.placement.pods)
                gone = tuple(each for each in pods if each not in kept)
                yield _displaced(state, record, Yielding.SHRUNK, gone, now)
            case ev.GangReserved(placement=None):
                given = record.promise.pods if record.promise else ()
                yield _displaced(state, record, Yielding.WAITS, given, now)


def _displaced(
    state: ClusterState,
    record: GangRecord,
    fate: Yielding,
    pods: tuple[PodPlacement, ...],
    now: int,
    unsaved_ms: int = 0,
) -> Displaced:
    gang, milli = record.gang, preemption_cost.gpu_milli(pods)
    most = milli * unsaved_ms // S
    known = not unsaved_ms or gang.checkpoint is not None or record.committed_at > 0
    return Displaced(
        *(gang.id, gang.workload, gang.name, gang.queue, gang.user, fate, milli),
        lost_gpu_ms=most if known else None,
        most_gpu_ms=most,
        cost=_charged(state, record, pods, now, unsaved_ms),
    )


def _charged(
    state: ClusterState,
    record: GangRecord,
    pods: tuple[PodPlacement, ...],
    now: int,
    lasted_ms: int,
) -> int | None:
    """What pods were charged for the time until now, as it is metered; None = it has no price."""
    prices = state.queues.budgets.prices
    if not prices.records:
        return None
    place = Placement(tuple(each for each in pods if each.node in state.fleet.tree.index))
    used = state.holdings.usage_of(record, place).items()
    rates, total = state.holdings.costs.rates(record, place, used), 0
    for span in prices.spans(now - lasted_ms, now):
        for (flavor, kind), milli in rates:
            price = prices.price(span.state.now, flavor, kind)
            if price is None:
                return None
            total += milli * price * (span.end - span.begin)
    return total
