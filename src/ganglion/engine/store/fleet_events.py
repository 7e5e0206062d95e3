"""Facts about nodes and queues, taken into the state. Each says whether it changed anything."""

from collections.abc import Collection
from typing import Any

from msgspec.structs import replace

from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.plugins.builtin import check_scores
from ganglion.engine.queues.budget_account import UNIT
from ganglion.engine.store.gang_events import broken
from ganglion.engine.store.queue_rules import reshape
from ganglion.engine.store.store import Store
from ganglion.model import events as ev
from ganglion.model.causes.former import cordon_of
from ganglion.model.errors import Conflict, NotFound
from ganglion.model.events.policy import ClusterMoney
from ganglion.model.fleet.node import Node
from ganglion.model.placement import PodPlacement
from ganglion.model.plan import Phase
from ganglion.model.queue import CLUSTER_SIGN, cap_of
from ganglion.pricing.zones import month_of


def node_added(state: Store, event: ev.NodeAdded) -> bool:
    """A node joined or changed; what it holds makes nothing possible, and breaks nothing."""
    if _holds_otherwise(state, event.node):
        state.fleet.tree.put(event.node)
        return True
    if state.holdings.promised:
        _break_promises(state, event.node.name)
    state.fleet.tree.put(event.node)
    state.fleet.changed()
    return True


def _holds_otherwise(state: Store, node: Node) -> bool:
    """Whether nothing about a node is new but what it holds."""
    known = state.fleet.tree.known(node.name)
    if known is None or known.holds == node.holds or state.fleet.tree.is_gone(node.name):
        return False
    return replace(known, holds=node.holds) == node


def lacks(node: Node, record: GangRecord, pod: PodPlacement) -> bool:
    """Whether a node, as described, has not the devices that a pod of a gang holds there."""
    if not pod.devices:
        return False
    if pod.devices[-1] >= len(node.devices):
        return True
    sets = record.gang.pod_sets
    types = next(each.request.gpu.types for each in sets if each.name == pod.pod_set)
    return bool(types) and any(node.devices[each].type not in types for each in pod.devices)


def node_lost(state: Store, event: ev.NodeLost) -> bool:
    """A node is gone."""
    if state.fleet.tree.is_gone(event.name):
        return False
    state.fleet.tree.drop(event.name)
    _break_promises(state, event.name)
    state.fleet.changed()
    return True


def node_cordoned(state: Store, event: ev.NodeCordoned) -> bool:
    """A node takes nothing new, or does again."""
    node = state.fleet.tree.node(event.name)
    return _redescribe(
        state, node, cordoned=event.reason, cordoned_by=cordon_of(event.reason, event.by)
    )


def device_health(state: Store, event: ev.DeviceHealth) -> bool:
    """A device fell sick or is well again."""
    node = state.fleet.tree.node(event.node)
    if not 0 <= event.device < len(node.devices):
        raise NotFound(f"node {event.node} has no device {event.device}")
    devices = list(node.devices)
    devices[event.device] = replace(devices[event.device], healthy=event.healthy)
    return _redescribe(state, node, devices=tuple(devices))


def _break_promises(state: Store, node: str) -> None:
    """The node is not what it was when places on it were promised."""
    for gang in list(state.holdings.promised):
        record = state.gangs.records[gang]
        if record.promise and any(pod.node == node for pod in record.promise.pods):
            broken(state, record)


def _redescribe(state: Store, node: Node, **changes: Any) -> bool:  # noqa: ANN401 - fields of Node
    changed = replace(node, **changes)
    if changed == node:
        return False
    _break_promises(state, node.name)
    gone = state.fleet.tree.is_gone(node.name)
    state.fleet.tree.put(changed)
    if gone:
        state.fleet.tree.drop(node.name)
    state.fleet.changed()
    return True


def queue_set(state: Store, event: ev.QueueSet) -> bool:
    """A queue was made or changed."""
    if state.queues.shares.queues.get(event.queue.name) == event.queue:
        return False
    if event.queue.parent and any(
        each.gang.queue == event.queue.parent and each.phase is not Phase.ENDED
        for each in state.gangs.records.values()
    ):
        raise Conflict(f"queue {event.queue.parent} has gangs and cannot get queues under it")
    for each in event.queue.kinds.values():
        check_scores(state.config.plugins, each.scores)
    before = state.queues.by_name.get(event.queue.name)
    state.queues.shares.put(event.queue)
    state.gangs.sharers.regroup()
    if before and before.kinds != event.queue.kinds:
        for record in state.gangs.records.values():
            if record.gang.queue == event.queue.name and record.phase is Phase.PENDING:
                reshape(state, record)
    # What was promised was within the means of before; it is decided anew.
    for gang in list(state.holdings.promised):
        broken(state, state.gangs.records[gang])
    state.progress.changed()
    return True


def queue_removed(state: Store, event: ev.QueueRemoved) -> bool:
    """A queue was removed."""
    for each in state.gangs.records.values():
        if each.gang.queue == event.name and each.phase is not Phase.ENDED:
            raise Conflict(f"queue {event.name} still has gang {each.gang.id}")
    state.queues.shares.remove(event.name)
    state.queues.budgets.remove(event.name)
    return True


def price_set(state: Store, event: ev.PriceSet) -> bool:
    """A price was set."""
    budgets = state.queues.budgets
    budgets.advance(state.progress.clock)
    budgets.prices.note(event)
    budgets.price_set(state.progress.clock)
    state.progress.changed(bool(budgets.accounts))
    return True


def money_heard(state: Store, heard: ClusterMoney, now: int, *, again: bool) -> None:
    """A server says how the budgets of the queues stand; those that it does not name are none.

    In another month than the one that it speaks of, what is counted here goes on, and so it does
    where it was heard before, and is about new queues now.
    """
    budgets = state.queues.budgets
    budgets.advance(now)
    budgets.prices.records[:] = heard.prices
    named = {name.rpartition(CLUSTER_SIGN)[2]: name for name in heard.budgets}
    wanted = {
        name: heard.budgets[known] for name, known in named.items() if name in state.queues.by_name
    }
    before = {name: (each.limit, each.spent) for name, each in budgets.accounts.items()}
    for name in before:
        if name not in wanted:
            budgets.remove(name)
    for name, each in wanted.items():
        account = budgets.accounts.get(name)
        is_now = each.begin == month_of(budgets.now, each.budget.zone)[0]
        if (is_now and not again) or account is None:
            more = each.carried_micro, each.raised_micro
            own = each.budget.micro - sum(more)
            budget = replace(each.budget, queue=name, known_as=named[name], micro=own)
            budgets.put(budget, each.spent_micro if is_now else 0, budgets.now)
            budgets.accounts[name].add(*(more if is_now else (0, 0)))
    budgets.price_set(budgets.now)
    state.holdings.count_costs()
    after = {name: (each.limit, each.spent) for name, each in budgets.accounts.items()}
    limits = [name for name in after if before.get(name, (None, 0))[0] != after[name][0]]
    _decide_anew(state, limits)
    less = (after[name][1] < spent for name, (_, spent) in before.items() if name in after)
    state.progress.changed(before.keys() != after.keys() or bool(limits) or any(less))


def _decide_anew(state: Store, queues: Collection[str]) -> None:
    """What was promised below these was within the means of before; it is decided anew."""
    for gang in list(state.holdings.promised):
        record = state.gangs.records[gang]
        if not set(queues).isdisjoint(state.queues.shares.path(record.gang.queue)):
            broken(state, record)


def budget_set(state: Store, event: ev.BudgetSet) -> bool:
    """A queue has another budget, or what it has spent was counted anew."""
    if CLUSTER_SIGN in event.budget.queue:
        return False  # its scheduler holds it
    state.queues.shares.path(event.budget.queue)
    budgets = state.queues.budgets
    budgets.put(event.budget, event.spent_micro, state.progress.clock)
    if event.carried_micro:
        budgets.accounts[event.budget.queue].carried = event.carried_micro * UNIT
    state.holdings.count_costs()
    _decide_anew(state, (event.budget.queue,))
    state.progress.changed()
    return True


def token_created(state: Store, event: ev.TokenCreated) -> bool:
    """A token was made; the engine takes notice of its spending cap."""
    if not event.cap_micro:
        return False
    records = state.gangs.records.values()
    used = {cap_of(e.gang.cap) for e in records if e.gang.cap and e.phase is not Phase.ENDED}
    now = state.progress.clock
    state.queues.budgets.cap(event.token, event.cap_micro, event.until_ms, used, now)
    state.holdings.count_costs()
    return True


def budget_removed(state: Store, event: ev.BudgetRemoved) -> bool:
    """A queue has no budget any more."""
    if event.queue not in state.queues.budgets.accounts:
        return False
    state.queues.budgets.remove(event.queue)
    state.progress.changed()
    return True


def budget_raised(state: Store, event: ev.BudgetRaised) -> bool:
    """A queue may spend more until the month is over."""
    if event.queue not in state.queues.budgets.accounts:
        return False
    state.queues.budgets.raise_by(event.queue, event.micro, state.progress.clock)
    state.progress.changed()
    return True


def policy_set(state: Store, event: ev.PolicySet) -> bool:
    """Another policy is in force. Its plugins are those the state was made with."""
    if state.config.policy == event.policy:
        return False
    state.config.policy = event.policy
    state.queues.past.change(event.policy.usage.half_life_ms, state.progress.clock)
    state.gangs.sharers.regroup()
    for record in state.gangs.records.values():
        record.fault = ""
        if record.phase is Phase.PENDING:
            reshape(state, record)
    state.progress.changed()
    return True


def typical(state: Store, event: ev.TypicalPods) -> bool:
    """Fragmentation is measured against another workload."""
    state.gangs.census.told(event.learnt)
    if state.fleet.table.typical == event.pods:
        return False
    state.fleet.table.measure_by(event.pods, state.fleet.table.supply)
    return True


def of_no_concern(_state: Store, _event: ev.Event) -> bool:
    """Something that others keep: it makes no difference to decisions."""
    return False
