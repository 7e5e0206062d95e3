"""A scenario in Kueue's words as events: what was before, and what the first cycle receives."""

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from conformance.kueue import schema as said
from conformance.kueue.gangs import BEGIN_MS, Seats, gang_of, ms
from conformance.kueue.nodes import Ground
from conformance.kueue.queues import DEFAULT_QUEUE, Rank, milli, queues_of
from ganglion.model import events as ev
from ganglion.model.fleet.node import Node
from ganglion.model.policy import Entitlement, Placing, Policy
from ganglion.model.queue import Queue
from ganglion.model.workload import Gang, PodSet

OTHERS = "~others"
"""Queue of the pods that this scheduler does not manage."""

PRESENT = ("Running", "Pending")
"""Phases in which a bound pod uses its node."""


class Setup(Struct):
    """What a scenario begins with.

    Attributes:
        policy: to decide by.
        ground: its nodes and levels.
        before: events that have happened.
        news: events that the first cycle receives.
        gangs: ids of the scenario's gangs, in the order of the file.
        waiting: those of them that wait at the beginning.
    """

    policy: Policy
    ground: Ground
    before: list[ev.Event]
    news: list[ev.Event]
    gangs: list[str]
    waiting: list[str]


def setup(case: said.Case, clusters: dict[str, said.Cluster], policy: Policy) -> Setup:
    """Translate a scenario."""
    as_kueue = policy.entitlement in (Entitlement.QUOTA, Entitlement.DOMINANT)
    ground = Ground(case, clusters, apart=as_kueue)
    rank = _ranks(case)
    nodes = {node.name: node for node in ground.nodes()}
    nodes |= {node.name: node for node in _lost(case, ground, nodes)}
    site = _Site(case, ground, nodes, Seats(nodes))
    before: list[ev.Event] = [ev.NodeAdded(0, node) for node in nodes.values()]
    before += [ev.QueueSet(0, queue) for queue in queues_of(case, rank)]
    before += _others(case, site.seats, nodes)
    begun = Setup(_policy(case, policy) if as_kueue else policy, ground, before, [], [], [])
    for workload in case.workloads:
        _add(begun, workload, gang_of(workload, case, ground, rank), site)
    gone = {each.running.failed_node for each in case.workloads if each.running} - {None}
    begun.news += [ev.NodeLost(BEGIN_MS, name) for name in sorted(str(each) for each in gone)]
    return begun


class _Site(Struct):
    case: said.Case
    ground: Ground
    nodes: dict[str, Node]
    seats: Seats


def _policy(case: said.Case, policy: Policy) -> Policy:
    """The policy with what the scenario switches on."""
    gates = case.kueue_gates
    if case.fair_sharing:
        policy = replace(policy, entitlement=Entitlement.DOMINANT)
    if gates.get("TASBalancedPlacement"):
        policy = replace(policy, placement=Placing.EVEN)
    if gates.get("ElasticJobsViaWorkloadSlices"):
        policy = replace(policy, elastic=True)
    return policy


def _add(begun: Setup, workload: said.Workload, gang: Gang, site: _Site) -> None:
    """A workload that waits, runs, or runs and is to have another size."""
    begun.gangs.append(gang.id)
    resize = site.case.resize
    running = workload.running
    if resize and resize.workload == gang.id:
        running = said.Running(placement={resize.podset: resize.before})
        gang = _before(gang, resize)
    if running is None:
        begun.news.append(ev.GangSubmitted(gang.submitted, gang))
    else:
        begun.before.append(ev.GangSubmitted(gang.submitted, gang))
        begun.before += _runs(gang, running, site)
    if running is not workload.running:
        begun.news += _resized(gang, site.case.resize)
    if workload.running is None:
        begun.waiting.append(gang.id)


def _before(gang: Gang, resize: said.Resize) -> Gang:
    """The gang as it was before it was to have another size."""
    count = sum(resize.before.values())
    sets = tuple(
        replace(each, count=count) if each.name == resize.podset else each for each in gang.pod_sets
    )
    return replace(gang, pod_sets=sets)


def _resized(gang: Gang, resize: said.Resize | None) -> Iterator[ev.Event]:
    if resize:
        yield ev.GangUpdated(BEGIN_MS, gang.id, counts={resize.podset: resize.to_count})


def _ranks(case: said.Case) -> Rank:
    """Priorities of the file are any numbers; ours are their ranks, in the same order."""
    numbers = {each.priority for each in case.workloads}
    for queue in case.queues:
        threshold = queue.preemption.borrow_within_cohort.max_priority
        numbers |= set() if threshold is None else {threshold}
    ranks = {number: rank for rank, number in enumerate(sorted(numbers))}
    return ranks.__getitem__


def _lost(case: said.Case, ground: Ground, nodes: dict[str, Node]) -> Iterator[Node]:
    """Nodes that failed before the scenario begins: they were beside their gang's other pods."""
    for workload in case.workloads:
        running = workload.running
        name = running.failed_node if running else None
        if not running or not name or name in nodes or not ground.cluster:
            continue
        used = [each for where in (running.placement or {}).values() for each in where]
        beside = next((each for each in used if each in nodes), min(nodes))
        flavor = nodes[beside].flavor
        gpu = sum(
            each.per_pod.get("gpu", 0) * (running.placement or {}).get(each.name, {}).get(name, 0)
            for each in workload.sets
        )
        at = ground.cluster.nodes[beside].at
        yield ground.node(name, said.Node(at=at, gpu=gpu), flavor)


def _others(case: said.Case, seats: Seats, nodes: dict[str, Node]) -> Iterator[ev.Event]:
    bound = [each for each in case.other_pods if each.node in nodes and each.phase in PRESENT]
    if bound:
        yield ev.QueueSet(0, Queue(OTHERS))
    for pod in bound:
        workload = said.Workload(f"~{pod.name}", OTHERS, req={"gpu": pod.gpu, "cpu": pod.cpu})
        gang = replace(gang_of(workload, case, Ground(case, {}, True), lambda _: 0))
        gang = replace(gang, preemptible=False)
        yield ev.GangSubmitted(0, gang)
        yield ev.GangPlaced(0, gang.id, 1, seats.placement(gang, {"main": {pod.node: 1}}))
        yield ev.GangStarted(0, gang.id, 1)


def _runs(gang: Gang, running: said.Running, site: _Site) -> Iterator[ev.Event]:
    at = ms(running.since)
    where = running.placement or {
        each.name: _seat(each, gang, running, site) for each in gang.pod_sets
    }
    yield ev.GangPlaced(at, gang.id, 1, site.seats.placement(gang, where))
    yield ev.GangStarted(at, gang.id, 1)


def _seat(each: PodSet, gang: Gang, running: said.Running, site: _Site) -> dict[str, int]:
    """A node for all pods of a set: one of the flavor, or the first of the queue's flavors."""
    queues = site.case.queues or (DEFAULT_QUEUE,)
    quota = next((queue.quota for queue in queues if queue.name == gang.queue), ())
    asked = "gpu" if each.request.gpu.count else "cpu"
    flavor = running.flavor or next(
        (cell.flavor for cell in quota if getattr(cell, asked) is not None),
        next(iter(site.ground.flavors)),
    )
    names = [name for name, node in site.nodes.items() if node.flavor == flavor]
    return {names[0]: each.count} if names else {}


def settles_at(number: int) -> int:
    """Time of a pass in ms; every one is a second after the one before."""
    return BEGIN_MS + milli(number + 3600)
