"""GPUs through NVML: names, memory, places, and everything that can be absent."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pynvml
import pytest
from tests.faults.processes import ScriptedProcesses

from ganglion.seams.processes import Finished
from ganglion.worlds.local.machine import gpus, topo
from ganglion.worlds.local.machine.gpus import find_gpus, run_topo, short_type

MATRICES = Path(__file__).parent / "matrices"


class FakeNvml:
    """The few calls of NVML that are used, for a machine of eight bridged A100."""

    NVMLError = pynvml.NVMLError
    NVMLError_LibraryNotFound = pynvml.NVMLError_LibraryNotFound
    NVML_ERROR_DRIVER_NOT_LOADED = pynvml.NVML_ERROR_DRIVER_NOT_LOADED

    def __init__(self, count: int = 8) -> None:
        self.count, self.mig, self.lost = count, {-1}, {-1}
        self.init_error: Exception | None = None
        self.open = 0

    def nvmlInit(self) -> None:  # noqa: N802 - the name is NVML's
        if self.init_error:
            raise self.init_error
        self.open += 1

    def nvmlShutdown(self) -> None:  # noqa: N802 - the name is NVML's
        self.open -= 1

    def __getattr__(self, name: str) -> Any:
        return getattr(self, f"_{name.removeprefix('nvmlDeviceGet')}")

    def _Count(self) -> int:  # noqa: N802 - the name is NVML's
        return self.count

    def _HandleByIndex(self, index: int) -> int:  # noqa: N802 - the name is NVML's
        if index in self.lost:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_GPU_IS_LOST)
        return index

    def _Name(self, index: int) -> bytes:  # noqa: N802 - the name is NVML's
        return b"NVIDIA A100-PCIE-40GB"

    def _UUID(self, index: int) -> str:  # noqa: N802 - the name is NVML's
        return f"GPU-{index}aaa"

    def _MemoryInfo(self, index: int) -> Any:  # noqa: N802 - the name is NVML's
        return SimpleNamespace(total=40_960 * 1024 * 1024 + 5)

    def _PciInfo(self, index: int) -> Any:  # noqa: N802 - the name is NVML's
        return SimpleNamespace(busId=f"00000000:{index:02X}:00.0")

    def _MigMode(self, index: int) -> list[int]:  # noqa: N802 - the name is NVML's
        if index > 5:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_SUPPORTED)
        return [int(index in self.mig), 0]


def find(nvml: FakeNvml, matrix: str = "bridges", **given: Any) -> gpus.FoundGpus:
    text = (MATRICES / f"{matrix}.txt").read_text() if matrix else ""
    given = {"sysfs": Path("/nowhere"), "environ": {}} | given
    return find_gpus(nvml=nvml, matrix=lambda: text, **given)


def test_devices_carry_type_memory_uuid_island_and_numa() -> None:
    nvml = FakeNvml()
    found = find(nvml)
    assert [d.type for d in found.devices] == ["A100"] * 8
    assert {d.memory_mib for d in found.devices} == {40_960}
    assert [d.uuid for d in found.devices] == [f"GPU-{i}aaa" for i in range(8)]
    assert [d.island for d in found.devices] == [0, 1, 0, 1, 2, 2, 3, 3]
    assert [d.numa for d in found.devices] == [0, 0, 0, 0, 1, 1, 1, 1]
    assert all(d.healthy for d in found.devices)
    assert (found.notes, nvml.open) == ((), 0)


def test_the_kernels_numa_node_goes_before_the_matrix(tmp_path: Path) -> None:
    for index, node in enumerate(["1", "0", "-1"]):
        folder = tmp_path / "bus/pci/devices" / f"0000:{index:02x}:00.0"
        folder.mkdir(parents=True)
        (folder / "numa_node").write_text(f"{node}\n")
    found = find(FakeNvml(3), "hgx-h100", sysfs=tmp_path)
    assert [d.numa for d in found.devices] == [1, 0, 0]


def test_without_a_matrix_every_device_is_its_own_island() -> None:
    assert [d.island for d in find(FakeNvml(3), "").devices] == [0, 1, 2]


def test_no_driver_or_library_means_no_gpus_and_no_words() -> None:
    for code in (pynvml.NVML_ERROR_LIBRARY_NOT_FOUND, pynvml.NVML_ERROR_DRIVER_NOT_LOADED):
        nvml = FakeNvml()
        nvml.init_error = pynvml.NVMLError(code)
        assert find(nvml) == gpus.FoundGpus()


def test_a_driver_that_refuses_is_noted() -> None:
    nvml = FakeNvml()
    nvml.init_error = pynvml.NVMLError(pynvml.NVML_ERROR_NO_PERMISSION)
    found = find(nvml)
    assert found.devices == ()
    assert found.notes[0].startswith("NVML cannot be used: ")


def test_mig_and_lost_devices_keep_their_number_but_are_not_used() -> None:
    nvml = FakeNvml()
    nvml.mig, nvml.lost = {2}, {5}
    found = find(nvml)
    assert [d.healthy for d in found.devices] == [i not in {2, 5} for i in range(8)]
    assert [note.split(":")[0] for note in found.notes] == [
        "GPU 2 is in MIG mode, which the local world does not use",
        "GPU 5 cannot be used",
    ]


@pytest.mark.parametrize(
    ("visible", "used"),
    [("2,3", {2, 3}), ("GPU-1aaa, GPU-4", {1, 4}), ("", set()), ("-1", set()), ("0", {0})],
)
def test_devices_hidden_from_the_server_are_not_used(visible: str, used: set[int]) -> None:
    found = find(FakeNvml(), environ={"CUDA_VISIBLE_DEVICES": visible})
    assert {i for i, d in enumerate(found.devices) if d.healthy} == used
    assert found.notes == (f"{8 - len(used)} GPUs are hidden by CUDA_VISIBLE_DEVICES={visible}",)


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("NVIDIA H100 80GB HBM3", "H100"),
        ("NVIDIA H100 PCIe", "H100"),
        ("NVIDIA H100 NVL", "H100"),
        ("NVIDIA H200", "H200"),
        ("NVIDIA A100-SXM4-40GB", "A100"),
        ("NVIDIA A100 80GB PCIe", "A100"),
        ("NVIDIA A10G", "A10G"),
        ("NVIDIA L40S", "L40S"),
        ("NVIDIA GH200 480GB", "GH200"),
        ("Tesla V100-SXM2-32GB", "V100"),
        ("Tesla T4", "T4"),
        ("NVIDIA RTX A6000", "A6000"),
        ("NVIDIA RTX 6000 Ada Generation", "RTX6000Ada"),
        ("NVIDIA GeForce RTX 4090", "RTX4090"),
        ("NVIDIA GeForce RTX 3080 Laptop GPU", "RTX3080"),
        ("Quadro RTX 8000", "RTX8000"),
        ("NVIDIA Graphics Device", "GPU"),
        ("", "GPU"),
    ],
)
def test_names_are_shortened_to_what_users_say(name: str, short: str) -> None:
    assert short_type(name) == short


def test_the_matrix_is_empty_without_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert run_topo() == ""


def test_the_matrix_is_what_the_program_prints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "nvidia-smi"
    program.write_text('#!/bin/sh\necho "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    assert run_topo() == "topo -m\n"


WHOLE = (MATRICES / "bridges.txt").read_bytes()


@pytest.mark.parametrize(
    ("end", "said"),
    [
        (TimeoutError(), "no answer within 20 s"),
        (PermissionError(13, "Permission denied"), "Permission denied"),
        (Finished(9, b"", b"NVIDIA-SMI has failed\n"), "NVIDIA-SMI has failed"),
        (Finished(-9, b""), "exit code -9"),
        (Finished(0, b"Usage:\n"), "it prints no matrix"),
        *[(Finished(0, WHOLE[:cut]), "its output is cut off") for cut in (90, 180, 400)],
    ],
)
def test_a_matrix_that_cannot_be_had_whole_costs_no_device_and_is_named(
    end: Finished | OSError, said: str
) -> None:
    given = {"sysfs": Path("/nowhere"), "environ": {}}
    processes = ScriptedProcesses(end)
    found = find_gpus(nvml=FakeNvml(), processes=processes, **given)  # type: ignore[arg-type]  # of any kind
    assert [d.uuid for d in found.devices] == [f"GPU-{i}aaa" for i in range(8)]
    assert all(d.healthy for d in found.devices)
    assert [d.island for d in found.devices] == [*range(8)]
    (note,) = found.notes
    assert note == f"nvidia-smi topo -m: {said}; no GPU is known to have NVLink to another"
    (ran,) = processes.ran
    assert (ran.argv, ran.timeout_s) == (("nvidia-smi", "topo", "-m"), 20)


def test_wherever_a_matrix_is_cut_off_no_link_is_made_up() -> None:
    whole = topo.parse(WHOLE.decode())
    assert whole.whole
    for cut in range(len(WHOLE)):
        found = topo.parse(WHOLE[:cut].decode())
        if found.gpus == whole.gpus and found.whole:
            assert found.links == whole.links
