"""GPUs that fall sick, as a driver that is made up tells it."""

import time
from collections.abc import Iterator
from typing import Any

import pytest

from ganglion.model.events import DeviceHealth
from ganglion.model.fleet.node import Device, Node
from ganglion.worlds.local.machine.health import SETTLE_MS, DeviceWatcher

NODES = (
    Node("a", 1, 1, (Device("H100", uuid="GPU-0"), Device("H100", uuid="GPU-1"))),
    Node("b", 1, 1, (Device("H100", uuid="GPU-2"), Device("H100"))),
)


class Nvml:
    """A driver of three GPUs."""

    NVML_ERROR_NOT_FOUND = 6
    NVML_ERROR_NOT_SUPPORTED, NVML_ERROR_GPU_IS_LOST, NVML_ERROR_RESET_REQUIRED = 3, 15, 16
    NVML_MEMORY_ERROR_TYPE_UNCORRECTED = NVML_VOLATILE_ECC = 0
    nvmlEventTypeXidCriticalError = 8  # noqa: N815 - the library's own name

    class NVMLError(Exception):
        def __init__(self, value: int = 15) -> None:
            super().__init__(value)
            self.value = value

    class Event:
        def __init__(self, device: str, xid: int) -> None:
            self.device, self.eventData = device, xid

    def __init__(self) -> None:
        self.lost: set[str] = set()
        self.dead: set[str] = set()
        self.errors: dict[str, int] = {}
        self.failed_rows: set[str] = set()
        self.events: list[Nvml.Event] = []

    def __getattr__(self, name: str) -> Any:
        assert name in {
            "nvmlInit",
            "nvmlShutdown",
            "nvmlEventSetCreate",
            "nvmlDeviceRegisterEvents",
        }
        return lambda *_: object()

    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> str:  # noqa: N802 - the library's own name
        if uuid in self.lost:
            raise self.NVMLError
        return uuid

    def nvmlDeviceGetUUID(self, handle: str) -> str:  # noqa: N802 - the library's own name
        return handle

    def nvmlDeviceGetUtilizationRates(self, handle: str) -> None:  # noqa: N802 - the library's
        if handle in self.dead:
            raise self.NVMLError(self.NVML_ERROR_RESET_REQUIRED)
        if handle == "GPU-2":
            raise self.NVMLError(self.NVML_ERROR_NOT_SUPPORTED)

    def nvmlDeviceGetTotalEccErrors(self, handle: str, *_: int) -> int:  # noqa: N802 - the library's
        return self.errors.get(handle, 0)

    def nvmlDeviceGetRemappedRows(self, handle: str) -> tuple[int, ...]:  # noqa: N802 - the library's
        return (0, 0, 0, int(handle in self.failed_rows))

    def nvmlEventSetWait_v2(self, *_: Any) -> "Nvml.Event":  # noqa: N802 - the library's own name
        if not self.events:
            raise self.NVMLError
        return self.events.pop()


class Clock:
    now = 1_000

    def __call__(self) -> int:
        return self.now


@pytest.fixture
def nvml() -> Nvml:
    return Nvml()


@pytest.fixture
def health(nvml: Nvml) -> Iterator[DeviceWatcher]:
    made = DeviceWatcher(NODES, Clock(), nvml)
    yield made
    made.stop()


def seen(health: DeviceWatcher) -> list[DeviceHealth]:
    health.look()
    return health.take()


def test_gpus_that_are_well_are_not_mentioned(health: DeviceWatcher) -> None:
    assert seen(health) == []


def test_a_gpu_that_is_gone_is_told_once_by_node_and_number(
    health: DeviceWatcher, nvml: Nvml
) -> None:
    nvml.lost.add("GPU-1")
    sick = DeviceHealth(1_000, "a", 1, healthy=False, cause="it does not answer")
    assert seen(health) == [sick]
    assert seen(health) == []


def test_a_gpu_that_needs_a_reset_does_not_answer(health: DeviceWatcher, nvml: Nvml) -> None:
    nvml.dead.add("GPU-0")
    assert [each.cause for each in seen(health)] == ["it does not answer"]


def test_memory_errors_and_rows_that_cannot_be_replaced_are_told(
    health: DeviceWatcher, nvml: Nvml
) -> None:
    nvml.errors["GPU-0"] = 2
    nvml.failed_rows.add("GPU-2")
    assert [(each.node, each.device, each.cause) for each in seen(health)] == [
        ("a", 0, "2 uncorrectable memory errors"),
        ("b", 0, "a broken row of its memory cannot be replaced"),
    ]


def test_a_gpu_that_came_back_is_well_after_a_while(nvml: Nvml) -> None:
    clock = Clock()
    health = DeviceWatcher(NODES, clock, nvml)
    nvml.lost.add("GPU-0")
    assert not seen(health)[0].healthy
    nvml.lost.clear()
    clock.now += SETTLE_MS - 1
    assert seen(health) == []
    clock.now += 1
    assert seen(health) == [DeviceHealth(clock.now, "a", 0, healthy=True)]


def test_an_xid_error_is_heard_by_the_thread(health: DeviceWatcher, nvml: Nvml) -> None:
    nvml.events.append(Nvml.Event("GPU-1", 79))
    health.start()
    give_up = time.monotonic() + 20
    found: list[DeviceHealth] = []
    while not found:
        assert time.monotonic() < give_up
        found = health.take()
        time.sleep(0.01)
    assert (found[0].node, found[0].device) == ("a", 1)
    assert found[0].cause == "Xid 79: it fell off the bus"


def test_nobody_looks_where_there_are_no_real_devices(nvml: Nvml) -> None:
    health = DeviceWatcher((Node("a", 1, 1, (Device("H100"),)),), Clock(), nvml)
    health.start()
    assert not health.watches
