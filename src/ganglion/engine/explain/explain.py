"""Why not, and what would help: explanations on demand."""

from typing import TypedDict

from ganglion.engine.explain.blockers import holders_of
from ganglion.engine.explain.suggest import NOT_HELPED, suggestions
from ganglion.engine.forecast import start_estimates
from ganglion.engine.gangs.record import SETTLED, GangRecord
from ganglion.engine.gangs.urgency import next_step
from ganglion.engine.ordering.attempt import PlacementAttempt, seek
from ganglion.engine.ordering.order import waiting_in_order
from ganglion.engine.runtimes.estimates import EstimateSource
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.engine.timeline.nominations import blockers
from ganglion.engine.topology.node_state import ShapeView
from ganglion.model.plan import Phase
from ganglion.model.reasons import Band, Explanation, Raise, Reason, Token

AHEAD = 5
"""Most gangs named as being ahead, or as still leaving a place."""

CLOSED = 8
"""Most closed nodes named."""

HOLDERS = 64
"""Most gangs named as holding what it needs."""

_UNSEEN = Reason(Token.ORDER, "it has not been looked at yet; others of its queue go first")


def explain(state: ClusterState, gang: str, now: int, *, trials: bool = True) -> Explanation:
    """Everything known about one gang's wait.

    Args:
        state: left as it is.
        gang: id of the gang.
        now: the time in ms.
        trials: whether to look for changes that would start it, which costs the most.

    Raises:
        NotFound: there is no such gang.
    """
    record = state.gangs.record(gang)
    if record.phase is Phase.RESERVED:
        return _promised(state, record)
    if record.phase is not Phase.PENDING:
        return Explanation(gang, record.phase, **_urgency(state, record, None, now))
    state.fleet.tree.settle()
    state.deserved.refresh(now)
    reason = present_reason(state, record, now)
    order = waiting_in_order(state, now)
    position = order.index(gang) + 1 if gang in order else 0
    holders = () if reason.token in NOT_HELPED else holders_of(state, record, now)
    reservation = state.timeline.future.reservation(gang)
    band = start_of(state, record, now)
    return Explanation(
        gang,
        record.phase,
        reason,
        histogram(state, record),
        tuple(order[: min(position - 1, AHEAD)]) if position else (),
        max(position - 1, 0),
        position,
        suggestions(state, record.gang, now, reason, holders) if trials else (),
        holders[:HOLDERS],
        len(holders),
        Band(band.p50_ms, band.p90_ms) if band and band.known else None,
        reservation.start_ms if reservation else 0,
        band.guesses if band else (),
        closed(state, record),
        **_urgency(state, record, band, now),
    )


def start_of(state: ClusterState, record: GangRecord, now: int) -> start_estimates.Band | None:
    """When a gang that waits is expected to start; None = it does not wait for room."""
    if record.phase is not Phase.PENDING or record.reason:
        return None
    reservation = state.timeline.future.reservation(record.gang.id)
    return state.forecast.bands.band(record, now, reservation)


class _Urgency(TypedDict):
    """What the time alone makes of a gang, as fields of an `Explanation`."""

    deadline_ms: int
    end: Band | None
    raised: tuple[Raise, ...]
    next_raise: Raise | None


def _urgency(
    state: ClusterState, record: GangRecord, start: start_estimates.Band | None, now: int
) -> _Urgency:
    """The deadline with the expected end, and the steps of its escalation."""
    step = (
        next_step(record, state.config.policy.escalate, now)
        if record.phase is Phase.PENDING
        else None
    )
    return _Urgency(
        deadline_ms=record.gang.deadline_ms,
        end=_end(state, record, start, now) if record.gang.deadline_ms else None,
        raised=tuple(Raise(at, to, before) for at, before, to in record.raised),
        next_raise=Raise(record.waits_since + step.after_ms, step.to) if step else None,
    )


def _end(
    state: ClusterState, record: GangRecord, start: start_estimates.Band | None, now: int
) -> Band | None:
    """When a gang is expected to end; None where its start or its run time is unknown."""
    if record.phase in SETTLED:
        ran = max(now - (record.started or record.placed_at), 0)
        left = state.gangs.estimates.remaining(record.gang, ran)
        begin = Band(now, now)
    elif start and start.known:
        left = state.gangs.estimates.estimate(record.gang)
        begin = Band(start.p50_ms, start.p90_ms)
    else:
        return None
    if left.source is EstimateSource.PRIOR and not record.gang.time_limit_ms:
        return None
    return Band(begin.p50 + left.p50_ms, begin.p90 + left.p90_ms)


def histogram(state: ClusterState, record: GangRecord) -> dict[str, int]:
    """Nodes by the first obstacle that one pod of the most demanding set meets there."""
    sight = _sight(state, record)
    found: dict[str, int] = {}
    for condition, count in state.fleet.tree.counts.items():
        if count and state.fleet.table.known[condition].open:
            name = state.fleet.table.obstacle(sight, condition) or "has room for a pod"
            found[name] = found.get(name, 0) + count
        elif count:
            for rank in state.fleet.tree.members(condition):
                name = f"closed: {_closed_for(state, rank)}"
                found[name] = found.get(name, 0) + 1
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


def closed(state: ClusterState, record: GangRecord) -> dict[str, str]:
    """Nodes that take nothing new and that a pod of the gang could use if they did, and why."""
    sight, table = _sight(state, record), state.fleet.table
    ranks = [
        rank
        for condition, count in state.fleet.tree.counts.items()
        if count and not table.known[condition].open
        if not table.obstacle(sight, table.bare(table.known[condition].node_class))
        for rank in state.fleet.tree.members(condition)
    ]
    return {
        state.fleet.tree.names[rank]: _closed_for(state, rank) for rank in sorted(ranks)[:CLOSED]
    }


def _sight(state: ClusterState, record: GangRecord) -> ShapeView:
    return state.fleet.table.sight(max(record.shapes, key=lambda each: each.request.gpu.count))


def _closed_for(state: ClusterState, rank: int) -> str:
    node = state.fleet.tree.nodes[rank]
    return "lost" if state.fleet.tree.is_gone(node.name) else node.cordoned


def _promised(state: ClusterState, record: GangRecord) -> Explanation:
    waits_for = blockers(state, record)
    told = " and ".join(waits_for[:AHEAD]) or "its place"
    reason = Reason(Token.DRAINING, f"its place is promised; it starts once {told} has left")
    return Explanation(
        record.gang.id,
        record.phase,
        reason,
        holders=waits_for[:HOLDERS],
        holder_count=len(waits_for),
    )


def present_reason(state: ClusterState, record: GangRecord, now: int) -> Reason:
    """Why a gang waits as of now: what the last cycle found may have changed since.

    Args:
        state: left as it is; its nodes and shares are settled.
        record: a gang that waits.
        now: the time in ms.
    """
    if record.reason:
        return record.reason
    reason, _ = seek(state, record, now)
    if reason is None:
        return state.gangs.reason(record.gang.id) or _UNSEEN
    dealer = PlacementAttempt(state, now)
    with state.agenda.effort.apart():
        dealer.deal(record, reason)
    return dealer.proven(reason)
