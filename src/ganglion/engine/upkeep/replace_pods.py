"""Replacing the pods that a gang lost with a node or a GPU, while the rest of it goes on.

That happens to gangs whose programs can take it (`Gang.replace`), and for lost nodes to all
gangs where the policy says so. Any other gang that holds devices which a node came back without
is stopped.

The lost pods look for a place of their own: in the domain that the rest shares where the gang
requires one, and in the flavor they had. A gang that finds none goes on without them if it is
elastic and still has its least; else it is stopped as a whole, at once.

Source: the replacement of failed nodes in Kueue's topology-aware scheduling.
"""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from ganglion.engine.decisions import decide
from ganglion.engine.gangs.record import SETTLED, GangRecord
from ganglion.engine.placement.pack import common
from ganglion.engine.placement.place import Demand
from ganglion.engine.placement.tas import place_tightly, suits
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.engine.store.fleet_events import lacks
from ganglion.engine.store.undo import Tentative
from ganglion.engine.timeline.nominations import is_clear
from ganglion.engine.topology.pod_shape import Shape, excluding
from ganglion.engine.upkeep.shrink import is_enough
from ganglion.model.causes import Cause, CauseKind
from ganglion.model.events import GangResized, GangStopping
from ganglion.model.fleet.levels import Level
from ganglion.model.placement import Placement, PodPlacement
from ganglion.model.plan import Plan, Resize, Stop
from ganglion.model.workload import Gang, PodSet, Slice, Topology

Pods = tuple[PodPlacement, ...]


def mend(state: ClusterState, plan: Plan) -> None:
    """Replace what gangs have lost, where they or the policy say so."""
    for event in repairs(state, plan.at):
        decide(state, [event], plan)
        if isinstance(event, GangStopping):
            plan.stops.append(Stop(event.gang, event.attempt, event.cause))
        else:
            gang = state.gangs.records[event.gang].gang
            plan.resizes.append(Resize(gang, event.attempt, event.placement, event.cause))


def repairs(state: ClusterState, now: int) -> Iterator[GangResized | GangStopping]:
    """What becomes of gangs that lost pods; apply each before asking for the next."""
    gone = state.fleet.tree.gone()
    if not gone and not state.fleet.tree.sick and not state.holdings.stranded:
        return
    for record in state.holdings.settled():
        if record.fault:
            continue
        state.journal.attend(record.gang.id)
        stranded = _stranded(state, record)
        may = record.gang.replace or (state.config.policy.repair and (gone or stranded))
        lost = stranded + (_lost(state, record, stranded) if may else ())
        if not lost or record.phase not in SETTLED:
            continue
        decision = _repair(state, record, lost, now) if may else _stopped(record, lost, now)
        if decision:
            yield decision


def _stranded(state: ClusterState, record: GangRecord) -> Pods:
    """Pods that hold devices which their nodes came back without."""
    if record.gang.id not in state.holdings.stranded:
        return ()
    node, pods = state.fleet.tree.node, record.placement.pods if record.placement else ()
    found = tuple(pod for pod in pods if lacks(node(pod.node), record, pod))
    if not found:
        del state.holdings.stranded[record.gang.id]
    return found


def _stopped(record: GangRecord, lost: Pods, now: int) -> GangStopping:
    """What is gone stops a gang that cannot go on in part."""
    cause = Cause(CauseKind.DEVICES_GONE, devices=_devices(lost))
    return GangStopping(now, record.gang.id, record.attempt, cause)


def _devices(lost: Pods) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Devices by node."""
    devices: dict[str, set[int]] = {}
    for pod in lost:
        devices.setdefault(pod.node, set()).update(pod.devices)
    return tuple((node, tuple(sorted(each))) for node, each in devices.items())


def _lost(state: ClusterState, record: GangRecord, beside: Pods) -> Pods:
    """Pods on nodes that are gone, or with GPUs that fell sick, but for some."""
    tree, sick = state.fleet.tree, state.fleet.tree.sick if record.gang.replace else {}
    return tuple(
        pod
        for pod in (record.placement.pods if record.placement else ())
        if pod not in beside
        and (tree.is_gone(pod.node) or not sick.get(pod.node, frozenset()).isdisjoint(pod.devices))
    )


def completed(state: ClusterState, record: GangRecord, pods: Pods) -> Placement | None:
    """A place for a whole gang of which some pods sit already, as after a crash.

    Args:
        state: the fleet, which does not count the gang; left as it is.
        record: the gang.
        pods: those that sit, at least one.

    Returns:
        Those pods and places for all others; None when there are none.
    """
    sitting = {(pod.pod_set, pod.index): pod for pod in pods}
    order = [(each.name, index) for each in record.gang.pod_sets for index in range(each.count)]
    missing = tuple(PodPlacement(*each, pods[0].node) for each in order if each not in sitting)
    tentative = Tentative(state)
    tentative.seat(record, Placement(pods))
    try:
        found = _new_places(state, record, pods, missing, tentative)
    finally:
        tentative.undo()
    if found is None:
        return None
    everybody = tuple((sitting | found)[each] for each in order)
    level, domain = common(
        state.fleet.indexes, [state.fleet.tree.rank(pod.node) for pod in everybody]
    )
    return Placement(everybody, level, domain)


def elsewhere(state: ClusterState, record: GangRecord, lost: Pods) -> Placement | None:
    """A gang's place with others for some of its pods, whose nodes do not take them.

    Args:
        state: the fleet; left as it is.
        record: a gang that has a place.
        lost: some of the pods of that place.

    Returns:
        None when there is nothing free for them now.
    """
    assert record.placement
    rest = tuple(pod for pod in record.placement.pods if pod not in lost)
    pods = _replaced(state, record, rest, lost)
    if pods is None:
        return None
    new = tuple(pod for pod in pods if pod not in rest)
    if not is_clear(state, record, Placement(new), counted=False):
        return None
    level, domain = common(state.fleet.indexes, [state.fleet.tree.rank(pod.node) for pod in pods])
    return Placement(pods, level, domain)


def _repair(
    state: ClusterState, record: GangRecord, lost: Pods, now: int
) -> GangResized | GangStopping | None:
    """What becomes of one gang; None = it waits until others have left the place it found."""
    assert record.placement
    rest = tuple(pod for pod in record.placement.pods if pod not in lost)
    nodes = tuple(sorted({pod.node for pod in lost}))
    pods = _replaced(state, record, rest, lost)
    if pods is None and state.config.policy.elastic and is_enough(record.gang, rest):
        pods = rest
    if pods is None:
        cause = Cause(CauseKind.PODS_LOST, nodes=nodes)
        return GangStopping(now, record.gang.id, record.attempt, cause)
    new = tuple(pod for pod in pods if pod not in rest)
    if not is_clear(state, record, Placement(new), counted=False):
        return None
    level, domain = common(state.fleet.indexes, [state.fleet.tree.rank(pod.node) for pod in pods])
    place = Placement(pods, level, domain)
    cause = Cause(CauseKind.REPAIRED, nodes=nodes)
    return GangResized(now, record.gang.id, record.attempt, place, cause)


def _replaced(state: ClusterState, record: GangRecord, rest: Pods, lost: Pods) -> Pods | None:
    """All pods of the gang with new places for those lost; None = there is none."""
    assert record.placement
    with state.timeline.kept.beside(record.gang):
        tentative = Tentative(state)
        try:
            found = _new_places(state, record, rest, lost, tentative)
        finally:
            tentative.undo()
    if found is None or state.timeline.kept.refusal(record, Placement(tuple(found.values()))):
        return None
    return tuple(found.get((pod.pod_set, pod.index), pod) for pod in record.placement.pods)


def _new_places(
    state: ClusterState, record: GangRecord, rest: Pods, lost: Pods, tentative: Tentative
) -> dict[tuple[str, int], PodPlacement] | None:
    """New places by pod set and index; sets see the seats of those before them."""
    found: dict[tuple[str, int], PodPlacement] = {}
    for number, each in enumerate(record.gang.pod_sets):
        missing = [pod for pod in lost if pod.pod_set == each.name]
        if not missing:
            continue
        place = _place(state, record, number, missing, (*rest, *found.values()))
        if place is None:
            return None
        tentative.seat(record, place)
        for pod, new in zip(missing, place.pods, strict=True):
            found[pod.pod_set, pod.index] = replace(new, index=pod.index)
    return found


def _place(
    state: ClusterState,
    record: GangRecord,
    number: int,
    missing: Sequence[PodPlacement],
    others: Pods,
) -> Placement | None:
    tree, gang = state.fleet.tree, record.gang
    pod_set = gang.pod_sets[number]
    ranks = [tree.rank(pod.node) for pod in missing]
    had = {kinds[rank] for rank in ranks for kinds in (tree.flavors, tree.cpu_flavors)}
    off = tuple(flavor for flavor in state.fleet.totals.flavors() if flavor not in had)
    slices, broken = _layers(pod_set, len(missing))
    own = [pod for pod in others if pod.pod_set == pod_set.name]
    homes = _homes(state, gang.topology, others) + _homes(state, pod_set.topology, own)
    if broken:
        homes += _broken_homes(state, own, broken, len(missing))
    home = max(homes, key=len, default=())
    topology = Topology() if home else _asked(gang, pod_set)
    asked = replace(pod_set, count=len(missing), min_count=0, slices=slices, topology=topology)
    demand = _alone(gang, asked, excluding(record.shapes[number], off))
    known = suits(_alone(gang, replace(asked, topology=pod_set.topology), demand.shapes[0]))
    apart = gang.topology.forbidden or pod_set.topology.forbidden
    return place_tightly(state.fleet.indexes, demand, within=home) if known and not apart else None


def _alone(gang: Gang, pod_set: PodSet, shape: Shape) -> Demand:
    return Demand(replace(gang, pod_sets=(pod_set,), topology=Topology()), [shape])


def _homes(
    state: ClusterState, topology: Topology, beside: Sequence[PodPlacement]
) -> list[tuple[str, ...]]:
    """The domain that must not be left, if there is one."""
    level = topology.required
    if level is None or level is Level.FLEET or not beside:
        return []
    return [_home(state, beside[0].node, level)]


def _asked(gang: Gang, pod_set: PodSet) -> Topology:
    whole = gang.topology
    return whole if whole.required or whole.preferred else pod_set.topology


def _layers(pod_set: PodSet, missing: int) -> tuple[tuple[Slice, ...], Slice | None]:
    """Slices that the missing pods can form, and the innermost one that lost only some pods."""
    broken = [each for each in pod_set.slices if missing % each.size]
    kept = tuple(each for each in pod_set.slices if missing % each.size == 0)
    return kept, broken[-1] if broken else None


def _broken_homes(
    state: ClusterState, beside: Sequence[PodPlacement], broken: Slice, missing: int
) -> list[tuple[str, ...]]:
    """The domain of the slice that lost some pods."""
    level = broken.required or broken.preferred
    if level is None:
        return []
    counts: dict[tuple[str, ...], int] = {}
    for pod in beside:
        home = _home(state, pod.node, level)
        counts[home] = counts.get(home, 0) + 1
    homes = sorted(home for home, pods in counts.items() if (pods + missing) % broken.size == 0)
    return homes[:1]


def _home(state: ClusterState, node: str, level: Level) -> tuple[str, ...]:
    """Names of the domains around a node down to a level."""
    domains = state.fleet.tree.node(node).domains
    above = list(reversed(state.fleet.tree.levels()[:-1]))
    if level not in above:
        return (*(domains.get(each, node) for each in above), node)
    return tuple(domains.get(each, node) for each in above[: above.index(level) + 1])
