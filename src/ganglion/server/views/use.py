"""Who uses what now: what gangs hold, joined with what the machine says."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from ganglion.api.use import DeviceUse, GangUse, UsePage
from ganglion.engine.gangs.record import HOLDING, GangRecord
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.lifecycle.workspaces.gpus import GpuFigures
from ganglion.metering.activity import (
    COUNTER,
    NVML,
    UTILISATION,
    ActivityInterval,
    AttemptLook,
    attempt_look,
)
from ganglion.metering.attempts import MeteredAttempt
from ganglion.model.resources import WHOLE
from ganglion.server.views.workloads import held_by
from ganglion.worlds.local.machine.use import GpuUse, TreeUse, UseReader
from ganglion.worlds.local.run_files import paths, records

CURVES = ("gpu_busy_milli", "gpu_memory_mib", "power_mw", "cpu_milli", "memory_mib")
"""What of the use of a gang is kept over its time; see `GangUse`."""

Device = tuple[str, int]
"""A node and the index of one of its devices."""


class _Holder(Struct, frozen=True):
    """A gang that holds resources.

    Attributes:
        gang, workload, user, queue, phase, kind: what they are called.
        attempt: number of its attempt.
        nodes: where its pods are.
        devices: its devices -> thousandths that it holds of each.
        gpus: GPUs that it holds.
    """

    gang: str
    workload: str
    user: str
    queue: str
    phase: str
    kind: str
    attempt: int
    nodes: tuple[str, ...]
    devices: dict[Device, int]
    gpus: float


class UseSnapshot(Struct, frozen=True):
    """What the state says, so that measuring need not hold it still.

    Attributes:
        devices: every device -> its type, identifier and memory in MiB.
        holders: gangs that hold resources.
        flavors: of every node.
        since: gang and node -> when it began to hold there what it holds, in ms, as metered.
    """

    devices: dict[Device, tuple[str, str, int]]
    holders: tuple[_Holder, ...]
    flavors: dict[str, str]
    since: dict[tuple[str, str], int] = {}


def snapshot(state: ClusterState, metered: Iterable[MeteredAttempt] = ()) -> UseSnapshot:
    """Note who holds what.

    Args:
        state: of the engine.
        metered: what attempts hold as it is metered, where it is asked what GPUs did.
    """
    devices = {
        (name, index): (device.type, device.uuid, device.memory_mib)
        for name, node in sorted(state.fleet.nodes.items())
        for index, device in enumerate(node.devices)
    }
    holding = (record for record in state.gangs.records.values() if record.phase in HOLDING)
    flavors = {name: node.kind for name, node in state.fleet.nodes.items()}
    since = {(each.gang, node): each.open[node].since for each in metered for node in each.open}
    return UseSnapshot(devices, tuple(_holder(record) for record in holding), flavors, since)


def _holder(record: GangRecord) -> _Holder:
    pods = record.placement.pods if record.placement else ()
    held = {(pod.node, device): pod.milli for pod in pods for device in pod.devices}
    gang, nodes = record.gang, tuple(dict.fromkeys(pod.node for pod in pods))
    return _Holder(
        gang.id,
        gang.workload,
        gang.user,
        gang.queue,
        record.phase,
        gang.kind.value,
        record.attempt,
        nodes,
        held,
        held_by(record),
    )


class CounterReader(Protocol):
    """Reads what GPUs of this machine did; see `NvmlCounters` and `DcgmCounters`."""

    @property
    def by_dcgm(self) -> bool:
        """Whether an exporter of DCGM says so, else the driver."""

    def read(self, uuids: Iterable[str]) -> Sequence[GpuFigures]:
        """GPUs by the vendor's identifiers."""


def activity_looks(found: UseSnapshot, reader: CounterReader) -> list[AttemptLook]:
    """What GPUs say that did something for one attempt alone, by attempt and node.

    Args:
        found: what is held.
        reader: reads the counters of this machine.
    """
    alone = {
        place
        for place, holders in _by_device(found.holders).items()
        if len(holders) == 1 and holders[0].devices[place] == WHOLE and place in found.devices
    }
    places = sorted(place for place in alone if found.devices[place][1])
    figures = reader.read(found.devices[place][1] for place in places)
    said, sources = dict(zip(places, figures, strict=True)), (NVML, NVML)
    if reader.by_dcgm:
        sources = (UTILISATION, COUNTER)
    return [look for holder in found.holders for look in _looks(holder, found, said, sources)]


def _looks(
    holder: _Holder,
    found: UseSnapshot,
    said: Mapping[Device, GpuFigures],
    sources: tuple[str, str],
) -> Iterator[AttemptLook]:
    for node in holder.nodes:
        mine = [each for each in holder.devices if each[0] == node and each in said]
        if mine:
            whose = (holder.queue, holder.user, holder.workload, holder.gang, holder.attempt)
            since, flavor = found.since.get((holder.gang, node), 0), found.flavors[node]
            of = ActivityInterval(since, since, *whose, holder.kind, flavor, node)
            by_uuid = {found.devices[each][1]: said[each] for each in mine}
            yield attempt_look(of, by_uuid, *sources)


def measured(found: UseSnapshot, home: Path, reader: UseReader, at: int) -> UsePage:
    """Join what is held with what the machine says.

    Args:
        found: what is held.
        home: Ganglion's home directory, which knows the processes of every attempt.
        reader: reads the machine.
        at: the time in ms.
    """
    roots = {holder.gang: _supervisor(home, holder) for holder in found.holders}
    trees = reader.trees({pid for pid in roots.values() if pid})
    read = reader.gpus([uuid for _, uuid, _ in found.devices.values()])
    uses = dict(zip(found.devices, read, strict=True))
    holders = _by_device(found.holders)
    owned = frozenset(pid for tree in trees.values() for pid in tree.pids)
    return UsePage(
        at=at,
        devices=tuple(
            _device(place, *found.devices[place], holders.get(place, ()), use, owned)
            for place, use in uses.items()
        ),
        gangs=tuple(_gang(holder, trees.get(roots[holder.gang]), uses) for holder in found.holders),
    )


def _supervisor(home: Path, holder: _Holder) -> int:
    """The process above all of an attempt; 0 = it has not begun, or is gone."""
    started = records.read(paths.run_dir(home, holder.gang, holder.attempt) / records.START)
    if not started or records.start_time(started["pid"]) != started["start_time"]:
        return 0
    return int(started["pid"])


def _by_device(holders: Sequence[_Holder]) -> dict[Device, list[_Holder]]:
    found: dict[Device, list[_Holder]] = {}
    for holder in holders:
        for place in holder.devices:
            found.setdefault(place, []).append(holder)
    return found


def _device(
    place: Device,
    type_: str,
    uuid: str,
    memory_mib: int,
    holders: Sequence[_Holder],
    use: GpuUse,
    owned: frozenset[int],
) -> DeviceUse:
    return DeviceUse(
        node=place[0],
        index=place[1],
        type=type_,
        uuid=uuid,
        gangs=tuple(holder.gang for holder in holders),
        users=tuple(dict.fromkeys(holder.user for holder in holders)),
        busy_milli=use.busy_milli,
        memory_mib=use.memory_mib,
        memory_total_mib=use.memory_total_mib or memory_mib,
        power_mw=use.power_mw,
        power_limit_mw=use.power_limit_mw,
        strangers=tuple(sorted(pid for pid in use.processes if pid not in owned)),
    )


def _gang(holder: _Holder, tree: TreeUse | None, uses: Mapping[Device, GpuUse]) -> GangUse:
    mine = [uses[place] for place in holder.devices if place in uses]
    alone = bool(mine) and all(milli == WHOLE for milli in holder.devices.values())
    busy = _sum(use.busy_milli for use in mine) if alone else None
    return GangUse(
        gang=holder.gang,
        workload=holder.workload,
        user=holder.user,
        queue=holder.queue,
        phase=holder.phase,
        nodes=holder.nodes,
        gpus=holder.gpus,
        gpu_busy_milli=None if busy is None else busy // len(mine),
        gpu_memory_mib=_gpu_memory(tree, mine),
        power_mw=_sum(use.power_mw for use in mine) if alone else None,
        cpu_milli=tree.cpu_milli if tree else None,
        memory_mib=tree.memory_mib if tree else None,
        processes=len(tree.pids) if tree else None,
    )


def _gpu_memory(tree: TreeUse | None, mine: Sequence[GpuUse]) -> int | None:
    """GPU memory of a gang's own processes; unknown where any device does not report it."""
    if tree is None or not mine or any(use.memory_mib is None for use in mine):
        return None
    own = [use.processes[pid] for use in mine for pid in use.processes if pid in tree.pids]
    return _sum(own)


def _sum(values: Iterable[int | None]) -> int | None:
    """The sum; unknown as soon as one of them is."""
    total = 0
    for value in values:
        if value is None:
            return None
        total += value
    return total
