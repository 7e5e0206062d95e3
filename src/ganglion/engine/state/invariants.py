"""Every invariant of the state, checked from scratch."""

from collections import Counter
from itertools import chain

from ganglion.engine.gangs.record import HOLDING, SETTLED, GangRecord
from ganglion.engine.queues.lending import NOTHING
from ganglion.engine.state.components import Components
from ganglion.engine.store.holdings import Holdings
from ganglion.engine.topology.node_state import UNBOUNDED, NodeState, added
from ganglion.engine.topology.node_state_table import extras_of
from ganglion.engine.topology.totals import Totals
from ganglion.model.errors import InvariantBroken
from ganglion.model.fleet.levels import Level
from ganglion.model.placement import Placement, PodPlacement
from ganglion.model.plan import Phase
from ganglion.model.queue import ANY_FLAVOR
from ganglion.model.resources import WHOLE, Usage
from ganglion.model.workload import Topology


def check(state: Components) -> None:
    """Check all of the state. Raises InvariantBroken for the first contradiction."""
    state.tree.settle()
    for record in state.records.values():
        _one_phase(state, record)
        for placement in _counted(record):
            _whole_gang(record, placement)
            if not record.relocated:
                _topology(state, record, placement)
    settled = {each.gang.id for each in state.records.values() if each.phase in SETTLED}
    _require(settled == {each.gang.id for each in state.settled()}, "settled gangs are not listed")
    state.sharers.check()
    _nodes(state)
    _present(state)
    _occupants(state)
    _siblings(state)
    _kept_places(state)
    _queues(state)
    _indexes(state)


def shared_wrongly(state: Components, record: GangRecord) -> str:
    """What a gang shares with others although no gang may; empty = nothing.

    Looks at the gang's own places alone, so that a replay can ask after every placement.
    """
    for pod in chain.from_iterable(each.pods for each in _counted(record)):
        gpu = state.table.known[state.tree.conditions[state.tree.rank(pod.node)]].gpu
        beyond = [index for index in pod.devices if gpu[index] < 0]
        if beyond:
            return f"device {beyond[0]} of {pod.node} is held by another gang"
        for gang in state.leaving.get(pod.node, ()) if record.phase in SETTLED else ():
            left = [each for each in state.records[gang].leaving if each.node == pod.node]
            if any({*pod.devices} & {*each.devices} for each in left if each.milli == WHOLE):
                return f"gang {gang} still leaves a device of {pod.node}"
    return ""


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise InvariantBroken(what)


def _one_phase(state: Holdings, record: GangRecord) -> None:
    gang = record.gang.id
    waits = state.lanes.of(gang) is not None
    holds = record.placement is not None
    _require(holds == (record.phase in HOLDING), f"gang {gang} is {record.phase}, holds {holds}")
    promised = record.promise is not None
    _require(promised == (gang in state.promised), f"the promise of gang {gang} is not listed")
    _require(
        promised
        if record.phase is Phase.RESERVED
        else not promised or record.phase is Phase.STOPPING,
        f"gang {gang} is {record.phase}, promised a place {promised}",
    )
    gated = record.reason is not None
    pending = record.phase is Phase.PENDING
    _require((waits or gated) == pending, f"gang {gang} is {record.phase}, in a lane {waits}")
    _require(not (waits and gated), f"gang {gang} waits both in a lane and behind a gate")
    ended = record.phase is Phase.ENDED
    _require(
        ended == (record.outcome is not None), f"gang {gang} is {record.phase} with an outcome"
    )


def _whole_gang(record: GangRecord, placement: Placement) -> None:
    placed = Counter(pod.pod_set for pod in placement.pods)
    for each in record.gang.pod_sets:
        count = placed.pop(each.name, 0)
        _require(
            each.least <= count <= each.count,
            f"gang {record.gang.id} holds {count} of {each.least}..{each.count} pods {each.name}",
        )
    _require(not placed, f"gang {record.gang.id} holds pods of unknown sets {sorted(placed)}")


def _topology(state: Holdings, record: GangRecord, placement: Placement) -> None:
    pods = placement.pods
    _together(state, record, record.gang.topology, [pod.node for pod in pods])
    for each in record.gang.pod_sets:
        nodes = [pod.node for pod in pods if pod.pod_set == each.name]
        _together(state, record, each.topology, nodes)


def _together(state: Holdings, record: GangRecord, topology: Topology, nodes: list[str]) -> None:
    if topology.required and topology.required not in (Level.FLEET, Level.GPU):
        homes = {_home(state, name, topology.required) for name in nodes}
        _require(len(homes) <= 1, f"gang {record.gang.id} crosses {topology.required}: {homes}")
    if topology.forbidden:
        homes_of_all = [_home(state, name, topology.forbidden) for name in nodes]
        _require(
            len(set(homes_of_all)) == len(homes_of_all),
            f"gang {record.gang.id} shares a {topology.forbidden}",
        )


def _home(state: Holdings, name: str, level: Level) -> str:
    """The domain of a level that a node lies in; levels inside nodes count as the node."""
    node = state.tree.nodes[state.tree.index[name]]
    return node.domains.get(level, name)


def _nodes(state: Holdings) -> None:
    used: dict[str, list[Usage]] = {}
    extras = {node.name: extras_of(node) for node in state.tree.nodes}
    devices: Counter[tuple[str, int]] = Counter()
    tenancies: dict[str, set[str]] = {}
    for record in state.records.values():
        shapes = {
            each.name: shape
            for each, shape in zip(record.gang.pod_sets, record.shapes, strict=True)
        }
        for pod in chain.from_iterable(each.pods for each in _counted(record)):
            request = shapes[pod.pod_set].request
            used.setdefault(pod.node, []).append(Usage(0, request.cpu_milli, request.memory_mib))
            extras[pod.node] = added(extras[pod.node], request.extras, -1)
            tenancies.setdefault(pod.node, set()).add(shapes[pod.pod_set].tenancy)
            for device in pod.devices:
                devices[pod.node, device] += pod.milli
    for rank, node in enumerate(state.tree.nodes):
        pods = used.get(node.name, [])
        condition = state.table.known[state.tree.conditions[rank]]
        _require(state.tree.pods[rank] == len(pods), f"node {node.name} counts its pods wrongly")
        _node(node.name, condition, pods, (node.cpu_milli, node.memory_mib, node.max_pods))
        left = extras[node.name]
        _require(condition.extras == left, f"node {node.name} miscounts what is only counted")
        _require(len(tenancies.get(node.name, ())) <= 1, f"node {node.name} breaks an isolation")
        for index, free in enumerate(condition.gpu):
            taken = devices.pop((node.name, index), 0)
            _require(taken <= WHOLE, f"device {index} of {node.name} is promised twice")
            _require(free == WHOLE - taken, f"device {index} of {node.name} is miscounted")
    _require(not devices, f"pods hold devices that do not exist: {sorted(devices)}")


def _counted(record: GangRecord) -> list[Placement]:
    """Placements of a gang that the tree counts."""
    settled = record.placement if record.phase in SETTLED else None
    return [each for each in (settled, record.promise) if each]


def _present(state: Holdings) -> None:
    """No device is really used by more than it has, pods that leave included."""
    devices: Counter[tuple[str, int]] = Counter()
    leaving: dict[str, set[str]] = {}
    for record in state.records.values():
        settled = record.placement if record.phase in SETTLED else None
        for pod in (*(settled.pods if settled else ()), *record.leaving):
            for device in pod.devices:
                devices[pod.node, device] += pod.milli
        for pod in record.leaving:
            leaving.setdefault(pod.node, set()).add(record.gang.id)
    over = sorted(each for each, milli in devices.items() if milli > WHOLE)
    _require(not over, f"devices are in use twice: {over}")
    listed = {node: set(gangs) for node, gangs in state.leaving.items()}
    _require(leaving == listed, "the list of what leaves is stale")


def _occupants(state: Components) -> None:
    """The pods that count, by gang and by node, are those of the records."""
    by_gang: dict[str, Counter[PodPlacement]] = {}
    by_node: dict[str, dict[str, Counter[PodPlacement]]] = {}
    for gang, record in state.records.items():
        for pod in chain.from_iterable(each.pods for each in _counted(record)):
            by_gang.setdefault(gang, Counter())[pod] += 1
            by_node.setdefault(pod.node, {}).setdefault(gang, Counter())[pod] += 1
    occupants = state.occupants
    _require(by_gang == occupants.counted(), "the pods of a gang are miscounted")
    _require(by_gang.keys() == occupants.records.keys(), "the gangs that hold pods are not listed")
    for gang, record in occupants.records.items():
        _require(record is state.records[gang], f"the pods of gang {gang} are another record's")
    for node in sorted({*by_node, *state.tree.names}):
        here = {gang: Counter(pods) for gang, pods in occupants.on(node).items()}
        _require(here == by_node.get(node, {}), f"the gangs on node {node} are miscounted")


def _node(name: str, condition: NodeState, pods: list[Usage], has: tuple[int, int, int]) -> None:
    cpu, memory, slots = has
    _require(
        condition.cpu == cpu - sum(pod.cpu_milli for pod in pods)
        and condition.memory == memory - sum(pod.memory_mib for pod in pods),
        f"node {name} miscounts CPU or memory",
    )
    _require(
        condition.slots == (slots if slots == UNBOUNDED else slots - len(pods)),
        f"node {name} miscounts its pod slots",
    )


def _siblings(state: Holdings) -> None:
    settled = [each for each in state.records.values() if each.phase in SETTLED]
    running = [each for each in settled if each.phase is Phase.RUNNING]
    for records, counted in ((settled, state.floors.settled), (running, state.floors.running)):
        fresh = Counter(each.gang.workload for each in records)
        _require(fresh == Counter(counted), "the gangs of a workload are miscounted")


def _kept_places(state: Components) -> None:
    """Every gang that sleeps and was given a place could have it in time."""
    for kept in state.kept:
        gang = kept.record.gang.id
        _require(kept.record.phase is Phase.PENDING, f"gang {gang} has a kept place and more")
        _require(kept.record is state.records.get(gang), f"the record of gang {gang} is stale")
        _require(state.kept.is_sound(kept), f"the place kept for gang {gang} is not free in time")


def _queues(state: Components) -> None:
    expected: dict[tuple[str, str], Usage] = {}
    kept = ((each.record, each.charged) for each in state.kept)
    held = ((each, (*each.charged, *each.pledged)) for each in state.records.values())
    for record, charged in chain(held, kept):
        for flavor, usage in charged:
            for name in state.shares.path(record.gang.queue):
                for key in (flavor, ANY_FLAVOR):
                    expected[name, key] = expected.get((name, key), NOTHING).plus(usage)
    for name, by_flavor in state.shares.usage.items():
        for flavor, usage in by_flavor.items():
            _require(
                usage == expected.pop((name, flavor), NOTHING),
                f"queue {name} miscounts its usage of {flavor}",
            )
    missing = sorted(key for key, usage in expected.items() if usage != NOTHING)
    _require(not missing, f"usage is missing in queues {missing}")


def _indexes(state: Holdings) -> None:
    counted = Counter(state.tree.conditions)
    _require(counted == state.tree.counts, "the tree miscounts its conditions")
    for fits in state.indexes.all_fits():
        fits.sync()
        for rank, room in enumerate(fits.rooms):
            fresh = fits.fresh_room(rank)
            _require(room == fresh, f"an index is stale at {state.tree.names[rank]}")
    fresh_sums = Totals(state.table, state.tree)
    for flavor in (ANY_FLAVOR, *state.totals.flavors()):
        free = state.totals.free_gpu(flavor)
        _require(free == fresh_sums.free_gpu(flavor), f"free GPUs of {flavor} are miscounted")
