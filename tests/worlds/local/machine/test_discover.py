"""This machine as nodes, and pretend ones."""

import errno
import os
from pathlib import Path

import psutil
import pytest
from tests.faults.plan import Nth
from tests.faults.processes import FaultyProcesses

from ganglion.model.errors import EnvironmentFault, FieldError
from ganglion.model.fleet.levels import Level
from ganglion.model.fleet.node import Device
from ganglion.worlds.local.machine.discover import (
    ThisMachine,
    machine_nodes,
    pretend_gpus,
    this_machine,
)

MACHINE = ThisMachine(8000, 64_000, tuple(Device("A100", uuid=f"GPU-{i}") for i in range(8)))


def test_this_machine_has_cpus_and_memory() -> None:
    machine = this_machine(Path("/nowhere"))
    assert machine.cpu_milli >= 1000
    assert machine.memory_mib == psutil.virtual_memory().total // 1024**2


def test_a_machine_that_does_not_say_its_memory_asks_for_the_flag_and_for_nothing_else(
    tmp_path: Path,
) -> None:
    silent = FaultyProcesses(Nth(1, "memory", stays=True), errno.EIO)
    machine, said = this_machine(Path("/nowhere"), silent), list[str]()
    assert (machine.memory_mib, machine.cpu_milli >= 1000) == (0, True)
    with pytest.raises(EnvironmentFault, match="the memory of this machine is unknown") as caught:
        machine_nodes(machine=machine)
    assert "--memory" in caught.value.hint
    (node,) = machine_nodes(machine=machine, memory=1_000, warn=said.append)
    assert node.memory_mib == 1_000
    assert said[-1] == f"the memory of this machine is unknown: [Errno 5] {os.strerror(errno.EIO)}"
    (tmp_path / "memory.max").write_text(f"{512 * 1024**2}\n")
    assert this_machine(tmp_path, silent).memory_mib == 512


def test_the_limits_of_a_container_are_the_machine(tmp_path: Path) -> None:
    (tmp_path / "cpu.max").write_text("50000 100000\n")
    (tmp_path / "memory.max").write_text(f"{512 * 1024**2}\n")
    machine = this_machine(tmp_path)
    assert (machine.cpu_milli, machine.memory_mib) == (500, 512)
    (tmp_path / "cpu.max").write_text("max 100000\n")
    (tmp_path / "memory.max").write_text("max\n")
    assert this_machine(tmp_path) == this_machine(Path("/nowhere"))


def test_one_node_has_all() -> None:
    (node,) = machine_nodes(machine=MACHINE)
    assert (node.name, node.cpu_milli, node.memory_mib) == ("node-0", 8000, 64_000)
    assert (node.devices, node.domains, node.labels) == (MACHINE.devices, {}, {})


@pytest.mark.parametrize(("count", "sizes"), [(2, [4, 4]), (3, [2, 3, 3]), (8, [1] * 8)])
def test_pretend_nodes_share_the_machine_and_no_device_twice(count: int, sizes: list[int]) -> None:
    nodes = machine_nodes(nodes=count, machine=MACHINE)
    assert [node.name for node in nodes] == [f"node-{i}" for i in range(count)]
    assert [len(node.devices) for node in nodes] == sizes
    assert sum((node.devices for node in nodes), ()) == MACHINE.devices
    assert sum(node.cpu_milli for node in nodes) <= 8000
    assert sum(node.memory_mib for node in nodes) <= 64_000


def test_pretend_gpus_are_given_to_every_node_and_marked() -> None:
    nodes = machine_nodes(nodes=4, fake_gpus="8", racks=2, machine=MACHINE)
    assert [len(node.devices) for node in nodes] == [8] * 4
    assert [node.domains[Level.RACK] for node in nodes] == ["rack-0", "rack-0", "rack-1", "rack-1"]
    assert {node.labels["pretend"] for node in nodes} == {"true"}
    assert {node.kind for node in nodes} == {"H100"}
    assert not any(device.uuid for node in nodes for device in node.devices)


def test_cpus_and_memory_may_be_given_per_node() -> None:
    nodes = machine_nodes(nodes=3, cpus=1.5, memory=100_000, machine=MACHINE)
    assert {(node.cpu_milli, node.memory_mib) for node in nodes} == {(1500, 100_000)}


@pytest.mark.parametrize(
    ("text", "count", "kind", "memory"),
    [
        ("8", 8, "H100", 81_920),
        ("2:A100", 2, "A100", 81_920),
        ("4:A100:40GB", 4, "A100", 40_960),
        ("4:Mine:24Gi", 4, "Mine", 24_576),
        ("4:Mine:5000", 4, "Mine", 5_000),
        ("4:Mine", 4, "Mine", 0),
        ("3:L40S:48000MiB", 3, "L40S", 48_000),
        ("0", 0, "", 0),
    ],
)
def test_pretend_gpus_as_text(text: str, count: int, kind: str, memory: int) -> None:
    devices = pretend_gpus(text)
    assert len(devices) == count
    assert {(device.type, device.memory_mib) for device in devices} == (
        {(kind, memory)} if count else set()
    )


def test_pretend_gpus_lie_on_two_numa_nodes_and_one_island() -> None:
    assert [device.numa for device in pretend_gpus("8")] == [0, 0, 0, 0, 1, 1, 1, 1]
    assert {device.island for device in pretend_gpus("8")} == {0}


@pytest.mark.parametrize("text", ["", "x", "-1", "8:", "8:H100:", "8:H100:9X", "65", "1.5", "8:1"])
def test_a_wrong_text_says_how_to_write_it(text: str) -> None:
    with pytest.raises(FieldError, match="no description of pretend GPUs") as caught:
        pretend_gpus(text)
    assert "8:H100:80GB" in caught.value.hint


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"nodes": 0}, "--nodes: 0 nodes are not between 1 and 1024"),
        ({"nodes": 5000}, "--nodes: 5000 nodes"),
        ({"nodes": 2, "racks": 3}, "--racks: 3 racks for 2 nodes leave racks empty"),
        ({"racks": -1}, "--racks: -1 racks"),
        ({"cpus": 0.0}, "--cpus: 0 CPUs are not more than 0"),
        ({"cpus": float("nan")}, "--cpus: nan CPUs"),
        ({"memory": -5}, "--memory: -5 MiB"),
    ],
)
def test_numbers_without_sense_are_refused(given: dict[str, int], said: str) -> None:
    with pytest.raises(FieldError) as caught:
        machine_nodes(machine=MACHINE, **given)  # type: ignore[arg-type]  # wrong on purpose
    assert caught.value.message.startswith(said)
