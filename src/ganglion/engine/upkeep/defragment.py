"""Emptying nodes: gangs leave nearly empty nodes so that whole ones come free.

When no gang waits for room, all gangs on one node are moved to nodes that are in use anyway, so
that a gang of whole nodes can start at once and nodes can be switched off. One node at a time,
the one that is used least; only when what comes free within the policy's horizon is worth more
than the moves. The number of empty nodes grows with every step, so the moves end.
"""

from collections.abc import Iterator, Sequence

from ganglion.engine.decisions import decide
from ganglion.engine.gangs import preemption_cost
from ganglion.engine.gangs.record import SETTLED, GangRecord
from ganglion.engine.ordering.attempt import seek
from ganglion.engine.placement.renumber import renumbered
from ganglion.engine.preemption.consolidate import ABOUT_ROOM, as_it_is, may_move
from ganglion.engine.preemption.preempt import TRIED
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.engine.state.effort import LOOK
from ganglion.engine.store.undo import Tentative
from ganglion.engine.store.victims import VictimUnit, may_stop
from ganglion.engine.store.what_if import Sketch
from ganglion.model.causes import Cause, CauseKind
from ganglion.model.events import GangReserved, GangStopping
from ganglion.model.placement import Placement
from ganglion.model.plan import Plan, Stop

TRIES = 8
"""Nodes tried in one cycle; the others are tried in the next ones."""

Moves = list[tuple[GangRecord, Placement]]


def empty_nodes(state: ClusterState, plan: Plan) -> None:
    """Empty the node that is used least, if that pays, and add that to the plan of a cycle.

    Args:
        state: changed by the decisions.
        plan: they are added to it.

    A node whose gangs found no other place is not tried again until something is freed, or
    a node that was empty is in use.
    """
    if not state.config.policy.repack.empty_nodes or not _is_quiet(state):
        return
    tree = state.fleet.tree
    on_node = _occupants(state)
    bare = {rank for rank, pods in enumerate(tree.pods) if not pods}
    version = state.progress.freed, len(bare)
    known = {name: then for name, then in state.agenda.unemptied.items() if then == version}
    state.agenda.unemptied = known
    untried = (e for e in _candidates(state, on_node, plan.at) if tree.names[e] not in known)
    for number, rank in enumerate(untried):
        first = not number and not state.agenda.growth_cut
        if number == TRIES or not state.agenda.effort.may_step(first=first):
            state.agenda.again_at = plan.at + 1
            return
        moves = _moves(state, on_node[rank], {rank, *bare}, plan.at)
        if moves:
            _carry_out(state, moves, tree.names[rank], plan)
            return
        known[tree.names[rank]] = version


def _is_quiet(state: ClusterState) -> bool:
    """Whether no gang waits for room, and no gang is starting or stopping."""
    if state.holdings.promised or state.holdings.leaving:
        return False
    return not any(
        lane.reason is None or lane.reason.token in ABOUT_ROOM for lane in state.gangs.lanes
    )


def _occupants(state: ClusterState) -> dict[int, list[GangRecord]]:
    found: dict[int, dict[str, GangRecord]] = {}
    for record in state.holdings.settled():
        for pod in record.placement.pods if record.placement else ():
            found.setdefault(state.fleet.tree.rank(pod.node), {})[record.gang.id] = record
    return {rank: list(records.values()) for rank, records in found.items()}


def _candidates(
    state: ClusterState, on_node: dict[int, list[GangRecord]], now: int
) -> Iterator[int]:
    """Nodes with GPUs whose gangs may all be moved at a price that pays, the emptiest first."""
    policy, free = state.config.policy, {rank: _free(state, rank) for rank in on_node}
    movable: dict[str, int] = {}
    for rank in sorted(on_node, key=lambda each: (-free[each], each)):
        records = on_node[rank]
        if not free[rank] or len(records) > policy.repack.moves:
            continue
        if not all(record.phase in SETTLED for record in records):
            continue
        for record in records:
            if record.gang.id not in movable:
                cost = preemption_cost.of_gang(record, now, policy.evict.restart_ms)
                allowed = _may(state, record, now)
                movable[record.gang.id] = cost if allowed else -1
        costs = [movable[record.gang.id] for record in records]
        if min(costs) >= 0 and sum(costs) < free[rank] * policy.repack.horizon_ms:
            yield rank


def _may(state: ClusterState, record: GangRecord, now: int) -> bool:
    return may_move(state, record, now) and may_stop(state, record, record.gang, now)


def _free(state: ClusterState, rank: int) -> int:
    """Thousandths of GPUs that are free on a node; 0 for one that accepts no pods."""
    condition = state.fleet.table.known[state.fleet.tree.conditions[rank]]
    return sum(condition.usable) if condition.open else 0


def _moves(
    state: ClusterState, records: Sequence[GangRecord], shut: set[int], now: int
) -> Moves | None:
    """New places for all of them on other nodes that are in use; None when there are none."""
    tentative, moves = Tentative(state), Moves()
    units = [
        VictimUnit(record, record.placement.pods, True, 0, CauseKind.MOVED)
        for record in records
        if record.placement
    ]
    try:
        for unit in units:
            if not state.gangs.floors.spares(unit.record):
                return None
            tentative.take(unit)
        with Sketch(state) as sketch:
            sketch.shut(dict.fromkeys(sorted(shut)))
            for unit in sorted(units, key=lambda each: (-each.gpu_milli, each.record.gang.id)):
                state.agenda.effort.spend(LOOK)
                place = seek(state, as_it_is(unit.record), now, TRIED)[1]
                if place is None or unit.record.placement is None:
                    return None
                place = renumbered(unit.record.placement, place)
                tentative.seat(unit.record, place)
                moves.append((unit.record, place))
    finally:
        tentative.undo()
    return moves


def _carry_out(state: ClusterState, moves: Moves, node: str, plan: Plan) -> None:
    cause = Cause(CauseKind.EMPTIED, name=node)
    for record, _ in moves:
        gang, attempt = record.gang.id, record.attempt
        decide(state, [GangStopping(plan.at, gang, attempt, cause)], plan)
        plan.stops.append(Stop(gang, attempt, cause))
    for record, place in moves:
        decide(state, [GangReserved(plan.at, record.gang.id, place)], plan)
