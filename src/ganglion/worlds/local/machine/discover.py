"""This machine as nodes: its CPUs, memory and GPUs, or pretend ones."""

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from ganglion.model.errors import EnvironmentFault, FieldError
from ganglion.model.fleet.levels import Level
from ganglion.model.fleet.node import Device, Node
from ganglion.seams.processes import SYSTEM_PROCESSES, Processes
from ganglion.worlds.local.machine import host
from ganglion.worlds.local.machine.gpus import MIB, find_gpus

PRETEND_TYPE = "H100"
MEMORY_MIB = {
    "A10": 24_576,
    "A100": 81_920,
    "B200": 184_320,
    "H100": 81_920,
    "H200": 144_384,
    "L4": 24_576,
    "L40S": 49_152,
    "T4": 16_384,
    "V100": 32_768,
}
"""Memory of pretend devices whose size is not given."""
MOST_PODS = 110
"""Pods per node, so that work which asks for nothing is bounded too (the kubelet's default)."""
MOST_NODES, MOST_GPUS = 1024, 64
NO_LIMIT = 1 << 62
PRETEND = "pretend"
"""Label of nodes whose devices are pretend ones."""
_FAKE = re.compile(r"(\d{1,4})(?::([A-Za-z][\w.-]*)(?::(\d{1,9})([A-Za-z]*))?)?")
_UNITS = {"": 1, "M": 1, "MI": 1, "MB": 1, "MIB": 1, "G": 1024, "GI": 1024, "GB": 1024, "GIB": 1024}


class ThisMachine(Struct, frozen=True):
    """What this machine has.

    Attributes:
        cpu_milli: CPUs this process may use, in thousandths.
        memory_mib: memory this process may use; 0 = unknown.
        devices: GPUs in PCI bus order.
        notes: what a person should know about them.
    """

    cpu_milli: int
    memory_mib: int
    devices: tuple[Device, ...] = ()
    notes: tuple[str, ...] = ()


def this_machine(
    cgroup: Path = Path("/sys/fs/cgroup"), processes: Processes = SYSTEM_PROCESSES
) -> ThisMachine:
    """Look at this machine, within the limits of the container it may be in (cgroup v2)."""
    found = find_gpus(processes=processes)
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    cpu_milli = min(1000 * (cpus or 1), _cpu_limit(cgroup))
    limit = _memory_limit(cgroup)
    try:
        memory, notes = min(processes.memory(), limit), found.notes
    except OSError as error:
        memory = limit if limit < NO_LIMIT else 0
        notes = (*found.notes, f"the memory of this machine is unknown: {error}")
    return ThisMachine(cpu_milli, memory // MIB, found.devices, notes)


def _cpu_limit(cgroup: Path) -> int:
    quota, period = host.numbers(cgroup / "cpu.max", 2) or (1 << 30, 1)
    return max(1, 1000 * quota // period)


def _memory_limit(cgroup: Path) -> int:
    return (host.numbers(cgroup / "memory.max", 1) or (NO_LIMIT,))[0]


def pretend_gpus(text: str) -> tuple[Device, ...]:
    """Read `N[:TYPE[:MEMORY]]`, as `8`, `8:A100` or `8:A100:40GB`.

    The devices look like a board on which NVLink joins all: one island; the first half lies
    on NUMA node 0, the second on 1. Memory without a unit is in MiB; `GB` counts as GiB, as
    vendors do.

    Raises:
        FieldError: the text is not of that form.
    """
    match = _FAKE.fullmatch(text.strip())
    if not match or (match[4] or "").upper() not in _UNITS or int(match[1]) > MOST_GPUS:
        raise FieldError(
            f"{text!r} is no description of pretend GPUs",
            key="--fake-gpus",
            hint=f"write N, N:TYPE or N:TYPE:MEMORY with N up to {MOST_GPUS}, as 8:H100:80GB",
        )
    count, kind = int(match[1]), match[2] or PRETEND_TYPE
    memory = MEMORY_MIB.get(kind, 0)
    if match[3]:
        memory = int(match[3]) * _UNITS[match[4].upper()]
    return tuple(Device(kind, memory, numa=2 * i // count) for i in range(count))


def machine_nodes(
    *,
    nodes: int = 1,
    fake_gpus: str = "",
    racks: int = 0,
    cpus: float | None = None,
    memory: int | None = None,
    machine: ThisMachine | None = None,
    warn: Callable[[str], None] = lambda _note: None,
) -> tuple[Node, ...]:
    """This machine as one node, or split into several pretend ones.

    Args:
        nodes: how many; they are called `node-0`, `node-1`, ...
        fake_gpus: pretend GPUs of every node in place of real ones, see `pretend_gpus`.
        racks: racks the nodes lie in, in equal consecutive parts; 0 = no rack level.
        cpus: CPU cores of every node; None = an equal share of the machine's.
        memory: memory of every node in MiB; None = an equal share.
        machine: what to split; None = this machine.
        warn: gets what a person should know about the machine.

    Raises:
        FieldError: a number makes no sense.
        EnvironmentFault: the machine does not say what memory it has, and `memory` is None.
    """
    _check(nodes, racks, cpus, memory)
    machine = machine or this_machine()
    pretend = pretend_gpus(fake_gpus) if fake_gpus else None
    cpu_milli = machine.cpu_milli // nodes if cpus is None else round(1000 * cpus)
    memory_mib = machine.memory_mib // nodes if memory is None else memory
    for note in machine.notes if pretend is None else ():
        warn(note)
    if not (memory_mib or machine.memory_mib):
        message = "the memory of this machine is unknown"
        raise EnvironmentFault(message, "say how much a node has: --memory 64G")
    return tuple(
        Node(
            name=f"node-{i}",
            cpu_milli=cpu_milli,
            memory_mib=memory_mib,
            devices=_share(machine.devices, i, nodes) if pretend is None else pretend,
            domains={Level.RACK: f"rack-{i * racks // nodes}"} if racks else {},
            labels={PRETEND: "true"} if pretend else {},
            max_pods=MOST_PODS,
        )
        for i in range(nodes)
    )


def _share(devices: Sequence[Device], part: int, parts: int) -> tuple[Device, ...]:
    """The consecutive devices of one node; the shares differ by at most one device."""
    first, last = (len(devices) * edge // parts for edge in (part, part + 1))
    return tuple(devices[first:last])


def _check(nodes: int, racks: int, cpus: float | None, memory: int | None) -> None:
    if not 1 <= nodes <= MOST_NODES:
        raise FieldError(f"{nodes} nodes are not between 1 and {MOST_NODES}", key="--nodes")
    if not 0 <= racks <= nodes:
        raise FieldError(f"{racks} racks for {nodes} nodes leave racks empty", key="--racks")
    if cpus is not None and not cpus > 0:
        raise FieldError(f"{cpus:g} CPUs are not more than 0", key="--cpus")
    if memory is not None and memory <= 0:
        raise FieldError(f"{memory} MiB of memory are not more than 0", key="--memory")
