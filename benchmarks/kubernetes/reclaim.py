"""Jobs that fill a cluster, and an urgent gang for which half of them are suspended."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from time import monotonic
from typing import Any

from msgspec import Struct

from benchmarks.kubernetes.field import GPUS_PER_NODE, PODS, Field, pod
from benchmarks.kubernetes.rivals import BARE, Rival
from ganglion.model.errors import EnvironmentFault
from ganglion.worlds.kubernetes.http.patches import Patch
from ganglion.worlds.kubernetes.http.reflect import ObjectChange, Reflector
from ganglion.worlds.kubernetes.names import GANG, GANG_SIZE
from ganglion.worlds.kubernetes.types.meta import Anything, Meta, Object

JOBS = "/apis/batch/v1/namespaces/default/jobs"
CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
URGENT = "urgent"
HELD = 4
"""GPUs of one pod of a Job."""
CONTROLLERS = ("--controllers=job-controller", "--concurrent-job-syncs=32")
"""Only that of Jobs, as nodes without kubelets would be taken for lost after 40 s; its default of
5 at once would be what is measured."""
_LIMIT_S = 300.0
_LOOK_S = 0.005
_MANAGER = "kube-controller-manager"

Figures = dict[str, float]


class _Spec(Struct, frozen=True):
    suspend: bool = False


class _Job(Object, frozen=True):
    metadata: Meta
    spec: _Spec


class _Told:
    """What was seen of Jobs and pods, and when.

    Attributes:
        at: name of a Job -> when it was seen suspended, by the monotonic clock.
        names: of all pods that were seen.
        left: when each pod was seen gone.
        nominated: when each pod was seen with a nomination.
    """

    def __init__(self) -> None:
        self.at: dict[str, float] = {}
        self.left: dict[str, float] = {}
        self.nominated: dict[str, float] = {}
        self.names: set[str] = set()

    def jobs(self, changes: list[ObjectChange[_Job]]) -> None:
        now = monotonic()
        for change in changes:
            if change.item and change.item.spec.suspend:
                self.at.setdefault(change.item.metadata.name, now)

    def pods(self, changes: list[ObjectChange[Anything]]) -> None:
        now = monotonic()
        for change in changes:
            if change.item is None:
                continue
            name = change.item.metadata.name
            self.names.add(name)
            if change.kind == "gone":
                self.left.setdefault(name, now)
            elif change.item.status.get("nominatedNodeName"):
                self.nominated.setdefault(name, now)


async def reclaim(field: Field, rival: Rival, nodes: int) -> Figures:
    """A gang asks for half of a cluster that Jobs of a lower priority fill.

    Args:
        field: where.
        rival: who schedules; `bare` suspends the Jobs itself, and binds as soon as pods are gone.
        nodes: how many there are, each with two pods of `HELD` GPUs.

    Returns:
        Seconds from sending the creation of the last pod of the gang: `first_s` and `last_s`
        until the first and the last Job was seen suspended, `gone_s` until the last victim was
        gone, `bound_s` until the last pod of the gang was bound. `victims`: Jobs suspended.
        `cpu_s`: CPU seconds of the scheduler meanwhile.
    """
    await field.clear()
    await _classes(field)
    field.plane.launch(_MANAGER, CONTROLLERS)
    try:
        async with _watching(field) as told:
            process = None if rival.name == BARE else rival.start(field.plane)
            count = nodes * GPUS_PER_NODE // HELD
            await _fill(field, told, rival, count, nodes)
            before = process.cpu_s() if process else 0.0
            asker = _asker(rival, nodes // 2)
            begin = await _submit(field, asker)
            if process is None:
                await _take_back(field, told, asker, count // 2, nodes)
            names = {each["metadata"]["name"] for each in asker}
            await field.all_bound(names, _LIMIT_S, process)
            spent = process.cpu_s() - before if process else 0.0
            return _figures(field, told, names, begin, count) | {"cpu_s": spent}
    finally:
        field.plane.end(rival.name)
        field.plane.end(_MANAGER)
        field.sent = {}  # the pods of Jobs have other names; all go at once


def _figures(field: Field, told: _Told, names: set[str], begin: float, count: int) -> Figures:
    bound = max(field.bound[name] for name in names)
    gone = [at for at in told.left.values() if begin <= at <= bound]
    suspended = sorted(told.at.values())
    if not suspended or count <= len(suspended):
        raise EnvironmentFault(f"{len(suspended)} of {count} Jobs were suspended")
    found = {
        "victims": float(len(suspended)),
        "first_s": suspended[0] - begin,
        "last_s": suspended[-1] - begin,
        "gone_s": max(gone, default=begin) - begin,
        "bound_s": bound - begin,
    }
    if told.nominated:
        found["nominated_s"] = min(told.nominated.values()) - begin
    return found


async def _classes(field: Field) -> None:
    head = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": 1000}
    await field.api.create(CLASSES, {**head, "metadata": {"name": URGENT}})


@asynccontextmanager
async def _watching(field: Field) -> AsyncIterator[_Told]:
    told = _Told()
    watches: Sequence[Reflector[Any]] = (
        Reflector(field.api, JOBS, _Job, told.jobs),
        Reflector(field.api, PODS, Anything, told.pods),
    )
    tasks = [asyncio.create_task(each.run()) for each in watches]
    try:
        yield told
    finally:
        for task in tasks:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


async def _fill(field: Field, told: _Told, rival: Rival, count: int, nodes: int) -> None:
    """Submit Jobs of one pod until every GPU is used."""
    await field.each([_job(f"old-{i}", rival) for i in range(count)], _creating(field, JOBS))
    if rival.name == BARE:
        await _until(lambda: len(told.names) >= count, "pods of Jobs are there")
        await field.bind_names(sorted(told.names), nodes)
    await _until(lambda: len(field.bound) >= count, "Jobs fill the cluster")


def _creating(field: Field, path: str) -> Callable[[dict[str, Any]], Any]:
    return lambda body: field.api.create(path, body)


async def _submit(field: Field, asker: Sequence[dict[str, Any]]) -> float:
    await field.create(asker)
    return max(field.sent[each["metadata"]["name"]] for each in asker)


async def _take_back(
    field: Field, told: _Told, asker: Sequence[dict[str, Any]], count: int, nodes: int
) -> None:
    """Suspend Jobs as fast as the server takes it, and bind the gang once their pods are gone."""
    names = [f"old-{i}" for i in range(count)]

    async def suspend(name: str) -> None:
        body = {"spec": {"suspend": True}}
        await field.api.patch(f"{JOBS}/{name}", body, Patch.MERGE)

    before = len(told.left)
    await field.each(names, suspend)
    await _until(lambda: len(told.left) - before >= count, "victims are gone")
    await field.bind(asker, nodes)


async def _until(is_so: Callable[[], bool], what: str) -> None:
    end = monotonic() + _LIMIT_S
    while not is_so():
        if monotonic() > end:
            raise EnvironmentFault(f"not after {_LIMIT_S:g} s: {what}")
        await asyncio.sleep(_LOOK_S)


def _asker(rival: Rival, count: int) -> list[dict[str, Any]]:
    found = []
    for index in range(count):
        labels, notes = {GANG: "asker"}, {GANG_SIZE: str(count)}
        made = pod(
            f"asker-{index}", rival.scheduler, gpus=GPUS_PER_NODE, labels=labels, annotations=notes
        )
        made["spec"]["priorityClassName"] = URGENT
        found.append(made)
    return found


def _job(name: str, rival: Rival) -> dict[str, Any]:
    template = pod(name, rival.scheduler, gpus=HELD)
    # No kubelet runs here: without a grace period the server lets a pod go by itself.
    spec = template["spec"] | {"restartPolicy": "Never", "terminationGracePeriodSeconds": 0}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"template": {"spec": spec}},
    }
