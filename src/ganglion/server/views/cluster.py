"""Queues, nodes, GPUs and why gangs wait, as the server shows them."""

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from datetime import UTC, datetime

import msgspec

from ganglion.api import nodes, policies, queues, reasons
from ganglion.engine.explain.capacity import capacity
from ganglion.engine.explain.explain import explain
from ganglion.engine.gangs.record import HOLDING, WAITING
from ganglion.engine.ordering.order import waiting_in_order
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.lifecycle.waiting.reserved import reason_of
from ganglion.model.causes import CordonKind
from ganglion.model.errors import NotFound
from ganglion.model.events import AlarmSet
from ganglion.model.fleet.booking import Booking
from ganglion.model.fleet.capacity import FlavorReport
from ganglion.model.fleet.node import Device, Node
from ganglion.model.plan import Phase
from ganglion.model.queue import ANY_FLAVOR, Queue
from ganglion.model.reasons import Explanation, Suggestion, chance_of
from ganglion.model.resources import WHOLE, Usage
from ganglion.server.commands.drains import CORDONED, PREFIX, drains, leaving
from ganglion.server.delivered.nodes import ClusterNode
from ganglion.server.delivered.queues import amounts_of
from ganglion.server.rest.etags import tag_of
from ganglion.server.rest.filters import StateQuery, TextQuery, holds
from ganglion.server.rest.pages import Rank, cut
from ganglion.server.views.past.standing import QueueStandings
from ganglion.server.views.workloads import placement_view, reason_view
from ganglion.specs.policy.printing import queue_document

ALL, IN_ANY_STATE = TextQuery(), StateQuery()
"""Queries that leave nothing out."""

Users = Mapping[int, list[str]]
"""Index of a device -> ids of the gangs that use it."""


def positions(state: ClusterState) -> dict[str, int]:
    """Gang id -> place in the order of everything that waits, from 1."""
    return {gang: place for place, gang in enumerate(waiting_in_order(state), 1)}


def waiting_by_reason(state: ClusterState) -> dict[str, int]:
    """Token of a reason -> gangs that wait for it; `unknown` before they were looked at."""
    counts: dict[str, int] = {}
    for record in state.gangs.records.values():
        if record.phase in WAITING:
            reason = reason_of(state, record.gang.id)
            token = str(reason.token) if reason else "unknown"
            counts[token] = counts.get(token, 0) + 1
    return counts


def explanations(
    state: ClusterState, gangs: Iterable[str], now: int
) -> Iterator[reasons.Explained]:
    """Why gangs wait; of equals only for the first one are changes tried."""
    seen: dict[Hashable, None] = {}
    for gang in gangs:
        lane = state.gangs.record(gang).lane
        yield explanation(state, gang, now, trials=lane not in seen)
        seen[lane] = None


def explanation(
    state: ClusterState, gang: str, now: int, *, trials: bool = True
) -> reasons.Explained:
    """Why a gang waits, with the sentence that sums it up."""
    found = explain(state, gang, now, trials=trials)
    if found.reason is None:
        found = msgspec.structs.replace(found, reason=reason_of(state, gang))
    return reasons.Explained(
        gang=found.gang,
        phase=found.phase,
        reason=reason_view(found.reason),
        histogram=found.histogram,
        ahead=found.ahead,
        ahead_count=found.ahead_count,
        position=found.position,
        suggestions=suggestions(found.suggestions),
        holders=found.holders,
        holder_count=found.holder_count,
        start=found.start,
        reserved_ms=found.reserved_ms,
        guesses=found.guesses,
        closed={node: _closed(state, node, why) for node, why in found.closed.items()},
        deadline_ms=found.deadline_ms,
        end=found.end,
        chance=chance_of(found.deadline_ms, found.end) if found.deadline_ms else None,
        raised=found.raised,
        next_raise=found.next_raise,
        held=(held := _held(state, gang)),
        text="; ".join((_text(found), *map(str, held))) + _leaving(state, gang, now),
    )


def _closed(state: ClusterState, node: str, why: str) -> str:
    """Why a node takes nothing new, with the command that ends that."""
    if state.fleet.tree.is_gone(node):
        return why
    command = opens(state, node)
    return why if command in why else f"{why}; ganglion {command} opens it"


def opens(state: ClusterState, node: str) -> str:
    """The command, without `ganglion`, that lets a node take work again."""
    drained = next((each for each in drains(state) if node in each.nodes), None)
    return f"undrain {drained.name.removeprefix(PREFIX)}" if drained else f"uncordon {node}"


def suggestions(found: tuple[Suggestion, ...]) -> tuple[reasons.Suggestion, ...]:
    """Suggestions as they are shown."""
    return tuple(reasons.Suggestion(**msgspec.structs.asdict(each)) for each in found)


def _text(found: Explanation) -> str:
    if found.reason is None:
        return f"{found.gang} does not wait: it is {found.phase}"
    when = "can never start" if found.reason.never else "waits"
    text = f"{found.gang} {when} ({found.reason.token}): {found.reason.message}"
    if found.ahead_count:
        text += f"; {found.ahead_count} ahead of it"
    if found.suggestions:
        text += f"; it would start if you {found.suggestions[0].change}"
    return text


def _held(state: ClusterState, gang: str) -> tuple[reasons.HeldItem, ...]:
    """What its nodes had of what it loads."""
    place = placement_view(state.gangs.record(gang).placement)
    return place.held if place else ()


def _leaving(state: ClusterState, gang: str, now: int) -> str:
    """That a gang runs on a node that is to be empty; nothing where it does not."""
    for booking, leaver in leaving(state, gang, now):
        by = datetime.fromtimestamp(booking.begins_at / 1000, UTC)
        why = f" ({booking.reason})" if booking.reason else ""
        return (
            f"; it is on nodes that are to be empty by {by:%Y-%m-%d %H:%M} UTC for"
            f" {booking.name}{why}: it {leaver.how}"
        )
    return ""


def queue_page(
    state: ClusterState, query: TextQuery = ALL, hidden: Collection[str] = (), now: int = 0
) -> queues.QueuePage:
    """Queues at a time in ms, by name, without those that are hidden."""
    counts, standings = _counts(state), QueueStandings(state, now)
    fitting = [
        queue
        for _, queue in sorted(state.queues.by_name.items())
        if holds(query.text.lower(), queue.name, queue.parent) and queue.name not in hidden
    ]
    shown, following = cut("queues", fitting, lambda each: (each.name,), query)
    items = tuple(_queue(state, each, counts, standings, hidden) for each in shown)
    return queues.QueuePage(items=items, next=following)


def queue_view(
    state: ClusterState, name: str, hidden: Collection[str] = (), now: int = 0
) -> queues.QueueView:
    """One queue, as `queue_page` shows it."""
    standings = QueueStandings(state, now)
    return _queue(state, state.queues.by_name[name], _counts(state), standings, hidden)


def _counts(state: ClusterState) -> Counter[tuple[str, bool]]:
    """Queue and whether they hold a place -> how many gangs of it are not over."""
    alive = (each for each in state.gangs.records.values() if each.phase is not Phase.ENDED)
    found = Counter((each.gang.queue, each.phase in HOLDING) for each in alive)
    counts = Counter[tuple[str, bool]]()
    for (leaf, holds_place), gangs in found.items():
        for queue in state.queues.shares.path(leaf):
            counts[queue, holds_place] += gangs
    return counts


def _queue(
    state: ClusterState,
    queue: Queue,
    counts: Counter[tuple[str, bool]],
    standings: QueueStandings,
    hidden: Collection[str],
) -> queues.QueueView:
    used = state.queues.shares.usage[queue.name]
    # Who may not see what lies above a queue may not see all that lies beside it.
    alone = bool(hidden) and (not queue.parent or queue.parent in hidden)
    return queues.QueueView(
        name=queue.name,
        parent=queue.parent,
        quota=amounts_of(queue.quota),
        limit=amounts_of(queue.limit),
        lend_limit=amounts_of(queue.lend_limit),
        over_quota_weight=queue.over_quota_weight,
        priority=queue.priority,
        max_pending=queue.max_pending,
        leaf=state.queues.shares.is_leaf(queue.name),
        gpu_used_milli=used.get("*", Usage()).gpu_milli,
        deserved_gpu_milli=state.deserved.milli(queue.name),
        reclaimable_gpu_milli=_reclaimable(state, queue.name),
        used=amounts_of(used),
        running=counts[queue.name, True],
        waiting=counts[queue.name, False],
        document=queue_document(queue),
        etag=queue_tag(queue),
        bounds=standings.bounds(queue.name),
        past=standings.past(queue.name, alone=alone),
    )


def _reclaimable(state: ClusterState, queue: str) -> int:
    """Thousandths of GPUs that a queue uses beyond its quota and what it deserves."""
    used, deserved = state.queues.shares.usage[queue], state.deserved
    beyond = {
        account: max(used.get(account, Usage()).gpu_milli - deserved.bound(queue, account), 0)
        for account in deserved.all_accounts()
    }
    whole = beyond.pop(ANY_FLAVOR, 0)
    return max(whole, sum(beyond.values()))


def queue_tag(queue: Queue | None) -> str:
    """The tag of a queue's rules; empty = there is no such queue."""
    return tag_of(queue_document(queue)) if queue else ""


def queue_rules(state: ClusterState, name: str) -> queues.QueueRules:
    """The rules of one queue. Raises NotFound."""
    queue = state.queues.by_name.get(name)
    if queue is None:
        raise NotFound(f"there is no queue {name!r}", "see `ganglion queues`")
    return queues.QueueRules(name=name, document=queue_document(queue), etag=queue_tag(queue))


def node_page(
    state: ClusterState,
    alarms: Mapping[tuple[str, str], AlarmSet] | None = None,
    query: StateQuery = IN_ANY_STATE,
    away: Iterable[ClusterNode] = (),
) -> nodes.NodePage:
    """Nodes, by name.

    Args:
        state: of the engine.
        alarms: those that stand, by subject and alarm.
        query: which nodes, and which page of them.
        away: those of clusters, which come last.

    Raises:
        FieldError: the query's cursor is none.
    """
    users: dict[str, dict[int, list[str]]] = {}
    pods: dict[str, int] = {}
    odd: dict[str, list[str]] = {}
    for alarm in (alarms or {}).values():
        odd.setdefault(alarm.subject, []).append(alarm.message)
    for gang, record in state.gangs.records.items():
        for pod in record.placement.pods if record.placement else ():
            pods[pod.node] = pods.get(pod.node, 0) + 1
            for device in pod.devices:
                users.setdefault(pod.node, {}).setdefault(device, []).append(gang)
    fitting: list[Node | ClusterNode] = [
        node
        for name, node in sorted(state.fleet.nodes.items())
        if holds(query.text.lower(), name, node.kind, *node.domains.values())
        and (not query.state or _state(state, node, pods.get(name, 0)) in query.state)
    ]
    fitting += (
        each
        for each in sorted(away, key=lambda each: each.name)
        if holds(query.text.lower(), each.name, each.flavor)
        and (not query.state or each.state in query.state)
    )

    def shown_as(each: Node | ClusterNode) -> nodes.NodeView:
        if isinstance(each, ClusterNode):
            return each.view()
        name = each.name
        return _node(state, each, users.get(name, {}), pods.get(name, 0), odd.get(name, []))

    def rank(each: Node | ClusterNode) -> Rank:
        return int(isinstance(each, ClusterNode)), each.name

    shown, following = cut("nodes", fitting, rank, query)
    return nodes.NodePage(items=tuple(map(shown_as, shown)), next=following)


def node_view(
    state: ClusterState, node: Node, alarms: Mapping[tuple[str, str], AlarmSet]
) -> nodes.NodeView:
    """One node; no other one is looked at."""
    users: dict[int, list[str]] = {}
    pods = 0
    for gang, record in state.gangs.records.items():
        for pod in record.placement.pods if record.placement else ():
            if pod.node == node.name:
                pods += 1
                for device in pod.devices:
                    users.setdefault(device, []).append(gang)
    odd = [each.message for each in alarms.values() if each.subject == node.name]
    return _node(state, node, users, pods, odd)


def _node(
    state: ClusterState, node: Node, users: Users, pods: int, odd: list[str]
) -> nodes.NodeView:
    condition = state.fleet.table.known[
        state.fleet.tree.conditions[state.fleet.tree.rank(node.name)]
    ]
    drained = next((each for each in drains(state) if node.name in each.nodes), None)
    return nodes.NodeView(
        name=node.name,
        flavor=node.kind,
        state=_state(state, node, pods),
        reason="; ".join(filter(None, (node.cordoned.removeprefix(CORDONED), *odd))),
        deadline=drained.begin if drained else 0,
        domains={str(level): name for level, name in node.domains.items()},
        labels=node.labels,
        gpu_total_milli=WHOLE * sum(device.healthy for device in node.devices),
        gpu_free_milli=sum(condition.usable) if condition.open else 0,
        cpu_total_milli=node.cpu_milli,
        cpu_free_milli=condition.cpu if condition.open else 0,
        memory_total_mib=node.memory_mib,
        memory_free_mib=condition.memory if condition.open else 0,
        pods=pods,
        devices=tuple(
            _device(index, device, free, users.get(index, []))
            for index, (device, free) in enumerate(zip(node.devices, condition.gpu, strict=False))
        ),
    )


def _state(state: ClusterState, node: Node, pods: int) -> str:
    if state.fleet.tree.is_gone(node.name):
        return "lost"
    if node.cordon is CordonKind.DRAIN:
        return "draining" if pods else "drained"
    return "cordoned" if node.cordoned else "ready"


def _device(index: int, device: Device, free: int, gangs: list[str]) -> nodes.DeviceView:
    return nodes.DeviceView(
        index=index,
        type=device.type,
        memory_mib=device.memory_mib,
        numa=device.numa,
        island=device.island,
        uuid=device.uuid,
        healthy=device.healthy,
        free_milli=free,
        gangs=tuple(gangs),
    )


def capacity_page(
    state: ClusterState, query: TextQuery = ALL, away: Iterable[FlavorReport] = ()
) -> nodes.CapacityPage:
    """Flavors, by name; `away` has those of clusters."""
    found = (*capacity(state), *away)
    fitting = [each for each in found if holds(query.text.lower(), each.flavor)]
    fitting.sort(key=lambda each: each.flavor)
    shown, following = cut("gpus", fitting, lambda each: (each.flavor,), query)
    return nodes.CapacityPage(items=tuple(shown), next=following)


def booking_view(booking: Booking, now: int) -> policies.BookingView:
    """A booking as it is at a time in ms, by the clock of the server."""
    running = "active" if now < booking.end else "over"
    return policies.BookingView(
        name=booking.name,
        nodes=booking.nodes,
        begin=booking.begins_at,
        end=booking.ends_at,
        queues=booking.queues,
        users=booking.users,
        reason=booking.reason,
        state="planned" if now < booking.begin else running,
        clears=booking.clears,
    )
