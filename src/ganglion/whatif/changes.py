"""From a past and what should be otherwise to what a second replay is given."""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ganglion.engine.state.cluster_state import ClusterState
from ganglion.model.errors import Conflict, FieldError, NotFound
from ganglion.model.events import (
    Event,
    NodeAdded,
    NodeCordoned,
    NodeLost,
    PolicySet,
    PriceSet,
    QueueRemoved,
    QueueSet,
)
from ganglion.model.fleet.levels import DEPTH, Level
from ganglion.model.fleet.node import Device, Node
from ganglion.model.fleet.price import Price
from ganglion.model.policy import Policy
from ganglion.model.queue import Queue
from ganglion.model.workload import Gang
from ganglion.specs.policy.queue_tree import parents_first
from ganglion.whatif.past import PastPeriod, there
from ganglion.whatif.wishes import OtherNodes, OtherPrice, OtherQueue
from ganglion.worlds.simulated.job import SimJob
from ganglion.worlds.simulated.scenario import SimulatedScenario
from ganglion.worlds.simulated.setup.cluster import build_nodes

ADDED = "whatif"
"""Begin of the names of nodes that join, and their rack."""


class WhatIfChange(Struct, frozen=True):
    """What should be otherwise; what is left out is as it was.

    Attributes:
        policy: in force over the whole period.
        queues: the whole queue tree of it; None = as it was.
        nodes: that join or leave at the begin.
        queue_rules: queues with all their rules, made where there were none.
        queue_wishes: settings of queues.
        prices: of the whole period.
        gangs: that are submitted in the period.
    """

    policy: Policy | None = None
    queues: tuple[Queue, ...] | None = None
    nodes: tuple[OtherNodes, ...] = ()
    queue_wishes: tuple[OtherQueue, ...] = ()
    prices: tuple[OtherPrice, ...] = ()
    gangs: tuple[Gang, ...] = ()
    queue_rules: tuple[Queue, ...] = ()


def scenario_with(past: PastPeriod, change: WhatIfChange) -> SimulatedScenario:
    """The scenario of a past with something changed.

    Raises:
        NotFound: it names a queue or flavor that there was not.
        Conflict: jobs of the past have no queue any more, or more nodes leave than there were.
        FieldError: the first price has no currency.
    """
    facts = list(past.scenario.facts)
    first: list[Event] = []
    if change.policy is not None:
        facts = [each for each in facts if not isinstance(each, PolicySet)]
        first.append(PolicySet(past.since, change.policy))
    if change.queues is not None:
        _check_queues(past, change)
        facts = [each for each in facts if not isinstance(each, QueueSet)]
        first += _tree(past.state, change.queues, past.since)
    more, facts = _queues(past, change, facts)
    first += more
    for wish in change.nodes:
        more, facts = _nodes(past, wish, facts, [*first])
        first += more
    prices = _prices(past, change.prices)
    if prices:
        keys = {each.price.key for each in prices}
        facts = [e for e in facts if not (isinstance(e, PriceSet) and e.price.key in keys)]
        first += prices
    jobs = [*past.scenario.jobs, *_submitted(past, change.gangs)]
    return replace(
        past.scenario,
        facts=(*first, *facts),
        jobs=tuple(sorted(jobs, key=lambda job: job.gang.submitted)),
    )


def prices_with(past: PastPeriod, change: WhatIfChange) -> list[PriceSet]:
    """Every price that holds with a change: a new one takes the place of those of its key."""
    new = _prices(past, change.prices)
    keys = {each.price.key for each in new}
    return [*(each for each in past.prices if each.price.key not in keys), *new]


def _prices(past: PastPeriod, wishes: Iterable[OtherPrice]) -> list[PriceSet]:
    known = next((each.price.currency for each in past.prices), "")
    found = list[PriceSet]()
    for wish in wishes:
        currency = known or wish.currency
        if not currency:
            hint = f"write it behind the amount: {wish.flavor}=2.50EUR"
            raise FieldError("the first price has to name the currency", key="price", hint=hint)
        if wish.currency not in ("", currency):
            raise Conflict(f"prices are in {currency}, not in {wish.currency}", "convert the price")
        price = Price(wish.flavor, past.since, wish.micro, currency=currency)
        found.append(PriceSet(past.since, price))
    return found


def _check_queues(past: PastPeriod, change: WhatIfChange) -> None:
    """Every job of the past has a queue in the new tree. Raises Conflict."""
    queues = change.queues or ()
    leaves = {each.name for each in queues} - {each.parent for each in queues}
    for job in past.scenario.every_job:
        if job.gang.queue not in leaves:
            raise Conflict(
                f"jobs of the period are in queue {job.gang.queue}, which the policy has not",
                "keep it in the file, without quota, to see what the rest changes",
            )


def _tree(state: ClusterState, queues: Sequence[Queue], at: int) -> list[Event]:
    wanted = {each.name for each in queues}
    present = parents_first(state.queues.by_name.values())
    gone = [QueueRemoved(at, each.name) for each in reversed(present) if each.name not in wanted]
    return [*(QueueSet(at, each) for each in parents_first(queues)), *gone]


def _queues(
    past: PastPeriod, change: WhatIfChange, facts: list[Event]
) -> tuple[list[Event], list[Event]]:
    """Queues at the begin, and facts in which queues that are set later are as wished too."""
    present = change.queues or past.state.queues.by_name.values()
    by_name = {each.name: each for each in present}
    rules = {each.name: each for each in change.queue_rules}
    wishes = {each.name: each for each in change.queue_wishes}
    later = {each.queue.name for each in facts if isinstance(each, QueueSet)}
    known = {*by_name, *later, *rules}
    above = {each.parent for each in rules.values() if each.parent}
    for name in (*wishes, *above):
        if name not in known:
            there_were = ", ".join(sorted({*by_name, *later})) or "none"
            raise NotFound(f"there was no queue {name}", f"there were: {there_were}")
    _check_leaves(past, rules)
    begin = {**by_name, **{n: each for n, each in rules.items() if n not in later}}
    first = [
        QueueSet(past.since, _as_wished(each, rules, wishes))
        for each in parents_first(begin.values())
        if (each.name in rules or each.name in wishes) and each.parent in {"", *begin}
    ]
    changed = [
        replace(each, queue=_as_wished(each.queue, rules, wishes))
        if isinstance(each, QueueSet)
        else each
        for each in facts
    ]
    return list(first), changed


def _as_wished(queue: Queue, rules: Mapping[str, Queue], wishes: Mapping[str, OtherQueue]) -> Queue:
    found, wish = rules.get(queue.name, queue), wishes.get(queue.name)
    return wish.of(found) if wish else found


def _check_leaves(past: PastPeriod, rules: Mapping[str, Queue]) -> None:
    """No queue with jobs of the past gets another one below it. Raises Conflict."""
    above = {each.parent for each in rules.values()}
    for job in past.scenario.every_job:
        if job.gang.queue in above:
            raise Conflict(
                f"jobs of the period are in queue {job.gang.queue}, which would have a queue below",
                "work is charged to leaves: try it in a queue without work",
            )


def _nodes(
    past: PastPeriod, wish: OtherNodes, facts: list[Event], before: Sequence[Event]
) -> tuple[list[Event], list[Event]]:
    """Nodes that join or leave at the begin, and the facts without those that are about them.

    Nodes that joined within the period are known as well: those that leave never join.
    """
    present = there(past.state)
    joined = [each.node for each in facts if isinstance(each, NodeAdded)]
    of_flavor = {each.name: each for each in (*present, *joined) if each.kind == wish.flavor}
    known = list(of_flavor.values())
    if wish.count > 0:
        taken = sum(isinstance(each, NodeAdded) for each in before)
        fresh = _fresh(wish, known, taken)
        return [NodeAdded(past.since, node) for node in fresh], facts
    lost = {each.name for each in before if isinstance(each, NodeLost)}
    names = sorted(each.name for each in known if each.name not in lost)
    if wish.gpus is not None:
        sizes = {each.name: len(each.devices) for each in known}
        names = [name for name in names if sizes[name] == wish.gpus]
    if len(names) < -wish.count:
        raise Conflict(
            f"{-wish.count} nodes of flavor {wish.flavor} cannot leave: there were {len(names)}",
            "see: ganglion nodes",
        )
    gone = names[wish.count :]
    rest = [each for each in facts if _node_of(each) not in gone]
    here = {each.name for each in present}
    return [NodeLost(past.since, name) for name in gone if name in here], rest


def _node_of(fact: Event) -> str | None:
    if isinstance(fact, NodeAdded):
        return fact.node.name
    if isinstance(fact, NodeLost | NodeCordoned):
        return fact.name
    return str(getattr(fact, "node", "")) or None


def _fresh(wish: OtherNodes, known: Sequence[Node], taken: int) -> list[Node]:
    """Nodes as those of the flavor are, each for itself below the rack; made up where none are."""
    like = [each for each in known if wish.gpus in (None, len(each.devices))]
    gpus = 8 if wish.gpus is None else wish.gpus
    base = like[0] if like else build_nodes(1, gpus, cpus=32)[0]
    domains = {
        level: name for level, name in base.domains.items() if DEPTH[level] < DEPTH[Level.RACK]
    }
    made = list[Node]()
    for number in range(taken + 1, taken + wish.count + 1):
        node = replace(
            base,
            name=f"{ADDED}-{number}",
            domains={**domains, Level.RACK: ADDED},
            cordoned="",
            cordoned_by=None,
            devices=tuple(replace(each, uuid="", healthy=True) for each in base.devices),
        )
        if not like:
            devices = tuple(Device(wish.flavor, each.memory_mib) for each in node.devices)
            node = replace(node, devices=devices, flavor=wish.flavor)
        made.append(node)
    return made


def _submitted(past: PastPeriod, gangs: Iterable[Gang]) -> list[SimJob]:
    """Jobs of gangs that were not submitted: they run as long as they may, or as half of all do."""
    runs = sorted(job.duration_ms for job in past.scenario.every_job if job.duration_ms is not None)
    usual = runs[(len(runs) - 1) // 2] if runs else 3_600_000
    return [SimJob(gang, gang.time_limit_ms or gang.expected_ms or usual) for gang in gangs]
