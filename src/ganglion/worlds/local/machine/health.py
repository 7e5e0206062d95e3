"""Whether the GPUs of this machine are well, by NVML, in a thread of its own.

A driver may hang for as long as a sick GPU makes it: no other thread waits for this one.
"""

import contextlib
import threading
from collections.abc import Callable, Sequence
from typing import Any

import structlog

from ganglion.lifecycle.failures.gpus import DriverReading, GpuCondition, judge
from ganglion.model.events import DeviceHealth
from ganglion.model.fleet.node import Node
from ganglion.worlds.local.machine.nvml import BINDING, says_absent, told

EVERY_S = 10.0
"""How often every GPU is asked."""
SETTLE_MS = 600_000
"""A GPU that was sick is well again once nothing was wrong for this time, in ms."""

SILENT = 3
"""Looks in a row without an answer after which a GPU counts as one that does not answer."""

Place = tuple[str, int]
"""A node and the index of one of its devices."""

log = structlog.get_logger(__name__)


class DeviceWatcher:
    """Watches all devices that have an identifier, as real ones do.

    Args:
        nodes: with their devices.
        nvml: the NVML binding.
        clock: the time in ms.
    """

    def __init__(
        self,
        nodes: Sequence[Node],
        clock: Callable[[], int],
        nvml: Any = BINDING,  # noqa: ANN401 - a module without type information
    ) -> None:
        self._nvml, self._clock = nvml, clock
        self._places: dict[str, Place] = {
            device.uuid: (node.name, index)
            for node in nodes
            for index, device in enumerate(node.devices)
            if device.uuid and device.healthy
        }
        self._conditions = {uuid: GpuCondition() for uuid in self._places}
        self._xids: dict[str, list[int]] = {}
        self._silent: dict[str, int] = {}
        self._facts: list[DeviceHealth] = []
        self._lock, self._wake, self._end = threading.Lock(), threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="gpu-health", daemon=True)
        self.rounds = 0

    @property
    def watches(self) -> bool:
        """Whether there is anything to look at, and a thread that looks."""
        return self._thread.is_alive()

    def start(self) -> None:
        """Begin to look, if there are real devices."""
        if self._places:
            self._thread.start()

    def stop(self) -> None:
        """Look no more; a driver that hangs is not waited for."""
        self._end.set()
        self._wake.set()

    def hurry(self) -> None:
        """Look at once."""
        self._wake.set()

    def take(self) -> list[DeviceHealth]:
        """What has changed since the last call."""
        with self._lock:
            found, self._facts = self._facts, []
        return found

    # --- the thread -----------------------------------------------------------------------

    def _run(self) -> None:
        try:
            self._nvml.nvmlInit()
        except self._nvml.NVMLError as error:
            log.warning("GPUs cannot be watched", error=str(error))
            return
        events = _Events(self._nvml, self._places)
        while not self._end.is_set():
            for uuid, xid in events.take():
                self._xids.setdefault(uuid, []).append(xid)
            self.look()
            self._wake.wait(EVERY_S)
            self._wake.clear()
        with contextlib.suppress(self._nvml.NVMLError):
            self._nvml.nvmlShutdown()

    def look(self) -> None:
        """Ask every device once; part of the thread."""
        for uuid, place in self._places.items():
            before, now = self._conditions[uuid], self._clock()
            reading = self._reading(uuid)
            if reading is None:
                continue
            after = judge(reading, before, now, SETTLE_MS)
            self._conditions[uuid] = after
            if bool(after.sick) != bool(before.sick):
                fact = DeviceHealth(now, *place, healthy=not after.sick, cause=after.sick)
                with self._lock:
                    self._facts.append(fact)
        self.rounds += 1

    def _reading(self, uuid: str) -> DriverReading | None:
        """What the driver says of a device; None = it does not say now, which proves nothing."""
        nvml = self._nvml
        try:
            handle = nvml.nvmlDeviceGetHandleByUUID(uuid)
        except nvml.NVMLError as error:
            self._silent[uuid] = self._silent.get(uuid, 0) + 1
            if not says_absent(nvml, error) and self._silent[uuid] < SILENT:
                return None
            return DriverReading(present=False, xids=tuple(self._xids.pop(uuid, ())))
        self._silent[uuid] = 0
        xids = tuple(self._xids.pop(uuid, ()))
        if not self._answers(handle):
            return DriverReading(present=False, xids=xids)
        uncorrected, broken = self._uncorrected(handle), self._remap_failed(handle)
        return DriverReading(xids=xids, uncorrected=uncorrected, remap_failed=broken)

    def _answers(self, handle: Any) -> bool:  # noqa: ANN401 - the library's own
        """Whether a device does anything; what a model does not support is no fault."""
        nvml = self._nvml
        try:
            nvml.nvmlDeviceGetUtilizationRates(handle)
        except nvml.NVMLError as error:
            gone = (nvml.NVML_ERROR_GPU_IS_LOST, nvml.NVML_ERROR_RESET_REQUIRED)
            return getattr(error, "value", None) not in gone
        return True

    def _uncorrected(self, handle: Any) -> int:  # noqa: ANN401 - the library's own
        nvml = self._nvml
        kind, counter = nvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED, nvml.NVML_VOLATILE_ECC
        # A model without ECC does not report it.
        return int(told(nvml, nvml.nvmlDeviceGetTotalEccErrors, handle, kind, counter) or 0)

    def _remap_failed(self, handle: Any) -> bool:  # noqa: ANN401 - the library's own
        rows = told(self._nvml, self._nvml.nvmlDeviceGetRemappedRows, handle)
        return bool(rows and rows[3])  # older models remap no rows


class _Events:
    """Xid errors as the driver reports them."""

    def __init__(self, nvml: Any, uuids: "dict[str, Place]") -> None:  # noqa: ANN401 - a module
        self._nvml, self._set = nvml, None
        try:
            self._set = nvml.nvmlEventSetCreate()
            for uuid in uuids:
                handle = nvml.nvmlDeviceGetHandleByUUID(uuid)
                nvml.nvmlDeviceRegisterEvents(handle, nvml.nvmlEventTypeXidCriticalError, self._set)
        except nvml.NVMLError as error:
            log.warning("Xid errors cannot be watched", error=str(error))

    def take(self) -> list[tuple[str, int]]:
        """Errors since the last call: identifier of the device, number of the error."""
        nvml, found = self._nvml, list[tuple[str, int]]()
        while self._set is not None:
            try:
                event = nvml.nvmlEventSetWait_v2(self._set, 0)
                uuid = nvml.nvmlDeviceGetUUID(event.device)
            except nvml.NVMLError:  # nothing more for now
                return found
            text = uuid.decode(errors="replace") if isinstance(uuid, bytes) else uuid
            found.append((text, int(event.eventData)))
        return found
