"""SparkApplications: a driver, and the executors it asks for."""

import re
from collections.abc import Mapping
from typing import Any

from msgspec import structs

from ganglion.model.errors import FieldError
from ganglion.model.workload import Kind
from ganglion.worlds.kubernetes import markers
from ganglion.worlds.kubernetes.types.meta import Anything
from ganglion.worlds.kubernetes.types.pod import Container, ContainerResources, Pod
from ganglion.worlds.kubernetes.types.quantity import MIB
from ganglion.worlds.kubernetes.workload_kinds import reading
from ganglion.worlds.kubernetes.workload_kinds.shape import (
    ANYWHERE,
    ClaimedSeat,
    Family,
    KindView,
    SetShape,
    of_count,
)

DRIVER, EXECUTOR = "driver", "executor"

_SIZE = re.compile(r"(\d+)([kmgtp]?)b?", re.IGNORECASE)
_BYTES: Mapping[str, int] = {
    "": 1,
    "k": 1 << 10,
    "m": 1 << 20,
    "g": 1 << 30,
    "t": 1 << 40,
    "p": 1 << 50,
}
_PLACING = ("tolerations", "affinity")
_LEAST_OVERHEAD_MIB = 384
_OVERHEAD_PERCENT = 10
"""Spark's defaults for what a JVM needs beyond its heap (its page Running on Kubernetes)."""


def sets(view: KindView) -> list[SetShape]:
    """The driver at once; a place for the executors, which it asks for when it runs."""
    owner = view.owner
    executor = _pod(owner, EXECUTOR)
    count, least = _executors(owner)
    workers = structs.replace(of_count(EXECUTOR, count, executor, least), upfront=0, strict=False)
    return [of_count(DRIVER, 1, _pod(owner, DRIVER)), workers]


def _executors(owner: Anything) -> tuple[int, int]:
    instances = reading.number(reading.branch(owner, EXECUTOR), "instances", 1, "spec.executor")
    where = "spec.dynamicAllocation"
    dynamic = reading.branch(owner, "dynamicAllocation")
    if dynamic.get("enabled") is not True:
        return instances, instances
    least = reading.number(dynamic, "minExecutors", 0, where)
    begin = max(reading.number(dynamic, "initialExecutors", instances, where), least)
    return max(reading.number(dynamic, "maxExecutors", begin, where), begin), least


def _pod(owner: Anything, role: str) -> Pod:
    """The driver, or an executor, as it is going to be made: its size, and where it may run."""
    found, where = reading.branch(owner, role), f"spec.{role}"
    pod = reading.template(found.get("template"), f"{where}.template")
    own = {key: found[key] for key in _PLACING if found.get(key)}
    common = reading.branch(owner, "nodeSelector")
    own["nodeSelector"] = {**common, **reading.inside(found, where, "nodeSelector")}
    said = reading.template({"spec": own}, where).spec
    main = Container(resources=ContainerResources(requests=_requests(found, where)))
    spec = structs.replace(
        pod.spec,
        containers=(main, *pod.spec.containers[1:]),
        node_selector={**pod.spec.node_selector, **said.node_selector},
        tolerations=(*pod.spec.tolerations, *said.tolerations),
        affinity=said.affinity or pod.spec.affinity,
    )
    return structs.replace(pod, spec=spec)


def _requests(found: dict[str, Any], where: str) -> dict[str, str | int]:
    """What Spark asks for."""
    memory = _mib(reading.text(found, "memory", where) or "1g", f"{where}.memory")
    given = reading.text(found, "memoryOverhead", where)
    overhead = _mib(given, f"{where}.memoryOverhead") if given else _default_overhead(memory)
    requests: dict[str, str | int] = {
        "cpu": reading.text(found, "coreRequest", where)
        or reading.number(found, "cores", 1, where),
        "memory": f"{memory + overhead}Mi",
    }
    gpu = reading.inside(found, where, "gpu")
    if gpu:
        requests[reading.text(gpu, "name", where)] = reading.number(gpu, "quantity", 0, where)
    return requests


def _default_overhead(memory: int) -> int:
    return max(memory * _OVERHEAD_PERCENT // 100, _LEAST_OVERHEAD_MIB)


def _mib(text: str, where: str) -> int:
    match = _SIZE.fullmatch(text.strip().removesuffix("i"))
    if not match:
        raise FieldError(f"{text!r} is no size", key=where, hint="write it as 4g or 512m")
    return -(-int(match[1]) * _BYTES[match[2].lower()] // MIB)


def seat(pod: Pod, _below: tuple[Anything, ...]) -> ClaimedSeat:
    """By role; executors are numbered from 1, and new ones get new numbers."""
    if pod.metadata.labels.get(markers.SPARK_ROLE) == EXECUTOR:
        return ClaimedSeat(EXECUTOR, ANYWHERE)
    return ClaimedSeat(DRIVER, 0)


FAMILY = Family(Kind.BATCH, sets, seat)
