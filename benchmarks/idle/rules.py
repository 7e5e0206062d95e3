"""Rules that decide when a workspace goes: ours, and those in use elsewhere.

Every rule has the same timeout. The others are written down in their favour: they see what they
ask for without error, a series that is missing stops no workspace, and a kernel that runs a cell is
never culled.
"""

from collections.abc import Callable
from typing import Protocol

from benchmarks.idle.people import Minute, Notebook
from ganglion.lifecycle.workspaces.gpus import GpuReading, gpu_sight
from ganglion.lifecycle.workspaces.kernels import Kernel, Notebooks, kernel_sight
from ganglion.lifecycle.workspaces.observations import Witness, WitnessMemory
from ganglion.lifecycle.workspaces.processes import (
    Attached,
    ProcessUse,
    people_sight,
    process_sight,
)
from ganglion.lifecycle.workspaces.rule import Act, LookPace, Warned, step
from ganglion.model.behaviour import Idle
from ganglion.model.workload import Kind, Workload

MIN_MS = 60_000
TIMEOUT_MIN, WARN_MIN = 30, 5
EPOCH = 10_000 * MIN_MS
"""The time of minute 0: a notebook server that never did anything says so with an early time."""
PACE = LookPace(stale_ms=2 * MIN_MS, least_ms=MIN_MS)
WORKSPACE = Workload(
    "notebook",
    Kind.WORKSPACE,
    idle_timeout_ms=TIMEOUT_MIN * MIN_MS,
    idle=Idle(warn_ms=WARN_MIN * MIN_MS),
)


class Rule(Protocol):
    """Watches one workspace while it runs."""

    def minute(self, at: int, own: Minute, device_milli: int, device_pcie: int) -> bool:
        """Whether it goes at the end of this minute.

        Args:
            at: the minute.
            own: what happened in the workspace.
            device_milli: use of its GPU's engines by all workspaces on it, in thousandths.
            device_pcie: bytes a second to and from it, likewise.
        """


class Ganglion:
    """Ours, as the server runs it, looking once a minute."""

    def __init__(self, notebook: Notebook, begin: int) -> None:
        self._shared, self._shell = notebook.shared, notebook.kind == "shell"
        self._memory = WitnessMemory()
        self._begin = self._activity = self._saved = self._terminal = EPOCH + begin * MIN_MS
        self._typed = 0
        self._warned: Warned | None = None

    def minute(self, at: int, own: Minute, device_milli: int, device_pcie: int) -> bool:
        """Whether it goes at the end of this minute."""
        now = EPOCH + (at + 1) * MIN_MS
        self._happened(now, own)
        reading = GpuReading(now, MIN_MS, device_milli, device_pcie) if own.gpu_told else None
        for sight in (
            gpu_sight([reading], WORKSPACE.idle, now, shared=self._shared),
            process_sight(ProcessUse(now, MIN_MS, own.cpu_milli, own.moved), now),
            people_sight(Attached(now, self._typed), now, MIN_MS),
            kernel_sight(self._server(now, own), now),
        ):
            self._memory.see(sight, MIN_MS // 2)
        required = (Witness.GPU, Witness.PROCESSES, Witness.PEOPLE, Witness.KERNELS)
        found = step(WORKSPACE, self._memory, required, self._warned, now, PACE)
        if found.act is Act.WARN:
            self._warned = Warned(now, found.suspend_at)
        elif found.act is Act.TAKE_BACK:
            self._warned = None
        return found.act is Act.SUSPEND

    def _happened(self, now: int, own: Minute) -> None:
        if own.ran:
            self._activity = now
        if own.saved:
            self._saved = now
        if own.typed == 1:
            self._terminal = now
        elif own.typed == 2:
            self._typed = now

    def _server(self, now: int, own: Minute) -> Notebooks | None:
        if not own.server_told:
            return None
        kernel = Kernel("busy" if own.busy else "idle", self._activity, 1)
        return Notebooks(now, self._begin, (kernel,), (self._terminal,), (self._saved,))


class Timeout:
    """Goes when nothing that this rule looks at has happened for the whole timeout.

    Args:
        used: whether a minute counts as use; None = unknown, and begins anew.
    """

    def __init__(self, used: Callable[[Minute, int], bool | None]) -> None:
        self._used, self._quiet = used, 0

    def minute(self, at: int, own: Minute, device_milli: int, device_pcie: int) -> bool:
        """Whether it goes at the end of this minute."""
        del at, device_pcie
        self._quiet = self._quiet + 1 if self._used(own, device_milli) is False else 0
        return self._quiet >= TIMEOUT_MIN


def _kernels(own: Minute, _device: int) -> bool | None:
    """Kernels and terminals of the notebook server, as its own culler and hubs use them."""
    return (own.ran or own.busy or own.typed == 1) if own.server_told else None


def _gpu(own: Minute, device: int) -> bool | None:
    """Utilisation of the GPU above nothing at all, as fleets stop idle GPUs by."""
    return device >= 10 if own.gpu_told else None


def _cpu_and_gpu(own: Minute, device: int) -> bool | None:
    """CPU and GPU both, each below a threshold of its own."""
    return (device >= 10 or own.cpu_milli >= 100) if own.gpu_told else None


def _kernels_and_gpu(own: Minute, device: int) -> bool | None:
    said = (_kernels(own, device), _gpu(own, device))
    return None if None in said else any(said)


RULES: dict[str, Callable[[Notebook, int], Rule]] = {
    "ganglion": Ganglion,
    "kernels": lambda _notebook, _begin: Timeout(_kernels),
    "gpu": lambda _notebook, _begin: Timeout(_gpu),
    "cpu-and-gpu": lambda _notebook, _begin: Timeout(_cpu_and_gpu),
    "kernels-and-gpu": lambda _notebook, _begin: Timeout(_kernels_and_gpu),
}
"""Name -> what watches a workspace from some minute on."""
