"""What this machine's GPUs and processes use now, by NVML and the process table."""

import os
import threading
from collections.abc import Collection, Sequence
from typing import Any

from msgspec import Struct, field

from ganglion.seams.clock import SYSTEM_CLOCK, Clock
from ganglion.worlds.local.machine import host
from ganglion.worlds.local.machine.nvml import BINDING, NvmlHandles, told

MIB = 1 << 20
TICKS_PER_S = 100
"""Clock ticks of /proc: 100 to the second on every Linux."""
PER_CENT_MILLI = 10
SETTLE_S = 0.5
"""Least time between two looks at CPU time of which a rate is made."""
STALE_S = 10.0
"""A look that is older says nothing about now."""


class GpuUse(Struct, frozen=True):
    """One GPU now; None = the driver does not report it.

    Attributes:
        busy_milli: time in which a kernel ran, in thousandths.
        memory_mib, memory_total_mib: memory in use, and all of it.
        power_mw, power_limit_mw: power drawn, and the limit in force.
        processes: process id -> memory that it uses in MiB; None = not known.
    """

    busy_milli: int | None = None
    memory_mib: int | None = None
    memory_total_mib: int | None = None
    power_mw: int | None = None
    power_limit_mw: int | None = None
    processes: dict[int, int | None] = field(default_factory=dict)


class TreeUse(Struct, frozen=True):
    """All processes below one.

    Attributes:
        pids: their process ids, the root's excluded.
        cpu_milli: thousandths of a core in use; None = unknown.
        memory_mib: resident memory.
    """

    pids: frozenset[int]
    cpu_milli: int | None
    memory_mib: int


class UseReader:
    """Reads again and again; safe from any thread.

    Args:
        nvml: the NVML binding.
        clock: the steady one measures rates.
    """

    def __init__(
        self,
        nvml: Any = BINDING,  # noqa: ANN401 - a module without types
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._nvml, self._handles, self._clock = nvml, NvmlHandles(nvml), clock
        self._lock = threading.Lock()
        self._before: dict[int, float] = {}
        self._at = float("-inf")

    def gpus(self, uuids: Sequence[str]) -> list[GpuUse]:
        """GPUs by the vendor's identifiers; one without, as pretend GPUs are, is unknown."""
        with self._lock:
            return [self._gpu(uuid) if uuid else GpuUse() for uuid in uuids]

    def _gpu(self, uuid: str) -> GpuUse:
        nvml = self._nvml
        try:
            handle = self._handles.of(uuid)
        except nvml.NVMLError:
            return GpuUse()
        rates = self._told(nvml.nvmlDeviceGetUtilizationRates, handle)
        memory = self._told(nvml.nvmlDeviceGetMemoryInfo, handle)
        return GpuUse(
            None if rates is None else int(rates.gpu) * PER_CENT_MILLI,
            None if memory is None else memory.used // MIB,
            None if memory is None else memory.total // MIB,
            self._told(nvml.nvmlDeviceGetPowerUsage, handle),
            self._told(nvml.nvmlDeviceGetEnforcedPowerLimit, handle),
            {
                each.pid: None if each.usedGpuMemory is None else each.usedGpuMemory // MIB
                for each in self._told(nvml.nvmlDeviceGetComputeRunningProcesses, handle) or ()
            },
        )

    def _told(self, question: Any, handle: Any) -> Any:  # noqa: ANN401 - a module without types
        """The answer to a question; None where the driver or the model does not report it."""
        return told(self._nvml, question, handle)

    def trees(self, roots: Collection[int]) -> dict[int, TreeUse]:
        """What the processes below these use; one that is gone is left out.

        CPU is a rate since the look before; where that is too long ago, this takes half a second.
        """
        with self._lock:
            if self._clock.monotonic() - self._at > STALE_S or not set(roots) <= set(self._before):
                self._look(roots)
            rest = self._at + SETTLE_S - self._clock.monotonic()
            if roots and rest > 0:
                self._clock.sleep(rest)
            before, since = self._before, self._at
            found = self._look(roots)
            span = self._at - since
            return {
                root: TreeUse(pids, _rate(before.get(root), cpu_s, span), rss // MIB)
                for root, (pids, cpu_s, rss) in found.items()
            }

    def _look(self, roots: Collection[int]) -> dict[int, tuple[frozenset[int], float, int]]:
        """Per root its descendants with their CPU time and memory; remembers the CPU time."""
        tasks = _tasks() if roots else {}
        self._at = self._clock.monotonic()
        children = host.children(tasks.values())
        found = {}
        for root in roots:
            if root in tasks:
                below = host.below(root, children)
                mine = [tasks[pid] for pid in (root, *below)]
                memory = sum(tasks[pid].pages for pid in below) * os.sysconf("SC_PAGE_SIZE")
                found[root] = below, sum(task.ticks for task in mine) / TICKS_PER_S, memory
        self._before = {root: cpu_s for root, (_, cpu_s, _) in found.items()}
        return found


def _rate(before: float | None, now: float, span_s: float) -> int | None:
    """Thousandths of a core; unknown where a process took its time along as it ended."""
    if before is None or span_s <= 0 or now < before:
        return None
    return round(1000 * (now - before) / span_s)


def _tasks() -> dict[int, host.Task]:
    """Every process; none where the machine does not say."""
    try:
        return {task.pid: task for task in host.tasks()}
    except OSError:
        return {}
