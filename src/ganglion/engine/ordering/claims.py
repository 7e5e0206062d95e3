"""Waiting gangs that get a claim although nothing was freed.

A lane in which nothing can start is shut until something is freed. Two more things can let its
first gang preempt others: a queue begins to use more than it deserves, by what it starts or
because others ask for more; and a gang of lower priority starts in the own queue.
"""

from collections.abc import Callable, Iterable, Iterator

from ganglion.engine.gangs.pending import PendingClass
from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.kueue.cycle import SIDE_BY_SIDE
from ganglion.engine.preemption_rules.rules import rules
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.engine.store.entitlement import KINDS, Entitled
from ganglion.engine.store.victims import VictimUnit
from ganglion.model.causes import CauseKind
from ganglion.model.plan import Start


def new_claims(state: ClusterState, now: int) -> None:
    """Open the lanes whose first gang may take from a queue that went over its share.

    Args:
        state: the fleet and the queues.
        now: the time in ms.
    """
    if not state.config.policy.evict.enabled or not len(state.gangs.lanes):
        state.agenda.over = frozenset()
        return
    before, state.agenda.over = state.agenda.over, frozenset(_over(state))
    names = state.agenda.over - before
    if not names:
        return
    may_take = _takes_from(state, names, now)
    for _, record in _shut(state):
        if may_take(record):
            state.gangs.lanes.reopen(record.gang.id)


def _takes_from(
    state: ClusterState, names: frozenset[str], now: int
) -> Callable[[GangRecord], bool]:
    """Says whether a gang may have any gang under some queues stopped, as things stand."""
    found = _lowest(state, names)
    if state.config.policy.entitlement in SIDE_BY_SIDE:
        return lambda record: any(each.gang.queue != record.gang.queue for each in found)
    allows = rules().allows
    units = [
        VictimUnit(each, each.placement.pods, True, 0, CauseKind.RECLAIMED)
        for each in found
        if each.placement
    ]
    return lambda record: any(allows(state, record, unit, now) for unit in units)


def overtaken(state: ClusterState, starts: Iterable[Start]) -> None:
    """Open the lanes of queues in which a gang of lower priority has started."""
    lowest: dict[str, int] = {}
    for start in starts:
        gang = start.gang
        if gang.preemptible:
            lowest[gang.queue] = min(gang.priority, lowest.get(gang.queue, gang.priority))
    if not lowest or not state.config.policy.evict.enabled:
        return
    for lane, record in _shut(state):
        if lowest.get(lane.queue, lane.priority) < lane.priority:
            state.gangs.lanes.reopen(record.gang.id)


def _over(state: ClusterState) -> Iterator[str]:
    """Queues that use more than they deserve; as Kueue counts it, more than their quota."""
    entitled = Entitled(state, state.config.policy.evict.dead_zone_permille)
    borrows = state.config.policy.entitlement in SIDE_BY_SIDE
    is_over = entitled.over_quota if borrows else entitled.over_share
    flavors = state.fleet.totals.flavors()
    for name, used in state.queues.shares.usage.items():
        if used and any(is_over(name, each, KINDS) for each in flavors):
            yield name


def _lowest(state: ClusterState, names: frozenset[str]) -> list[GangRecord]:
    """The gang of the lowest priority that may be stopped, of each leaf under some queues."""
    found: dict[str, GangRecord] = {}
    for record in state.holdings.settled():
        gang = record.gang
        if gang.preemptible and not names.isdisjoint(state.queues.shares.path(gang.queue)):
            known = found.get(gang.queue)
            if known is None or gang.priority < known.gang.priority:
                found[gang.queue] = record
    return list(found.values())


def _shut(state: ClusterState) -> list[tuple[PendingClass, GangRecord]]:
    """Lanes that wait for something to be freed, each with its first gang."""
    heads = (
        (lane, lane.head()) for lane in state.gangs.lanes if lane.shut_at == state.progress.freed
    )
    return [(lane, state.gangs.records[key[-1]]) for lane, key in heads if key]
