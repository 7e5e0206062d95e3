"""The typical pods, made ready to be compared with many node states at once."""

from collections.abc import Iterable, Sequence

import numpy as np
from msgspec import Struct

from ganglion.engine.plugins.protocols import Ints, NodeClass, Rows, Typical
from ganglion.model.resources import WHOLE, GpuRequest, PodRequest

NEUTRAL: Typical = tuple(
    (PodRequest(gpu=GpuRequest(count=count)), often)
    for count, often in ((1, 8), (2, 4), (4, 2), (8, 1))
)
"""Stands in where no typical GPU pods are known: whole GPUs, equal demand for 1, 2, 4 and 8.

Each takes as much of the CPU and memory of a node as of its GPUs.
"""

NEVER = 1 << 20
"""Thousandths that no device has: the pod may not use this one."""


class Side(Struct):
    """R node states, as they are before or after a pod.

    Attributes:
        class_of: int64[R], node class.
        cpu: int64[R], free thousandths of a core.
        memory: int64[R], free MiB.
        gpu: int64[R, D], free thousandths of each device.
    """

    class_of: Ints
    cpu: Ints
    memory: Ints
    gpu: Ints


def before_and_after(rows: Rows) -> Side:
    """Both sides of the rows in one: R states before, then R after."""
    return Side(
        np.concatenate((rows.class_of, rows.class_of)),
        np.concatenate((rows.cpu_free, rows.cpu_after)),
        np.concatenate((rows.memory_free, rows.memory_after)),
        np.concatenate((rows.gpu_free, rows.gpu_after)),
    )


class TypicalTarget:
    """M typical pods with GPUs, in J forms: what they ask of GPUs, whatever CPU and memory.

    Args:
        typical: (request, how many); `NEUTRAL` is taken where none of them has GPUs.
        classes: all node classes.
        width: D, devices per row.

    Attributes:
        total: how many typical pods there are, those without GPUs included.
        weight, cpu: int64[M], ordered by form.
        cpu_on, memory_on: int64[C, M], asked of a node of each class.
        form: int64[M], form of each.
        starts: int64[J], first pod of each form.
        forms: the forms.
        count: int64[J], devices per pod.
        need: int64[C, J, D], thousandths taken of a device, or `NEVER`.
    """

    def __init__(self, typical: Typical, classes: Sequence[NodeClass], width: int) -> None:
        known = any(request.gpu.count for request, _ in typical)
        typical = typical if known else NEUTRAL
        self.total = sum(often for _, often in typical)
        grouped: dict[GpuRequest, list[tuple[PodRequest, int]]] = {}
        for request, often in typical:
            if request.gpu.count:
                grouped.setdefault(request.gpu, []).append((request, often))
        pods = [each for group in grouped.values() for each in group]
        sizes = [len(group) for group in grouped.values()]
        self.forms = tuple(grouped)
        self.weight = _ints(often for _, often in pods)
        self.cpu = _ints(request.cpu_milli for request, _ in pods)
        self.form = np.repeat(np.arange(len(sizes), dtype=np.int64), sizes)
        memory = _ints(request.memory_mib for request, _ in pods)
        self.starts = np.concatenate(([0], np.cumsum(sizes)[:-1])).astype(np.int64)
        self.count = _ints(form.count for form in self.forms)
        self.cpu_on = np.tile(self.cpu, (len(classes), 1))
        self.memory_on = np.tile(memory, (len(classes), 1))
        if not known:
            devices = self.count[self.form]
            self.cpu_on += _parts((each.cpu_milli for each in classes), classes, devices)
            self.memory_on += _parts((each.memory_mib for each in classes), classes, devices)
        self.need = np.full((len(classes), len(sizes), width), NEVER, dtype=np.int64)
        for number, node in enumerate(classes):
            for index, (kind, size, _, _) in enumerate(node.devices):
                self.need[number, :, index] = [need_on(form, kind, size) for form in self.forms]


def _ints(values: Iterable[int]) -> Ints:
    return np.array(list(values), dtype=np.int64)


def _parts(capacity: Iterable[int], classes: Sequence[NodeClass], devices: Ints) -> Ints:
    """int64[C, M]: of each node's capacity the part that `devices` of its devices are of all."""
    all_devices = _ints(max(len(each.devices), 1) for each in classes)
    part: Ints = _ints(capacity)[:, None] * devices // all_devices[:, None]
    return part


def need_on(form: GpuRequest, kind: str, memory_mib: int) -> int:
    """Thousandths that a pod takes of a device of this kind; `NEVER` where it may not use it."""
    if (form.types and kind not in form.types) or memory_mib < form.min_memory_mib:
        return NEVER
    milli = form.milli_on(memory_mib)
    return milli if milli <= WHOLE else NEVER


class Latest:
    """Makes a `TypicalTarget` anew only when its arguments have changed."""

    def __init__(self) -> None:
        self._typical: Typical | None = None
        self._classes: Sequence[NodeClass] = ()
        self._sizes = (0, 0)
        self._target: TypicalTarget | None = None

    def of(self, typical: Typical, rows: Rows) -> TypicalTarget:
        """The target of these typical pods on the node classes of these rows."""
        sizes = (len(rows.classes), rows.gpu_free.shape[1])
        same = self._typical is typical and self._classes is rows.classes and self._sizes == sizes
        if self._target is None or not same:
            self._target = TypicalTarget(typical, rows.classes, sizes[1])
            self._typical, self._classes, self._sizes = typical, rows.classes, sizes
        return self._target
