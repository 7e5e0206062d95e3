"""How busy this machine's GPUs are, through NVML.

NVML keeps the last samples of utilisation, so that nothing between two looks is missed, and
reports PCIe at the moment it is asked.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from ganglion.lifecycle.workspaces.gpus import PER_CENT_MILLI, GpuFigures, GpuReading
from ganglion.worlds.local.machine.nvml import BINDING, NvmlHandles, told

KB, MIB = 1_000, 1 << 20


class NvmlGpus:
    """Reads devices again and again; call it from one thread.

    Args:
        nvml: the NVML binding.
    """

    def __init__(self, nvml: Any = BINDING) -> None:  # noqa: ANN401 - a module without types
        self._nvml, self._handles = nvml, NvmlHandles(nvml)
        self._seen: dict[str, int] = {}

    def read(self, uuids: Sequence[str], now: int) -> list[GpuReading | None]:
        """Devices since they were last read; None = nothing is known of one.

        Args:
            uuids: the vendor's identifiers.
            now: the time in ms.
        """
        return [self._read(uuid, now) for uuid in uuids]

    def _read(self, uuid: str, now: int) -> GpuReading | None:
        try:
            return self._reading(uuid, now)
        except self._nvml.NVMLError:
            return None

    def close(self) -> None:
        """Let the library go."""
        self._handles.close()

    def _reading(self, uuid: str, now: int) -> GpuReading:
        nvml, handle = self._nvml, self._handles.of(uuid)
        before = self._seen.get(uuid, 0)
        _, samples = nvml.nvmlDeviceGetSamples(handle, nvml.NVML_GPU_UTILIZATION_SAMPLES, before)
        new = [each for each in samples if each.timeStamp > before]
        if new:
            self._seen[uuid] = max(each.timeStamp for each in new)
        most = max((each.sampleValue.uiVal for each in new), default=None)
        return GpuReading(
            now,
            _span(new, now),
            None if most is None else most * PER_CENT_MILLI,
            self._moved(handle),
            nvml.nvmlDeviceGetMemoryInfo(handle).used // MIB,
            f"GPU {nvml.nvmlDeviceGetIndex(handle)}",
        )

    def _moved(self, handle: Any) -> int | None:  # noqa: ANN401 - a handle without type
        """Bytes a second over PCIe; None where the device does not report them."""
        nvml = self._nvml
        try:
            counters = (nvml.NVML_PCIE_UTIL_TX_BYTES, nvml.NVML_PCIE_UTIL_RX_BYTES)
            return sum(KB * int(nvml.nvmlDeviceGetPcieThroughput(handle, c)) for c in counters)
        except nvml.NVMLError_NotSupported:
            return None


class NvmlCounters:
    """Reads what GPUs did since they were read before; call it from one thread.

    Args:
        nvml: the NVML binding.
    """

    by_dcgm = False

    def __init__(self, nvml: Any = BINDING) -> None:  # noqa: ANN401 - a module without types
        self._nvml, self._handles = nvml, NvmlHandles(nvml)
        self._seen: dict[str, int] = {}

    def read(self, uuids: Iterable[str]) -> list[GpuFigures]:
        """GPUs by the vendor's identifiers; of one without, as pretend GPUs are, nothing is known.

        How busy one was is the mean of all samples that the driver has kept since then.
        """
        return [self._read(uuid) if uuid else GpuFigures() for uuid in uuids]

    def _read(self, uuid: str) -> GpuFigures:
        nvml = self._nvml
        try:
            handle = self._handles.of(uuid)
        except nvml.NVMLError:
            return GpuFigures()
        energy_mj = told(nvml, nvml.nvmlDeviceGetTotalEnergyConsumption, handle)
        return GpuFigures(utilised_milli=self._busy_milli(uuid, handle), energy_mj=energy_mj)

    def _busy_milli(self, uuid: str, handle: Any) -> int | None:  # noqa: ANN401 - a handle without type
        nvml, before = self._nvml, self._seen.get(uuid, 0)
        kind = nvml.NVML_GPU_UTILIZATION_SAMPLES
        found = told(nvml, nvml.nvmlDeviceGetSamples, handle, kind, before)
        new = [each for each in found[1] if each.timeStamp > before] if found else []
        if not new:
            return None
        self._seen[uuid] = max(each.timeStamp for each in new)
        return sum(int(each.sampleValue.uiVal) for each in new) * PER_CENT_MILLI // len(new)


def _span(samples: list[Any], now: int) -> int:
    """The time that the samples cover, which have the time in microseconds."""
    return max(now - min((each.timeStamp for each in samples), default=now * 1000) // 1000, 0)
