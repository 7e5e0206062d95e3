"""Every invariant of the state, checked from scratch: of each component, and among them."""

from collections import Counter
from collections.abc import Iterator
from itertools import chain

from ganglion.engine.gangs.record import SETTLED, GangRecord
from ganglion.engine.queues.queues import Charged
from ganglion.engine.state.components import Components
from ganglion.engine.store.holdings import counted
from ganglion.engine.store.store import Store
from ganglion.engine.topology.node_state import UNBOUNDED, NodeState, added
from ganglion.engine.topology.node_state_table import extras_of
from ganglion.model.errors import InvariantBroken
from ganglion.model.fleet.levels import Level
from ganglion.model.placement import Placement
from ganglion.model.resources import WHOLE, Usage
from ganglion.model.workload import Gang, Topology


def check(state: Components) -> None:
    """Check all of the state. Raises InvariantBroken for the first contradiction."""
    state.fleet.tree.settle()
    records = state.gangs.records.values()
    for record in records:
        for placement in counted(record):
            _whole_gang(record, placement)
            if not record.relocated:
                _topology(state, record, placement)
    state.gangs.check()
    _nodes(state)
    state.holdings.check()
    state.timeline.check()
    state.queues.check(_charges(state))
    state.fleet.check()
    state.forecast.check()
    state.agenda.check(state.progress.freed)
    times = ((each.placed_at, each.started, each.stopping_at, each.ended_at) for each in records)
    state.progress.check(max(chain.from_iterable(times), default=0))
    state.config.check()
    state.journal.check()


def _charges(state: Components) -> Iterator[tuple[Gang, Charged]]:
    """Gangs with what they are charged: what they hold, are promised, or have kept for them."""
    for record in state.gangs.records.values():
        yield record.gang, (*record.charged, *record.pledged)
    for kept in state.timeline.kept:
        yield kept.record.gang, kept.charged


def shared_wrongly(state: Components, record: GangRecord) -> str:
    """What a gang shares with others although no gang may; empty = nothing.

    Looks at the gang's own places alone, so that a replay can ask after every placement.
    """
    for pod in chain.from_iterable(each.pods for each in counted(record)):
        gpu = state.fleet.table.known[
            state.fleet.tree.conditions[state.fleet.tree.rank(pod.node)]
        ].gpu
        beyond = [index for index in pod.devices if gpu[index] < 0]
        if beyond:
            return f"device {beyond[0]} of {pod.node} is held by another gang"
        for gang in state.holdings.leaving.get(pod.node, ()) if record.phase in SETTLED else ():
            left = [each for each in state.gangs.records[gang].leaving if each.node == pod.node]
            if any({*pod.devices} & {*each.devices} for each in left if each.milli == WHOLE):
                return f"gang {gang} still leaves a device of {pod.node}"
    return ""


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise InvariantBroken(what)


def _whole_gang(record: GangRecord, placement: Placement) -> None:
    placed = Counter(pod.pod_set for pod in placement.pods)
    for each in record.gang.pod_sets:
        count = placed.pop(each.name, 0)
        _require(
            each.least <= count <= each.count,
            f"gang {record.gang.id} holds {count} of {each.least}..{each.count} pods {each.name}",
        )
    _require(not placed, f"gang {record.gang.id} holds pods of unknown sets {sorted(placed)}")


def _topology(state: Store, record: GangRecord, placement: Placement) -> None:
    pods = placement.pods
    _together(state, record, record.gang.topology, [pod.node for pod in pods])
    for each in record.gang.pod_sets:
        nodes = [pod.node for pod in pods if pod.pod_set == each.name]
        _together(state, record, each.topology, nodes)


def _together(state: Store, record: GangRecord, topology: Topology, nodes: list[str]) -> None:
    if topology.required and topology.required not in (Level.FLEET, Level.GPU):
        homes = {_home(state, name, topology.required) for name in nodes}
        _require(len(homes) <= 1, f"gang {record.gang.id} crosses {topology.required}: {homes}")
    if topology.forbidden:
        homes_of_all = [_home(state, name, topology.forbidden) for name in nodes]
        _require(
            len(set(homes_of_all)) == len(homes_of_all),
            f"gang {record.gang.id} shares a {topology.forbidden}",
        )


def _home(state: Store, name: str, level: Level) -> str:
    """The domain of a level that a node lies in; levels inside nodes count as the node."""
    node = state.fleet.tree.nodes[state.fleet.tree.index[name]]
    return node.domains.get(level, name)


def _nodes(state: Store) -> None:
    used: dict[str, list[Usage]] = {}
    extras = {node.name: extras_of(node) for node in state.fleet.tree.nodes}
    devices: Counter[tuple[str, int]] = Counter()
    tenancies: dict[str, set[str]] = {}
    for record in state.gangs.records.values():
        shapes = {
            each.name: shape
            for each, shape in zip(record.gang.pod_sets, record.shapes, strict=True)
        }
        for pod in chain.from_iterable(each.pods for each in counted(record)):
            request = shapes[pod.pod_set].request
            used.setdefault(pod.node, []).append(Usage(0, request.cpu_milli, request.memory_mib))
            extras[pod.node] = added(extras[pod.node], request.extras, -1)
            tenancies.setdefault(pod.node, set()).add(shapes[pod.pod_set].tenancy)
            for device in pod.devices:
                devices[pod.node, device] += pod.milli
    for rank, node in enumerate(state.fleet.tree.nodes):
        pods = used.get(node.name, [])
        condition = state.fleet.table.known[state.fleet.tree.conditions[rank]]
        _require(
            state.fleet.tree.pods[rank] == len(pods), f"node {node.name} counts its pods wrongly"
        )
        _node(node.name, condition, pods, (node.cpu_milli, node.memory_mib, node.max_pods))
        left = extras[node.name]
        _require(condition.extras == left, f"node {node.name} miscounts what is only counted")
        _require(len(tenancies.get(node.name, ())) <= 1, f"node {node.name} breaks an isolation")
        for index, free in enumerate(condition.gpu):
            taken = devices.pop((node.name, index), 0)
            _require(taken <= WHOLE, f"device {index} of {node.name} is promised twice")
            _require(free == WHOLE - taken, f"device {index} of {node.name} is miscounted")
    _require(not devices, f"pods hold devices that do not exist: {sorted(devices)}")


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
