"""The openb lists of nodes and pods: Alibaba GPU trace v2023 (Weng et al., USENIX ATC'23)."""

from pathlib import Path

from ganglion.model.errors import FieldError, FileError
from ganglion.model.fleet.node import Device, Node
from ganglion.model.resources import WHOLE, GpuRequest, PodRequest
from ganglion.model.workload import Gang, PodSet
from ganglion.worlds.simulated.job import SimJob
from ganglion.worlds.simulated.readers.text import CsvTable, Row

NODE_COLUMNS = ("sn", "cpu_milli", "memory_mib", "gpu", "model")
POD_COLUMNS = ("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli")
TIMES = ("creation_time", "deletion_time", "scheduled_time")
SECOND_MS = 1000


def is_nodes(columns: list[str]) -> bool:
    """Whether a heading is that of a node list."""
    return set(NODE_COLUMNS) <= set(columns)


def is_pods(columns: list[str]) -> bool:
    """Whether a heading is that of a pod list."""
    return set(POD_COLUMNS) <= set(columns)


def read_nodes(path: Path) -> list[Node]:
    """Read a node list (`sn, cpu_milli, memory_mib, gpu, model`).

    Args:
        path: CSV file, gzipped or not.

    Returns:
        Nodes in the order of the file.

    Raises:
        FileError: unreadable, empty, or a column is missing.
        FieldError: a value cannot be used, or a node is named twice.
    """
    table = CsvTable(path)
    places = {name: table.find((name,), name) for name in NODE_COLUMNS}
    nodes: dict[str, Node] = {}
    for row in table:
        node = _node(row, places)
        if node.name in nodes:
            raise FieldError(f"node {node.name} is there twice", file=str(path), line=row.line)
        nodes[node.name] = node
    if not nodes:
        raise FileError(f"{path} holds no nodes")
    return list(nodes.values())


def _node(row: Row, places: dict[str, int]) -> Node:
    count = row.number(places["gpu"], "gpu")
    model = row.text(places["model"])
    if count and not model:
        raise FieldError("GPUs without a model", key="model", file=str(row.path), line=row.line)
    return Node(
        name=row.text(places["sn"]),
        cpu_milli=row.number(places["cpu_milli"], "cpu_milli"),
        memory_mib=row.number(places["memory_mib"], "memory_mib"),
        devices=(Device(type=model),) * count,
    )


def read_pods(path: Path, *, queue: str = "default") -> list[SimJob]:
    """Read a pod list; each pod is a job of its own.

    A pod runs for `deletion_time - scheduled_time` seconds (from `creation_time` where it was
    never scheduled). Lists without times (multigpu) arrive one pod per second and stay for ever.
    `gpu_milli` is per GPU and below 1000 only where `num_gpu` is 1; `gpu_spec` lists the
    allowed models, as `V100M16|V100M32`.

    Args:
        path: CSV file, gzipped or not.
        queue: queue of all pods.

    Returns:
        Jobs by submit time, then by row.

    Raises:
        FileError: unreadable, empty, or a column is missing.
        FieldError: a value cannot be used; names file, line and column.
    """
    reader = _Pods(CsvTable(path), queue)
    jobs = [reader.job(row) for row in reader.table]
    if not jobs:
        raise FileError(f"{path} holds no pods")
    return sorted(jobs, key=lambda job: job.gang.submitted)


class _Pods:
    """Knows where the columns of one pod list are."""

    def __init__(self, table: CsvTable, queue: str) -> None:
        self.table, self.queue = table, queue
        self.places = {name: table.find((name,), name) for name in POD_COLUMNS}
        self.spec = table.maybe(("gpu_spec",))
        times = [table.maybe((name,)) for name in TIMES]
        self.times = [place for place in times if place is not None] if None not in times else []
        self._sets: dict[tuple[int, int, int, int, str], tuple[PodSet, ...]] = {}

    def job(self, row: Row) -> SimJob:
        submitted, duration = self._span(row)
        workload = f"{row.text(self.places['name'])}-{row.line - 1}"
        gang = Gang(
            id=f"{workload}/0",
            workload=workload,
            queue=self.queue,
            pod_sets=self._pod_sets(row),
            submitted=submitted,
        )
        return SimJob(gang, duration)

    def _span(self, row: Row) -> tuple[int, int | None]:
        if not self.times:
            return (row.line - 2) * SECOND_MS, None
        # an empty scheduled_time means that the pod was never scheduled
        created, deleted = (
            row.number(place, name) for place, name in zip(self.times[:2], TIMES[:2], strict=True)
        )
        placed = row.text(self.times[2])
        begun = row.number(self.times[2], TIMES[2]) if placed else created
        return created * SECOND_MS, max(deleted - begun, 0) * SECOND_MS

    def _pod_sets(self, row: Row) -> tuple[PodSet, ...]:
        cpu, memory, count, milli = (
            row.number(self.places[name], name) for name in POD_COLUMNS[1:]
        )
        milli = min(milli, WHOLE)
        if count and not milli:
            raise FieldError("0 of a GPU", key="gpu_milli", file=str(row.path), line=row.line)
        if count > 1 and milli < WHOLE:
            raise FieldError(
                "a share of more than one GPU", key="gpu_milli", file=str(row.path), line=row.line
            )
        key = (cpu, memory, count, milli, row.text(self.spec))
        if key not in self._sets:
            self._sets[key] = (PodSet(request=_request(*key)),)
        return self._sets[key]


def _request(cpu: int, memory: int, count: int, milli: int, spec: str) -> PodRequest:
    types = tuple(spec.split("|")) if spec else ()
    gpu = GpuRequest(count=count, milli=milli, types=types) if count else GpuRequest()
    return PodRequest(cpu_milli=cpu, memory_mib=memory, gpu=gpu)
