"""A trade: a place, the gangs that have to leave for it, and what that costs."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.preemption.stock import Cost
from ganglion.engine.preemption_rules.growth import BY_RIGHT
from ganglion.engine.search.quota import asked
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.engine.store.store import Store
from ganglion.engine.store.victims import VictimRules, VictimUnit
from ganglion.model.causes import Cause, CauseKind
from ganglion.model.events import GangReserved, GangResized, GangStopping
from ganglion.model.placement import Placement
from ganglion.model.queue import ANY_FLAVOR

LARGE = 4
"""A victim that holds more than this multiple of the asker's request is out of proportion."""


Decided = GangStopping | GangReserved | GangResized
"""What is decided about a gang of a trade."""


class PreemptionPlan(NamedTuple):
    """A place, and the gangs that have to leave for it.

    Attributes:
        placement: where the gang starts.
        units: its victims.
        moves: victims that go on elsewhere at once, with their new places.
        cost: what it costs.
    """

    placement: Placement
    units: tuple[VictimUnit, ...]
    moves: tuple[tuple[GangRecord, Placement], ...]
    cost: Cost


def is_judged(units: Iterable[VictimUnit]) -> bool:
    """Whether the asker's queue may not grow beyond what it deserves by stopping these."""
    return any(unit.cause in BY_RIGHT for unit in units)


def cheaper(one: PreemptionPlan | None, other: PreemptionPlan | None) -> PreemptionPlan | None:
    """The cheaper of two trades, the first of equals."""
    return other if one is None or (other is not None and other.cost < one.cost) else one


def is_clear(trade: PreemptionPlan) -> bool:
    """Whether only spare gangs leave for it."""
    return all(unit.record.gang.spare for unit in trade.units)


def is_out_of_proportion(trade: PreemptionPlan, asker: GangRecord) -> bool:
    """Whether a gang leaves that is much larger than the one it leaves for."""
    most = LARGE * asked(asker).gpu_milli
    return bool(most) and any(unit.gpu_milli > most for unit in trade.units)


def gentler_of(trade: PreemptionPlan, other: PreemptionPlan) -> PreemptionPlan:
    """The other trade if it loses less GPU time and displaces fewer GPUs, whatever the classes."""
    less = other.cost[1] < trade.cost[1] and _displaced(other) < _displaced(trade)
    return other if less else trade


def _displaced(trade: PreemptionPlan) -> int:
    """Thousandths of GPUs of victims that do not go on elsewhere at once."""
    moved = {record.gang.id for record, _ in trade.moves}
    return sum(unit.gpu_milli for unit in trade.units if unit.record.gang.id not in moved)


def cost_of(units: Sequence[VictimUnit], moved: int, *, classless: bool) -> Cost:
    """What victims cost, `moved` of which go on elsewhere at once."""
    worst = max(unit.hurts for unit in units)
    price = sum(unit.price for unit in units)
    age = -sum(unit.record.gang.submitted for unit in units)
    count = len(units)
    return (() if classless else worst, price, count - moved, count, age)


def unclaimed(
    state: Store, rules: VictimRules, asker: GangRecord, trade: PreemptionPlan, now: int
) -> VictimUnit | None:
    """A victim that the asker may not take for the flavors that it gets; None = there is none.

    Only victims that lie in several flavors are taken before that is known.

    Args:
        state: as it is before the trade.
        rules: who may take from whom.
        asker: the gang that gets the place.
        trade: what was worked out for it.
        now: the time in ms.
    """
    tree, moved = state.fleet.tree, {record.gang.id for record, _ in trade.moves}
    several = [
        unit
        for unit in trade.units
        if unit.cause in BY_RIGHT
        and unit.record.gang.id not in moved
        and len({tree.flavors[tree.index[pod.node]] for pod in unit.pods}) > 1
    ]
    gets = state.holdings.usage_of(asker, trade.placement) if several else {}
    return next((e for e in several if not rules.allows(state, asker, e, now, gets)), None)


def is_in_vain(
    state: ClusterState,
    asker: GangRecord,
    units: Iterable[VictimUnit],
    rules: VictimRules,
    now: int,
) -> bool:
    """Whether none may be stopped as things stand, and less is free than the gang asks for.

    What is only moved needs as much elsewhere as it leaves, but for shares given in memory.

    Args:
        state: the fleet and the queues.
        asker: a gang that found no place.
        units: what might be taken for it.
        rules: who may take from whom.
        now: the time in ms.
    """
    if state.fleet.totals.free_gpu(ANY_FLAVOR) >= asked(asker).gpu_milli:
        return False
    if rules.may_any(state, asker, now) and any(
        rules.allows(state, asker, each, now) for each in units
    ):
        return False
    return not any(map(_shares_by_memory, state.holdings.settled()))


def _shares_by_memory(record: GangRecord) -> bool:
    return any(each.request.gpu.share_mib for each in record.gang.pod_sets)


def needed_before(unit: VictimUnit, kept: list[VictimUnit]) -> bool:
    """Whether a gang that stops whole is among the kept: its surplus leaves with it."""
    return not unit.whole and any(each.whole and each.record is unit.record for each in kept)


def carried_out(asker: GangRecord, trade: PreemptionPlan, at: int) -> list[Decided]:
    """What a trade decides: who stops, loses a promise or shrinks, then who gets which place.

    Args:
        asker: the gang for which the trade is.
        trade: what was worked out for it; nothing of it has been applied.
        at: the time in ms.
    """
    moved = {record.gang.id for record, _ in trade.moves}
    found: list[Decided] = []
    gone: set[str] = set()
    for unit in trade.units:
        gang = unit.record.gang.id
        if unit.whole:
            cause = Cause(CauseKind.MOVED if gang in moved else unit.cause, gang=asker.gang.id)
            found.append(GangStopping(at, gang, unit.record.attempt, cause))
            gone.add(gang)
    for unit in trade.units:
        gang = unit.record.gang.id
        if unit.record.promise and not unit.record.placement:
            cause = Cause(unit.cause, gang=asker.gang.id)
            found.append(GangReserved(at, gang, None, cause))
            gone.add(gang)
    found += _shrunk(asker, [e for e in trade.units if e.record.gang.id not in gone], at)
    found.append(GangReserved(at, asker.gang.id, trade.placement))
    found += (GangReserved(at, record.gang.id, place) for record, place in trade.moves)
    return found


def _shrunk(asker: GangRecord, units: Iterable[VictimUnit], at: int) -> Iterator[GangResized]:
    """Elastic gangs go on with fewer pods."""
    by_gang: dict[str, list[VictimUnit]] = {}
    for unit in units:
        by_gang.setdefault(unit.record.gang.id, []).append(unit)
    for taken in by_gang.values():
        record = taken[0].record
        assert record.placement
        dropped = {pod for unit in taken for pod in unit.pods}
        pods = tuple(pod for pod in record.placement.pods if pod not in dropped)
        place = Placement(pods, record.placement.level, record.placement.domain)
        cause = Cause(taken[0].cause, gang=asker.gang.id)
        yield GangResized(at, record.gang.id, record.attempt, place, cause)
