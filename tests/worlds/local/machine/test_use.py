"""What processes and GPUs use, measured."""

import os
import subprocess
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
from tests.server.process import until

from ganglion.worlds.local.machine.use import MIB, GpuUse, TreeUse, UseReader

SPIN = """
import os, sys
held = bytearray(64 << 20)
if os.fork() == 0:
    while True:
        pass
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def busy() -> Iterator[int]:
    """A process with 64 MiB that has a child which computes for ever."""
    process = subprocess.Popen(
        [sys.executable, "-c", SPIN], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout
    assert process.stdin
    process.stdout.readline()
    yield process.pid
    for child in psutil.Process(process.pid).children():
        child.kill()
    process.stdin.close()
    process.wait()
    process.stdout.close()


def test_a_tree_of_processes_is_measured_as_one(busy: int) -> None:
    reader = UseReader()

    def loaded() -> TreeUse | None:
        found = reader.trees([busy])[busy]
        assert found.cpu_milli is not None
        return found if found.cpu_milli > 50 else None

    found = until(loaded)
    assert found.pids == {child.pid for child in psutil.Process(busy).children()}
    assert reader.trees([os.getpid()])[os.getpid()].memory_mib >= 64


def test_a_process_that_is_gone_is_left_out() -> None:
    process = subprocess.Popen(["true"])
    process.wait()
    assert UseReader().trees([process.pid]) == {}
    assert UseReader().trees([]) == {}


class Nvml:
    """A driver with one GPU that has one process, and does not tell its limit of power."""

    class NVMLError(Exception):
        pass

    def __init__(self, *, driver: bool = True) -> None:
        self.driver = driver

    def nvmlInit(self) -> None:  # noqa: N802 - the library's own name
        if not self.driver:
            raise self.NVMLError

    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> str:  # noqa: N802 - the library's own name
        if uuid != "GPU-1":
            raise self.NVMLError
        return uuid

    def __getattr__(self, name: str) -> Any:
        answers = {
            "nvmlDeviceGetUtilizationRates": SimpleNamespace(gpu=37),
            "nvmlDeviceGetMemoryInfo": SimpleNamespace(used=8 * MIB, total=16 * MIB),
            "nvmlDeviceGetPowerUsage": 250_000,
            "nvmlDeviceGetComputeRunningProcesses": [
                SimpleNamespace(pid=7, usedGpuMemory=3 * MIB),
                SimpleNamespace(pid=8, usedGpuMemory=None),
            ],
        }

        def answer(_handle: str) -> Any:
            if name not in answers:
                raise self.NVMLError
            return answers[name]

        return answer


def test_a_gpu_tells_what_its_driver_tells_and_no_more() -> None:
    (found,) = UseReader(Nvml()).gpus(["GPU-1"])
    assert found == GpuUse(370, 8, 16, 250_000, None, {7: 3, 8: None})


def test_pretend_lost_and_undriven_gpus_are_unknown() -> None:
    assert UseReader(Nvml()).gpus(["", "GPU-2"]) == [GpuUse(), GpuUse()]
    assert UseReader(Nvml(driver=False)).gpus(["GPU-1"]) == [GpuUse()]
