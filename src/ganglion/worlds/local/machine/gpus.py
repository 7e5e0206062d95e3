"""The GPUs of this machine through NVML and `nvidia-smi`; none where there is no driver."""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, structs

from ganglion.model.errors import EnvironmentFault
from ganglion.model.fleet.node import Device
from ganglion.seams.processes import SYSTEM_PROCESSES, Processes
from ganglion.worlds.local.machine import host, topo
from ganglion.worlds.local.machine.nvml import BINDING

TOPO_TIMEOUT_S = 20
_FORM = re.compile(
    r"SXM\d*|PCIE|NVL\d*|HBM\w*|\d+GB|GENERATION|GPU|SERVER|WORKSTATION|EDITION|MAX-?Q|"
    r"BLACKWELL|MIG|\d+G\.\d+GB|LAPTOP|GRAPHICS|DEVICE",
    re.IGNORECASE,
)
_VENDOR = frozenset({"NVIDIA", "TESLA", "QUADRO", "GEFORCE"})
MIB = 1024 * 1024


class FoundGpus(Struct, frozen=True):
    """What was found on the machine.

    Attributes:
        devices: in PCI bus order; a device's number is its place.
        notes: what a person should know about them.
    """

    devices: tuple[Device, ...] = ()
    notes: tuple[str, ...] = ()


def short_type(name: str) -> str:
    """The model as users call it: `NVIDIA H100 80GB HBM3` -> `H100`, `RTX A6000` -> `A6000`."""
    words = [word for word in re.split(r"[\s_-]+", name.strip()) if word]
    words = [word for word in words if word.upper() not in _VENDOR and not _FORM.fullmatch(word)]
    if len(words) > 1 and words[0] == "RTX" and re.fullmatch(r"A\d+", words[1]):
        words = words[1:]
    return "".join(words) or "GPU"


def find_gpus(
    *,
    nvml: Any = BINDING,  # noqa: ANN401 - a module without type information
    matrix: Callable[[], str] | None = None,
    sysfs: Path = Path("/sys"),
    environ: Mapping[str, str] = os.environ,
    processes: Processes = SYSTEM_PROCESSES,
) -> FoundGpus:
    """Find the GPUs; none, without an error, where driver or library are absent.

    Args:
        nvml: the NVML binding.
        matrix: returns the output of `nvidia-smi topo -m`; None = run it.
        sysfs: where the kernel describes PCI devices.
        environ: `CUDA_VISIBLE_DEVICES` in it hides the devices that it does not name.
        processes: run `nvidia-smi`.
    """
    try:
        nvml.nvmlInit()
    except nvml.NVMLError as error:
        silent = isinstance(error, nvml.NVMLError_LibraryNotFound) or _no_driver(nvml, error)
        return FoundGpus((), () if silent else (f"NVML cannot be used: {error}",))
    try:
        return _ask(nvml, matrix or (lambda: run_topo(processes)), sysfs, environ)
    except nvml.NVMLError as error:
        return FoundGpus((), (f"NVML failed: {error}",))
    finally:
        nvml.nvmlShutdown()


def device_file(index: int, proc: Path = Path(host.PROC)) -> str:
    """The file by which programs use a GPU; the driver counts these in an order of its own.

    Args:
        index: number of the GPU in PCI bus order.
        proc: where the driver describes GPUs, by PCI address.
    """
    driver = proc / "driver" / "nvidia" / "gpus"
    described = sorted(host.names(driver))
    text = host.text(driver / described[index] / "information") if described[index:] else None
    minor = re.search(r"Device Minor:\s*(\d+)", text or "")
    return f"/dev/nvidia{minor[1] if minor else index}"


def _no_driver(nvml: Any, error: Exception) -> bool:  # noqa: ANN401 - a module without types
    return bool(getattr(error, "value", None) == nvml.NVML_ERROR_DRIVER_NOT_LOADED)


def _ask(
    nvml: Any,  # noqa: ANN401 - a module without types
    matrix: Callable[[], str],
    sysfs: Path,
    environ: Mapping[str, str],
) -> FoundGpus:
    parsed, unknown = _links(matrix)
    islands = parsed.islands()
    devices, notes = [], [unknown] if unknown else []
    for index in range(nvml.nvmlDeviceGetCount()):
        device, note = _device(nvml, index, sysfs)
        numa = device.numa if device.numa >= 0 else parsed.numa.get(index, 0)
        island = islands.get(index, len(islands) + index)
        devices.append(structs.replace(device, numa=numa, island=island))
        notes += [note] if note else []
    return _hide(FoundGpus(tuple(devices), tuple(notes)), environ.get("CUDA_VISIBLE_DEVICES"))


def _links(matrix: Callable[[], str]) -> tuple[topo.Matrix, str]:
    """How the devices are joined, and a note where that is not known, or ''."""
    try:
        text = matrix()
        parsed = topo.parse(text)
        if parsed.whole and (parsed.gpus or not text):
            return parsed, ""
        said = "its output is cut off" if parsed.gpus else "it prints no matrix"
    except EnvironmentFault as error:
        said = error.message
    return topo.Matrix(), f"nvidia-smi topo -m: {said}; no GPU is known to have NVLink to another"


def _device(nvml: Any, index: int, sysfs: Path) -> tuple[Device, str]:  # noqa: ANN401 - a module without types
    """One device, with NUMA node -1 where the kernel does not know it, and a note or ''."""
    try:
        handle = nvml.nvmlDeviceGetHandleByIndex(index)
        device = Device(
            type=short_type(_text(nvml.nvmlDeviceGetName(handle))),
            memory_mib=nvml.nvmlDeviceGetMemoryInfo(handle).total // MIB,
            numa=_numa(_text(nvml.nvmlDeviceGetPciInfo(handle).busId), sysfs),
            uuid=_text(nvml.nvmlDeviceGetUUID(handle)),
        )
    except nvml.NVMLError as error:
        return Device("GPU", healthy=False), f"GPU {index} cannot be used: {error}"
    if _in_mig_mode(nvml, handle):
        note = f"GPU {index} is in MIG mode, which the local world does not use: left out"
        return structs.replace(device, healthy=False), note
    return device, ""


def _in_mig_mode(nvml: Any, handle: Any) -> bool:  # noqa: ANN401 - a module without types
    try:
        return bool(nvml.nvmlDeviceGetMigMode(handle)[0])
    except nvml.NVMLError:  # the model knows no MIG
        return False


def _numa(bus: str, sysfs: Path) -> int:
    """NUMA node of a PCI device; NVML writes the domain with 8 digits, the kernel with 4."""
    domain, _, rest = bus.lower().partition(":")
    path = sysfs / "bus/pci/devices" / f"{domain[-4:]}:{rest}" / "numa_node"
    return (host.numbers(path, 1) or (-1,))[0]


def _hide(found: FoundGpus, visible: str | None) -> FoundGpus:
    """Devices that `CUDA_VISIBLE_DEVICES` does not name keep their number and are not used."""
    if visible is None:
        return found
    named = [word.strip() for word in visible.split(",")]
    devices = [
        device if _is_named(number, device, named) else structs.replace(device, healthy=False)
        for number, device in enumerate(found.devices)
    ]
    hidden = sum(not _is_named(i, device, named) for i, device in enumerate(devices))
    note = f"{hidden} GPUs are hidden by CUDA_VISIBLE_DEVICES={visible}"
    return FoundGpus(tuple(devices), (*found.notes, note) if hidden else found.notes)


def _is_named(number: int, device: Device, named: Sequence[str]) -> bool:
    return any(word == str(number) or (word and device.uuid.startswith(word)) for word in named)


def _text(value: str | bytes) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else value


def run_topo(processes: Processes = SYSTEM_PROCESSES) -> str:
    """The output of `nvidia-smi topo -m`; empty where there is no such program.

    Raises:
        EnvironmentFault: it cannot be run, failed, or did not end.
    """
    try:
        done = processes.run(("nvidia-smi", "topo", "-m"), b"", {}, TOPO_TIMEOUT_S)
    except FileNotFoundError:
        return ""
    except TimeoutError as error:
        raise EnvironmentFault(f"no answer within {TOPO_TIMEOUT_S:g} s") from error
    except OSError as error:
        raise EnvironmentFault(error.strerror or str(error)) from error
    if done.code:
        said = " ".join(done.said.decode(errors="replace").split())[:200]
        raise EnvironmentFault(said or f"exit code {done.code}")
    return done.out.decode(errors="replace")
