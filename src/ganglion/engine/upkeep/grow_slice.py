"""One more slice of pods for an elastic gang: what it asks for, and where it may lie."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import count

from msgspec.structs import replace

from ganglion.engine.gangs.record import GangRecord
from ganglion.engine.ordering.attempt import seek
from ganglion.engine.placement.place import grows_outside_nodes, required_level
from ganglion.engine.preemption.preempt import TRIED
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.engine.store.what_if import Sketch
from ganglion.engine.topology.pod_shape import of_type
from ganglion.model.fleet.levels import Level
from ganglion.model.placement import Placement, PodPlacement
from ganglion.model.workload import Gang, PodSet, Topology

Pods = Sequence[PodPlacement]


class Grower:
    """An elastic gang with what it gets.

    Attributes:
        record: the gang.
        pods: what it has, and what will be its own once others have left.
        added: pods that it gets now.
    """

    def __init__(self, record: GangRecord) -> None:
        assert record.placement
        self.record = record
        self.pods = list(record.placement.pods)
        self.added: list[PodPlacement] = []

    def numbered(self, placement: Placement) -> Placement:
        """A place for more pods, each with a number that the gang has not got yet."""
        used = {pod.index for pod in self.pods if pod.pod_set == placement.pods[0].pod_set}
        free = (number for number in count() if number not in used)
        pods = (replace(pod, index=next(free)) for pod in placement.pods)
        return replace(placement, pods=tuple(pods))

    def take(self, placement: Placement, *, now: bool) -> None:
        """One slice more."""
        self.pods += placement.pods
        self.added += placement.pods if now else ()


def askers(state: ClusterState, record: GangRecord, pods: Pods) -> list[GangRecord]:
    """Slices by which a gang may grow, the one it needs most first.

    Sets grow evenly, in the reverse of the order in which they shrink.

    Args:
        state: the fleet.
        record: the gang.
        pods: what it has by now.

    Returns:
        Gangs of one slice each, in the name of the gang.
    """
    state.journal.blame(record.gang.id)
    if not grows_outside_nodes(record.gang):
        return []
    counts = Counter(pod.pod_set for pod in pods)
    found = []
    for number, each in enumerate(record.gang.pod_sets):
        size, have = slice_size(each), counts[each.name]
        if have + size <= each.count:
            found.append(((have - each.least) // size, number))
    return [_asker(state, record, number, pods) for _, number in sorted(found)]


def slice_size(pod_set: PodSet) -> int:
    """How many pods of a set come and go together."""
    return pod_set.slices[0].size if pod_set.slices else 1


def place_beside(
    state: ClusterState, record: GangRecord, asker: GangRecord, pods: Pods, now: int
) -> Placement | None:
    """A place for one more slice: on nodes that the gang has already, else wherever it may lie.

    Args:
        state: the fleet; it is left as it was.
        record: the gang.
        asker: the slice, one of `askers`.
        pods: what the gang has by now.
        now: the time in ms.
    """
    ranks = [state.fleet.tree.rank(pod.node) for pod in pods]
    allowed = nodes_for(state, record, asker, pods)
    home = dict.fromkeys(rank for rank in ranks if allowed is None or rank in allowed)
    sight = state.fleet.table.sight(asker.shapes[0])
    if any(state.fleet.table.room(sight, state.fleet.tree.conditions[rank]) for rank in home):
        found = _within(state, asker, home, now)
        if found:
            return found
    return _within(state, asker, allowed, now)


def nodes_for(
    state: ClusterState, record: GangRecord, asker: GangRecord, pods: Pods
) -> dict[int, None] | None:
    """Ranks of nodes on which one more slice may lie; None = all.

    Args:
        state: the fleet.
        record: the gang.
        asker: the slice, one of `askers`.
        pods: what the gang has by now.
    """
    return _allowed(state, record.gang, asker.gang.pod_sets[0].name, pods)


def _within(
    state: ClusterState, asker: GangRecord, allowed: dict[int, None] | None, now: int
) -> Placement | None:
    if allowed is None:
        return seek(state, asker, now, TRIED)[1]
    shut = {rank: None for rank in range(len(state.fleet.tree.nodes)) if rank not in allowed}
    with Sketch(state) as sketch:
        sketch.shut(shut)
        return seek(state, asker, now, TRIED)[1]


def _asker(state: ClusterState, record: GangRecord, number: int, pods: Pods) -> GangRecord:
    gang = record.gang
    pod_set, shape = gang.pod_sets[number], record.shapes[number]
    first = next((pod for pod in pods if pod.pod_set == pod_set.name and pod.devices), None)
    device = state.fleet.tree.device(first.node, first.devices[0]) if first else None
    if device:
        shape = of_type(shape, device.type)
    apart = Topology(forbidden=pod_set.topology.forbidden or gang.topology.forbidden)
    more = replace(pod_set, count=slice_size(pod_set), min_count=0, topology=apart)
    asking = replace(gang, pod_sets=(more,), topology=Topology(), parallel=0)
    return GangRecord(asking, (shape,), None)


def _allowed(state: ClusterState, gang: Gang, pod_set: str, pods: Pods) -> dict[int, None] | None:
    """Ranks of nodes on which more pods of a set may lie; None = all."""
    own = next(each for each in gang.pod_sets if each.name == pod_set)
    mates = [pod for pod in pods if pod.pod_set == pod_set]
    allowed: dict[int, None] | None = None
    for level, among in ((required_level(gang), pods), (own.topology.required, mates)):
        if level and level is not Level.FLEET and among:
            inside = dict.fromkeys(_domain(state, among[0].node, level))
            allowed = inside if allowed is None else {r: None for r in allowed if r in inside}
    shunned = {
        rank
        for level, among in ((gang.topology.forbidden, pods), (own.topology.forbidden, mates))
        if level
        for pod in among
        for rank in _domain(state, pod.node, level)
    }
    if not shunned:
        return allowed
    known = range(len(state.fleet.tree.nodes)) if allowed is None else allowed
    return {rank: None for rank in known if rank not in shunned}


def _domain(state: ClusterState, node: str, level: Level) -> Iterator[int]:
    """Ranks of the nodes in the domain of a level around a node."""
    tree = state.fleet.tree
    rank = tree.rank(node)
    at = tree.parents[rank]
    while at > 0 and tree.domains[at].level is not level:
        at = tree.domains[at].parent
    # Where a level is missing, and below nodes, the node is its domain.
    yield from tree.ranks_in(at) if at > 0 else (rank,)
