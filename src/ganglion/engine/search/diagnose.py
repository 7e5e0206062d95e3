"""Why a gang finds no place: one dominant reason with the numbers that were read."""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from ganglion.engine.placement.place import Demand, place, required_level, rules_of
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.engine.topology.capacity_index import Fits, PlaceRules
from ganglion.engine.topology.devices import largest
from ganglion.engine.topology.indexes import Indexes
from ganglion.engine.topology.node_state import room_by_extras
from ganglion.engine.topology.pod_shape import Shape
from ganglion.engine.topology.totals import Totals
from ganglion.model.fleet.levels import DEPTH, Level
from ganglion.model.reasons import Reason, Remedy, Token
from ganglion.model.resources import WHOLE, GpuRequest, counted, decimal

INSIDE: Mapping[Level, str] = {Level.ISLAND: "NVLink island", Level.NUMA: "NUMA domain"}
"""Parts of a node, in words."""


def diagnose(state: ClusterState, demand: Demand) -> Reason:
    """The most structural obstacle of a gang that found no place."""
    for shape in demand.shapes:
        reason = _no_node(state, shape)
        if reason:
            return reason
    for_ever = not any(_may_open(state, shape) for shape in demand.shapes)
    never = for_ever and not demand.single and not _fits_when_empty(state, demand)
    return _shortage(state, demand, never)


def _no_node(state: ClusterState, shape: Shape) -> Reason | None:
    """No node would take one such pod, not even an empty one."""
    table, tree = state.fleet.table, state.fleet.tree
    sight = table.sight(shape)
    classes = state.fleet.totals.present()
    if not classes:
        return Reason(Token.CAPACITY, "there are no nodes", never=True, remedy=Remedy.ADMIN)
    obstacles: dict[str, int] = {}
    open_somewhere = False
    for class_id, (count, is_open) in classes.items():
        obstacle = table.obstacle(sight, table.bare(class_id))
        if obstacle:
            obstacles[obstacle] = obstacles.get(obstacle, 0) + count
        else:
            open_somewhere = open_somewhere or is_open
    if obstacles and sum(obstacles.values()) == len(tree.nodes):
        return _impossible(state, shape, obstacles)
    if not open_somewhere:
        return Reason(
            Token.DRAINING,
            "all nodes that could take it are cordoned or lost",
            remedy=Remedy.ADMIN,
        )
    return None


def _may_open(state: ClusterState, shape: Shape) -> bool:
    """Whether some node is closed to such pods only until an obstacle passes."""
    sight = state.fleet.table.sight(shape)
    return any(state.fleet.table.view(sight, each).passing for each in state.fleet.totals.present())


def _impossible(state: ClusterState, shape: Shape, obstacles: dict[str, int]) -> Reason:
    worst = max(obstacles, key=lambda name: (obstacles[name], name))
    size = {"too few free GPUs", "too little free CPU", "too little free memory"}
    never = not _may_open(state, shape)
    if never and worst in size:
        return _too_large(state, shape, worst)
    listed = "; ".join(f"{name} on {count}" for name, count in sorted(obstacles.items()))
    return Reason(
        Token.CONSTRAINT,
        f"no node is allowed{'' if never else ' now'}: {listed}",
        never=never,
        evidence={"nodes": len(state.fleet.tree.nodes)},
        remedy=Remedy.CHANGE if never else Remedy.WAIT,
    )


def _too_large(state: ClusterState, shape: Shape, worst: str) -> Reason:
    classes, request = state.fleet.table.classes, shape.request
    narrow, sight = request.together, state.fleet.table.sight(shape)
    if worst == "too few free GPUs" and narrow:
        groups = [
            largest(each.devices, state.fleet.table.view(sight, i).devices, narrow)
            for i, each in enumerate(classes)
        ]
        return _too_narrow(narrow, request.gpu.count, max(groups))
    if worst == "too few free GPUs":
        most = max(len(state.fleet.table.view(sight, i).devices) for i in range(len(classes)))
        asked, told, held, unit = (
            request.gpu.count,
            counted(request.gpu.count, "GPU"),
            str(most),
            "",
        )
    elif worst == "too little free CPU":
        asked, most = request.cpu_milli, max(each.cpu_milli for each in classes)
        told, held, unit = counted(decimal(asked), "CPU"), decimal(most), "_milli"
    else:
        asked, most = request.memory_mib, max(each.memory_mib for each in classes)
        told, held, unit = f"{asked} MiB of memory", str(most), "_mib"
    return Reason(
        Token.CAPACITY,
        f"one pod needs {told} on one node; the largest node has {held}",
        never=True,
        evidence={f"needed{unit}": asked, f"largest_node{unit}": most},
        remedy=Remedy.CHANGE,
    )


def _totals(state: ClusterState, empty: bool) -> Totals:
    return Totals(state.fleet.table, state.fleet.empty().tree) if empty else state.fleet.totals


def _too_narrow(level: Level, asked: int, most: int) -> Reason:
    """No part of a node that its devices must share is large enough."""
    name = INSIDE[level]
    return Reason(
        Token.CAPACITY,
        f"one pod needs {counted(asked, 'GPU')} in one {name}; the largest {name} has {most}",
        never=True,
        evidence={"needed": asked, f"largest_{level}": most},
        remedy=Remedy.CHANGE,
    )


def _fits_when_empty(state: ClusterState, demand: Demand) -> bool:
    return (
        _plainly_fits(state, demand)
        or place(state.fleet.empty(), demand, state.config.policy.tries, 0) is not None
    )


def _plainly_fits(state: ClusterState, demand: Demand) -> bool:
    """Whether counting is enough to see that a gang of equal pods fits into the empty fleet."""
    indexes, (first, *others) = state.fleet.empty(), demand.sets
    level = required_level(demand.gang) or Level.FLEET
    rules = rules_of(demand.gang, first, False, first.least)
    shape = demand.shapes[0]
    odd = (
        rules.slices
        or rules.forbidden
        or shape.shares_a_device
        or DEPTH[level] >= DEPTH[Level.NODE]
    )
    if others or odd or len(indexes.device_types()) > 1:
        return False
    if level is Level.FLEET:
        return _room_in_all(indexes, shape, rules) >= first.least
    return indexes.fits(shape, rules).most(level) >= first.least


def _room_in_all(indexes: Indexes, shape: Shape, rules: PlaceRules) -> int:
    """Pods that the fleet has room for; without rules no domain has to be looked at for it."""
    if rules != PlaceRules():
        return indexes.fits(shape, rules).values[0]
    counts = indexes.tree.counts
    rooms = indexes.table.rooms(indexes.table.sight(shape), counts)
    return sum(counts[each] * room for each, room in rooms.items())


def _shortage(state: ClusterState, demand: Demand, never: bool) -> Reason:
    """Too little room in all, or in one domain; counted in the empty fleet when for ever."""
    gang = demand.gang
    indexes = state.fleet.empty() if never else state.fleet.indexes
    if demand.single:
        free = state.fleet.totals.free_for(demand.shapes)
        text = _extras_text(state, demand) or _single_text(demand.shapes[0].request.gpu, free)
        return Reason(Token.CAPACITY, text, evidence={"free_milli": free})
    needed = [each.least for each in demand.sets]
    rules = [rules_of(gang, each, False, each.least) for each in demand.sets]
    pairs = list(zip(demand.shapes, rules, strict=True))
    room = [min(_room_in_all(indexes, *pair), n) for pair, n in zip(pairs, needed, strict=True)]
    evidence = {
        "needed_milli": _gpus(demand.shapes, needed),
        "free_milli": _totals(state, never).free_for(demand.shapes),
        "pods": sum(needed),
        "pods_fitting": sum(room),
    }
    remedy = Remedy.CHANGE if never else Remedy.WAIT
    level = required_level(gang)
    if room != needed or level is None:
        text = _extras_text(state, demand) or _capacity_text(demand, evidence, never)
        return Reason(Token.CAPACITY, text, never, evidence, remedy)
    evidence["pods_in_one"] = _most_in_one([indexes.fits(*pair) for pair in pairs], level)
    return Reason(Token.TOPOLOGY, _topology_text(level, evidence, never), never, evidence, remedy)


def _gpus(shapes: Sequence[Shape], pods: Sequence[int]) -> int:
    """Thousandths of GPUs of that many pods; a share given in memory is not known yet."""
    requests = [shape.request.gpu for shape in shapes]
    return sum(
        0 if gpu.share_mib else gpu.count * gpu.milli * count
        for gpu, count in zip(requests, pods, strict=True)
    )


def _capacity_text(demand: Demand, evidence: dict[str, int], never: bool) -> str:
    pods = counted(evidence["pods"], "pod")
    if not any(shape.request.gpu.count for shape in demand.shapes):
        where = "the whole fleet has" if never else "there is"
        return f"needs {pods}; {where} room for {evidence['pods_fitting']} of them"
    free = decimal(evidence["free_milli"])
    gpus = counted(decimal(evidence["needed_milli"]), "GPU")
    where = f"the whole fleet has {free}" if never else f"{free} free in all"
    return f"needs {gpus} for {pods}; {where}, room for {evidence['pods_fitting']} of {pods}"


def _extras_text(state: ClusterState, demand: Demand) -> str:
    """Of a gang for which only a counted resource is short: which, and where; else empty."""
    table, counts = state.fleet.table, state.fleet.tree.counts
    for shape in demand.shapes:
        if not shape.request.extras:
            continue
        bare = table.sight(replace(shape, request=replace(shape.request, extras=())))
        open_to = [
            (table.known[each].extras, n) for each, n in counts.items() if table.room(bare, each)
        ]
        for asked in shape.request.extras:
            short = sum(n for free, n in open_to if not room_by_extras(free, (asked,), 1))
            if short:
                return (
                    f"needs {asked[1]} {asked[0]} for each pod; {counted(short, 'node')} with room"
                    f" otherwise {'has' if short == 1 else 'have'} too little of it left"
                )
    return ""


def _single_text(gpu: GpuRequest, free: int) -> str:
    """Of a gang of one pod; `free` is in thousandths of GPUs."""
    if not gpu.count:
        return "no node has enough free CPU and memory for it"
    if gpu.share_mib:
        what = f"{gpu.share_mib} MiB of a GPU"
    else:
        what = f"{decimal(gpu.milli)} of a GPU" if gpu.milli < WHOLE else counted(gpu.count, "GPU")
    text, few = f"needs {what} on one node", not gpu.share_mib and free < gpu.count * gpu.milli
    if not free:
        return f"{text}; no GPU that it may use is free"
    there = f"{counted(decimal(free), 'GPU')} free in all"
    return f"{text}; only {there}" if few else f"{text}; {there}, but no node has that"


def _topology_text(level: Level, evidence: dict[str, int], never: bool) -> str:
    what = counted(evidence["pods"], "pod")
    if evidence["needed_milli"]:
        what = counted(decimal(evidence["needed_milli"]), "GPU")
    best = f"the {'largest' if never else 'emptiest'} {level} has room for"
    rest = f"{evidence['pods_in_one']} of {counted(evidence['pods'], 'pod')}"
    free = decimal(evidence["free_milli"])
    have = f"{free} GPUs in all" if never else f"{free} GPUs free in all"
    return f"needs {what} in one {level}; {best} {rest}; {have}"


def _most_in_one(fits: Sequence[Fits], level: Level) -> int:
    if DEPTH[level] < DEPTH[Level.NODE]:
        return min(each.most(level) for each in fits)
    return min(max(each.rooms, default=0) for each in fits)
