"""Gangs that sleep get places, and gangs that wake take them.

A place is kept on what is free, beside everything that is reserved; where that is not enough,
on what gangs hold that would leave in time and may be stopped for it by the rules anyway.
No gang is stopped when a place is kept: only waking stops gangs. The place is held within quota
like work that may not be stopped, as it cannot be taken back.

A gang that wakes has its place at once: gangs in its way are asked to stop, or to shrink, and it
starts when they have left, after the time of its contract at the latest. Neither the rules of
queues nor plugins are asked again.
"""

from collections.abc import Iterator

from msgspec.structs import replace

from ganglion.engine.decisions import decide, give
from ganglion.engine.gangs import preemption_cost
from ganglion.engine.gangs.gates import sleeps
from ganglion.engine.gangs.record import SETTLED, GangRecord
from ganglion.engine.kueue.cycle import SIDE_BY_SIDE
from ganglion.engine.ordering.attempt import seek
from ganglion.engine.placement.pack import common
from ganglion.engine.placement.renumber import renumbered
from ganglion.engine.preemption.preempt import TRIED
from ganglion.engine.preemption_rules.rules import rules
from ganglion.engine.search.quota import Means
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.engine.store.victims import VictimUnit
from ganglion.engine.timeline.reservation import FOREVER
from ganglion.engine.timeline.standby import KeptPlace
from ganglion.engine.upkeep.shrink import is_enough
from ganglion.model.causes import Cause, CauseKind
from ganglion.model.events import GangReserved, GangResized, GangStopping, PlaceKept
from ganglion.model.placement import Placement, PodPlacement
from ganglion.model.plan import Plan, Resize, Stop
from ganglion.model.policy import StandbyCharge

Leaving = dict[str, dict[PodPlacement, None]]
"""Gang -> pods of it that are in the way."""


def wake(state: ClusterState, plan: Plan) -> None:
    """Give back what is kept in vain, and let gangs that wake take their places."""
    for kept in _beyond_means(state):
        _give_back(state, kept, CauseKind.BEYOND_MEANS, plan)
    for kept in state.timeline.kept:
        state.journal.attend(kept.record.gang.id)
        if not state.timeline.kept.is_sound(kept):
            _give_back(state, kept, CauseKind.PLACE_GONE, plan)
        elif _is_booked(state, kept, plan.at):
            _give_back(state, kept, CauseKind.NODES_BOOKED, plan)
    for kept in state.timeline.kept:
        record = kept.record
        state.journal.attend(record.gang.id)
        if record.reason is None and not record.gang.recall_ms:
            if _means_suffice(state, kept):
                _take_back(state, kept, plan)
        elif not sleeps(record) or record.gang.recall_ms != kept.recall_ms:
            _give_back(state, kept, CauseKind.OTHER_TERMS, plan)


def keep(state: ClusterState, plan: Plan, *, before_others: bool) -> None:
    """Keep places for gangs that sleep and have none.

    Args:
        state: the fleet.
        plan: decisions are added to it.
        before_others: only for those that would go before all that waits in their queue.
    """
    for record in sorted(_placeless(state), key=_seniority):
        if before_others and not _is_first(state, record):
            continue
        state.journal.attend(record.gang.id)
        place = _place(state, record, plan.at)
        if place:
            decide(state, [PlaceKept(plan.at, record.gang.id, place)], plan)
        else:
            state.timeline.kept.tried[record.gang.id] = state.progress.freed


def _beyond_means(state: ClusterState) -> Iterator[KeptPlace]:
    """Places that queues may not hold any more, as their bounds were changed; the latest first.

    Give one back before asking for the next.
    """
    if state.timeline.kept.checked == state.progress.freed:
        return
    for kept in tuple(state.timeline.kept)[::-1]:
        state.journal.attend(kept.record.gang.id)
        if not state.timeline.kept.is_within_bounds(kept):
            yield kept
    state.timeline.kept.checked = state.progress.freed


def _is_booked(state: ClusterState, kept: KeptPlace, now: int) -> bool:
    """Whether others are to have the nodes, now or at any time ahead while it sleeps."""
    record = _as_right(state, kept.record) if kept.record.gang.recall_ms else kept.record
    return state.timeline.bookings.refusal(record, kept.placement, now) is not None


def _give_back(state: ClusterState, kept: KeptPlace, cause: CauseKind, plan: Plan) -> None:
    decide(state, [PlaceKept(plan.at, kept.record.gang.id, None, Cause(cause))], plan)


def _placeless(state: ClusterState) -> Iterator[GangRecord]:
    for gang in state.gangs.asleep:
        tried = (
            state.timeline.kept.get(gang)
            or state.timeline.kept.tried.get(gang) == state.progress.freed
        )
        if not tried and sleeps(state.gangs.records[gang]):
            yield state.gangs.records[gang]


def _seniority(record: GangRecord) -> tuple[int, int, int, str]:
    gang = record.gang
    return (-gang.priority, gang.submitted, gang.index, gang.id)


def _is_first(state: ClusterState, record: GangRecord) -> bool:
    """Whether all that waits in its queue is less important: among equals, the awake go first."""
    queue, priority = record.gang.queue, record.gang.priority
    return all(lane.queue != queue or lane.priority < priority for lane in state.gangs.lanes)


def _place(state: ClusterState, record: GangRecord, now: int) -> Placement | None:
    """A place that is free, or held by gangs that would leave for it."""
    right = _as_right(state, record)
    place = seek(state, right, now, TRIED)[1]
    if place is None and state.config.policy.entitlement not in SIDE_BY_SIDE:
        place = _over_others(state, record, right, now)
    possible = place and state.timeline.kept.is_possible(record, place)
    return place if place and possible and _leaves_in_time(state, record, place) else None


def _as_right(state: ClusterState, record: GangRecord) -> GangRecord:
    """A gang that asks for what the sleeping one does, for ever."""
    firm = state.config.policy.sleeping is StandbyCharge.QUOTA
    gang = replace(
        record.gang,
        recall_ms=0,
        parallel=0,
        preemptible=record.gang.preemptible and not firm,
        time_limit_ms=FOREVER >> 1,
    )
    return GangRecord(gang, record.shapes, None)


def _over_others(
    state: ClusterState, record: GangRecord, right: GangRecord, now: int
) -> Placement | None:
    """A place where gangs are that may be stopped for it; only the tree lets them go."""
    judge, aside = rules(), list[GangRecord]()
    if not state.config.policy.evict.enabled or judge.hopeless(state, record, now):
        return None
    for each in state.holdings.settled():
        unit = VictimUnit(
            each, each.placement.pods if each.placement else (), True, 0, CauseKind.RECALLED
        )
        if state.timeline.kept.would_lend(record, each.gang) and judge.allows(
            state, record, unit, now
        ):
            aside.append(each)
    for each in aside:
        state.holdings.part(each, each.placement.pods if each.placement else ())
    try:
        return seek(state, right, now, TRIED)[1] if aside else None
    finally:
        for each in aside:
            state.holdings.join(each, each.placement.pods if each.placement else ())


def _leaves_in_time(state: ClusterState, record: GangRecord, place: Placement) -> bool:
    """Whether all that was asked to stop there is gone in time, however long it takes."""
    nodes = dict.fromkeys(pod.node for pod in place.pods)
    leaving = {gang for node in nodes for gang in state.holdings.leaving.get(node, ())}
    return all(
        state.timeline.kept.would_lend(record, state.gangs.records[gang].gang) for gang in leaving
    )


def _means_suffice(state: ClusterState, kept: KeptPlace) -> bool:
    """Whether a queue that was charged nothing so far has room for the gang."""
    if state.gangs.gates.crowded(kept.record.gang):
        return False
    return bool(kept.charged) or Means(state, kept.record).allow(kept.placement)


def _take_back(state: ClusterState, kept: KeptPlace, plan: Plan) -> None:
    """Have the gangs in the way leave, and promise the place to its owner."""
    cause = Cause(CauseKind.RECALLED, gang=kept.record.gang.id)
    stopped = list[GangRecord]()
    for gang, pods in in_the_way(state, kept).items():
        record = state.gangs.records[gang]
        if record.promise and not pods.keys().isdisjoint(record.promise.pods):
            decide(state, [GangReserved(plan.at, gang, None, cause)], plan)
        if record.phase in SETTLED and record.placement:
            left = tuple(pod for pod in record.placement.pods if pod not in pods)
            if len(left) == len(record.placement.pods):
                continue
            if state.config.policy.elastic and is_enough(record.gang, left) and not record.leaving:
                _shrink(state, record, left, cause, plan)
            else:
                decide(state, [GangStopping(plan.at, gang, record.attempt, cause)], plan)
                plan.stops.append(Stop(gang, record.attempt, cause))
                stopped.append(record)
    give(state, kept.record, kept.placement, plan)
    if state.config.policy.evict.move:
        _move(state, stopped, plan)


def _shrink(
    state: ClusterState,
    record: GangRecord,
    pods: tuple[PodPlacement, ...],
    cause: Cause,
    plan: Plan,
) -> None:
    level, domain = common(state.fleet.indexes, [state.fleet.tree.rank(pod.node) for pod in pods])
    place = Placement(pods, level, domain)
    decide(state, [GangResized(plan.at, record.gang.id, record.attempt, place, cause)], plan)
    plan.resizes.append(Resize(record.gang, record.attempt, place, cause))


def _move(state: ClusterState, stopped: list[GangRecord], plan: Plan) -> None:
    """Gangs that fit elsewhere go on there."""
    for record in sorted(stopped, key=_seniority):
        place = seek(state, record, plan.at, TRIED)[1]
        if place and record.placement:
            place = renumbered(record.placement, place)
            decide(state, [GangReserved(plan.at, record.gang.id, place)], plan)


def in_the_way(state: ClusterState, kept: KeptPlace) -> Leaving:
    """Pods that have to leave, node by node."""
    found = Leaving()
    for node in dict.fromkeys(pod.node for pod in kept.placement.pods):
        for record in _leavers(state, kept, node, found):
            own = found.setdefault(record.gang.id, {})
            own.update(dict.fromkeys(state.timeline.kept.pods_on(node, record)))
    return found


def _leavers(state: ClusterState, kept: KeptPlace, node: str, known: Leaving) -> list[GangRecord]:
    """Gangs that leave one node: those that do anyway, those on its devices, then the cheapest."""
    restart, now = state.config.policy.evict.restart_ms, state.progress.clock

    def order(borrower: tuple[bool, GangRecord]) -> tuple[bool, bool, int, int, str]:
        uses, record = borrower
        gang = record.gang
        cost = preemption_cost.of_gang(record, now, restart)
        return (gang.id not in known, not uses, gang.priority, cost, gang.id)

    gone: list[GangRecord] = []
    for _, record in sorted(state.timeline.kept.borrowers(kept, node), key=order):
        if state.timeline.kept.is_clear(kept, node, gone):
            break
        gone.append(record)
    for record in gone[::-1]:
        fewer = [each for each in gone if each is not record]
        if state.timeline.kept.is_clear(kept, node, fewer):
            gone = fewer
    return gone
