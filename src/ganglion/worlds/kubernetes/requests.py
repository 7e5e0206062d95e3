"""What a pod takes of a node, computed as kubelets and the default scheduler do.

Containers run beside each other, init containers one after the other before them, sidecars
(init containers that stay) from their turn on. A pod takes the most that it needs at any time,
plus the overhead of its runtime. While a resize is under way it takes the larger of what it
wants and what it has.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache

from msgspec import Struct, json

from ganglion.worlds.kubernetes.gpu_resources import is_gpu_resource
from ganglion.worlds.kubernetes.types.meta import Condition
from ganglion.worlds.kubernetes.types.pod import (
    Container,
    ContainerResources,
    ContainerStatus,
    Pod,
    PodSpec,
    PodStatus,
    Quantities,
)
from ganglion.worlds.kubernetes.types.quantity import MIB, milli, units

PENDING = "PodResizePending"
"""Type of the condition of a pod of which a resize is not carried out."""

Amounts = dict[str, int]
"""Resource name -> thousandths of a core for `cpu`, bytes or devices for everything else."""


class Ask(Struct, frozen=True):
    """What pods take of a node.

    Attributes:
        cpu_milli: thousandths of a core.
        memory_mib: host memory, rounded up.
        gpu_resource: name of the resource that GPUs are asked by; empty without GPUs.
        gpus: how many of those.
        extras: sorted (name, amount) of everything else, in bytes or devices, without zeros.
            A second GPU resource is found here.
    """

    cpu_milli: int = 0
    memory_mib: int = 0
    gpu_resource: str = ""
    gpus: int = 0
    extras: tuple[tuple[str, int], ...] = ()

    def gpus_by_resource(self) -> Amounts:
        """Every GPU resource asked for, with how many."""
        found = {name: amount for name, amount in self.extras if is_gpu_resource(name)}
        if self.gpu_resource:
            found[self.gpu_resource] = self.gpus
        return found


def ask_of(pod: Pod) -> Ask:
    """What one pod takes.

    Raises:
        InputError: a quantity is none.
    """
    return _ask_of(json.encode(taking(pod)))


@lru_cache(maxsize=16_384)
def _ask_of(written: bytes) -> Ask:
    """What pods take that say this: nearly all of a cluster come from few templates."""
    return _ask(amounts_of(json.decode(written, type=Pod)))


def taking(pod: Pod) -> Pod:
    """A pod with nothing but what says what it takes, resizes included."""
    spec, status = pod.spec, pod.status
    pending = pod.condition(PENDING) if status.conditions else None
    return Pod(
        spec=PodSpec(
            containers=spec.containers,
            init_containers=spec.init_containers,
            overhead=spec.overhead,
            resources=spec.resources,
        ),
        status=PodStatus(
            conditions=(Condition(PENDING, reason=pending.reason),) if pending else (),
            container_statuses=_given(status.container_statuses),
            init_container_statuses=_given(status.init_container_statuses),
            allocated_resources=status.allocated_resources,
            resources=status.resources,
        ),
    )


def asks_otherwise(before: Pod, now: Pod) -> bool:
    """Whether anything has changed that what a pod takes is read from, resizes included."""
    return taking(before) != taking(now)


def _given(statuses: tuple[ContainerStatus, ...]) -> tuple[ContainerStatus, ...]:
    return tuple(
        ContainerStatus(
            name=each.name, allocated_resources=each.allocated_resources, resources=each.resources
        )
        for each in statuses
        if each.allocated_resources or each.resources
    )


def plus(one: Ask, other: Ask) -> Ask:
    """Both together; the GPU resource that comes first by name stays in its own field."""
    extras = dict(one.extras)
    for name, amount in (*other.extras, *_gpus(one), *_gpus(other)):
        extras[name] = extras.get(name, 0) + amount
    cpu_milli = one.cpu_milli + other.cpu_milli
    return _divided(cpu_milli, one.memory_mib + other.memory_mib, extras)


def amounts_of(pod: Pod) -> Amounts:
    """What one pod takes, resource by resource."""
    spec, status = pod.spec, pod.status
    stuck = _cannot_resize(pod)
    each = [_of_container(c, status.container_statuses, stuck) for c in spec.containers]
    found = _largest(_sum(each), _starting(pod, stuck))
    if spec.resources:
        found |= _of_whole(pod, spec.resources, found, stuck)
    return _sum((found, _parsed(spec.overhead))) if spec.overhead else found


def _starting(pod: Pod, stuck: bool) -> tuple[Amounts, Amounts]:
    """The most needed while init containers run, and what sidecars keep beside the others."""
    statuses = pod.status.init_container_statuses
    most: Amounts = {}
    staying: Amounts = {}
    for container in pod.spec.init_containers:
        now = _sum((staying, _of_container(container, statuses, stuck)))
        if container.restart_policy == "Always":
            staying = now
        most = _most(most, now)
    return most, staying


def _largest(running: Amounts, starting: tuple[Amounts, Amounts]) -> Amounts:
    most, staying = starting
    return _most(_sum((running, staying)), most) if most else running


def _of_container(
    container: Container, statuses: tuple[ContainerStatus, ...], stuck: bool
) -> Amounts:
    wanted = _wanted(container.resources)
    for each in statuses:
        if each.name == container.name:
            return _held(wanted, each.allocated_resources, each.resources, stuck)
    return wanted


def _of_whole(pod: Pod, asked: ContainerResources, containers: Amounts, stuck: bool) -> Amounts:
    """What is asked for the pod as a whole, which outranks the sum of its containers."""
    wanted = _parsed(asked.requests)
    for name, limit in _parsed(asked.limits).items():
        shared = name in containers and not name.startswith("hugepages-")
        wanted.setdefault(name, containers[name] if shared else limit)
    status = pod.status
    held = _held(wanted, status.allocated_resources, status.resources, stuck)
    return {name: amount for name, amount in held.items() if _is_of_whole(name)}


def _is_of_whole(name: str) -> bool:
    return name in ("cpu", "memory") or name.startswith("hugepages-")


def _wanted(asked: ContainerResources) -> Amounts:
    """Requests; where there is none, the limit is one."""
    if not asked.limits:
        return _parsed(asked.requests)
    return {**_parsed(asked.limits), **_parsed(asked.requests)}


def _held(
    wanted: Amounts, allocated: Quantities, actual: ContainerResources | None, stuck: bool
) -> Amounts:
    """The larger of what is wanted and what the kubelet has given.

    A resize that the kubelet found impossible (`stuck`) does not count as wanted.
    """
    given = _parsed(allocated)
    if actual:
        given = _most(given, _parsed(actual.requests))
    if not given:
        return wanted
    return given if stuck else _most(wanted, given)


def _cannot_resize(pod: Pod) -> bool:
    pending = pod.condition(PENDING) if pod.status.conditions else None
    return pending is not None and pending.reason == "Infeasible"


def _parsed(quantities: Quantities) -> Amounts:
    return {name: _amount(name == "cpu", quantity) for name, quantity in quantities.items()}


@lru_cache(maxsize=65_536)
def _amount(is_cpu: bool, quantity: str | int) -> int:
    return milli(quantity) if is_cpu else units(quantity)


def _sum(parts: Iterable[Mapping[str, int]]) -> Amounts:
    total: Amounts = {}
    for part in parts:
        for name, amount in part.items():
            total[name] = total.get(name, 0) + amount
    return total


def _most(one: Amounts, other: Amounts) -> Amounts:
    return {name: max(one.get(name, 0), other.get(name, 0)) for name in {**one, **other}}


def _ask(amounts: Amounts) -> Ask:
    others = {name: many for name, many in amounts.items() if name not in ("cpu", "memory")}
    memory = -(-amounts.get("memory", 0) // MIB)
    return _divided(amounts.get("cpu", 0), memory, others)


def _divided(cpu_milli: int, memory_mib: int, others: Amounts) -> Ask:
    """With the first GPU resource set apart from the others."""
    asked = sorted((name, amount) for name, amount in others.items() if amount)
    resource, gpus = next((each for each in asked if is_gpu_resource(each[0])), ("", 0))
    extras = tuple(each for each in asked if each[0] != resource)
    return Ask(cpu_milli, memory_mib, resource, gpus, extras)


def _gpus(ask: Ask) -> tuple[tuple[str, int], ...]:
    return ((ask.gpu_resource, ask.gpus),) if ask.gpu_resource else ()
