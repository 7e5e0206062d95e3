"""Shapes: what one pod needs together with everything that decides where it may go."""

from collections.abc import Hashable

from msgspec import Struct
from msgspec.structs import replace

from ganglion.engine.plugins.protocols import (
    Filter,
    Foreseeing,
    NodeClass,
    Preferring,
    Rank,
    Telling,
)
from ganglion.model.fleet.levels import Level
from ganglion.model.kinds import Weighted
from ganglion.model.resources import WHOLE, GpuRequest, PodRequest
from ganglion.model.workload import Constraints, Gang

SHARED = "*"
"""Tenancy of pods that share their node with pods of any tenant."""


class Shape(Struct, frozen=True, cache_hash=True):
    """Pods of one shape are interchangeable: whatever holds for one holds for all.

    Attributes:
        request: resources of one pod.
        labels, avoid: node labels that must and must not be there.
        residency: allowed regions; empty = any.
        tenancy: who may be beside it: `*`, `kind:<kind>`, `queue:<name>` or `workload:<id>`.
        without: flavors that are out of quota.
        keys: answers of the Filter plugins' `key`, in their order.
        scores: Score plugins that rate nodes for it; empty = those of the policy.
        ranks: ranks of which a node has to have one; empty = any will do.
    """

    request: PodRequest
    labels: tuple[tuple[str, tuple[str, ...]], ...] = ()
    avoid: tuple[tuple[str, tuple[str, ...]], ...] = ()
    residency: tuple[str, ...] = ()
    tenancy: str = SHARED
    without: tuple[str, ...] = ()
    keys: tuple[Hashable, ...] = ()
    scores: tuple[Weighted, ...] = ()
    ranks: tuple[Rank, ...] = ()

    @property
    def shares_a_device(self) -> bool:
        """Whether a pod takes less than a whole device."""
        gpu = self.request.gpu
        return gpu.count == 1 and (gpu.milli < WHOLE or gpu.share_mib > 0)


class View(Struct, frozen=True):
    """One shape looking at one node class.

    Attributes:
        obstacle: why no node of the class will do; empty = it may.
        devices: indexes of the devices it may use.
        milli: thousandths it takes of each device of the class (over 1000: too small).
        passing: whether the obstacle may end by itself.
    """

    obstacle: str
    devices: tuple[int, ...] = ()
    milli: tuple[int, ...] = ()
    passing: bool = False


def shapes_of(
    gang: Gang, filters: tuple[Filter, ...], scores: tuple[Weighted, ...] = ()
) -> tuple[Shape, ...]:
    """The shape of each pod set of a gang, for these Score plugins."""
    rules = gang.constraints
    labels, avoid = _sorted(rules.labels), _sorted(rules.avoid)
    tenancy = _tenancy(gang, rules)
    return tuple(
        Shape(
            each.request,
            labels,
            avoid,
            rules.residency,
            tenancy,
            (),
            tuple(plugin.key(gang, each) for plugin in filters),
            scores,
        )
        for each in gang.pod_sets
    )


def look(shape: Shape, node: NodeClass, filters: tuple[Filter, ...]) -> View:
    """What a shape can use of a node class, and if nothing, why."""
    gpu = shape.request.gpu
    milli = tuple(gpu.milli_on(memory) for _, memory, _, _ in node.devices)
    obstacle, passing = _by_rules(shape, node), False
    if not obstacle:
        obstacle, passing = _by_filters(shape, node, filters)
    if not obstacle and shape.ranks and rank_of(shape, node, filters) not in shape.ranks:
        obstacle = "another node is preferred"
    if obstacle and not passing:
        return View(obstacle, (), milli)
    devices = tuple(
        index
        for index, (kind, memory, _, _) in enumerate(node.devices)
        if gpu.takes(kind, memory) and milli[index] <= WHOLE
    )
    if obstacle:
        return View(obstacle, (), milli, _has_size_for(shape.request, node, devices))
    if not gpu.count:
        return View("", (), milli)
    return View("" if devices else _no_device(gpu, node), devices, milli)


def rank_of(shape: Shape, node: NodeClass, filters: tuple[Filter, ...]) -> Rank:
    """How well nodes of a class suit what pods of a shape prefer, by the first plugin that says."""
    for plugin, asked in zip(filters, shape.keys, strict=True):
        if isinstance(plugin, Preferring):
            return plugin.rank(asked, node)
    return ()


def times(shape: Shape, count: int, together: Level | None) -> Shape:
    """The shape of `count` pods on one node as if they were one pod."""
    request = shape.request
    gpu = request.gpu
    return replace(
        shape,
        request=PodRequest(
            cpu_milli=request.cpu_milli * count,
            memory_mib=request.memory_mib * count,
            gpu=GpuRequest(
                gpu.count * count, gpu.milli, gpu.share_mib, gpu.types, gpu.min_memory_mib
            ),
            together=together or request.together,
            extras=tuple((name, amount * count) for name, amount in request.extras),
        ),
    )


def of_type(shape: Shape, kind: str) -> Shape:
    """The same shape on devices of one type."""
    request = shape.request
    gpu = request.gpu
    narrowed = GpuRequest(gpu.count, gpu.milli, gpu.share_mib, (kind,), gpu.min_memory_mib)
    return replace(shape, request=replace(request, gpu=narrowed))


def excluding(shape: Shape, flavors: tuple[str, ...]) -> Shape:
    """The same shape kept off some flavors."""
    return replace(shape, without=flavors)


def _sorted(labels: dict[str, tuple[str, ...]]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return tuple(sorted(labels.items())) if labels else ()


def _tenancy(gang: Gang, rules: Constraints) -> str:
    if rules.isolation == "queue":
        return f"queue:{gang.queue}"
    if rules.isolation == "workload":
        return f"workload:{gang.workload}"
    if rules.isolation == "kind":
        return f"kind:{gang.kind}"
    return SHARED


def _by_rules(shape: Shape, node: NodeClass) -> str:
    labels = dict(node.labels)
    for key, values in shape.labels:
        if labels.get(key) not in values:
            return f"label {key} is not {' or '.join(values)}"
    for key, values in shape.avoid:
        if labels.get(key) in values:
            return f"label {key} is {labels[key]}"
    if shape.residency and node.region not in shape.residency:
        return f"not in region {' or '.join(shape.residency)}"
    for flavor in _charged(shape.request, node) if shape.without else ():
        if flavor in shape.without:
            return f"flavor {flavor} is out of quota"
    return ""


def _by_filters(shape: Shape, node: NodeClass, filters: tuple[Filter, ...]) -> tuple[str, bool]:
    """What Filter plugins have against a node, and whether all of it may end by itself."""
    obstacle, passing = "", True
    for plugin, asked in zip(filters, shape.keys, strict=True):
        if not plugin.allows(asked, node):
            obstacle = obstacle or _told(plugin, asked, node)
            passing = passing and isinstance(plugin, Foreseeing) and plugin.may_pass(asked, node)
    return obstacle, passing and bool(obstacle)


def _has_size_for(request: PodRequest, node: NodeClass, devices: tuple[int, ...]) -> bool:
    """Whether one pod would have room on an empty node of a class, with these devices."""
    return (
        request.cpu_milli <= node.cpu_milli
        and request.memory_mib <= node.memory_mib
        and request.gpu.count <= len(devices)
        and all(amount <= dict(node.extras).get(name, 0) for name, amount in request.extras)
    )


def _told(plugin: Filter, asked: Hashable, node: NodeClass) -> str:
    """Why a Filter plugin rules a node out, if it can say."""
    if isinstance(plugin, Telling):
        return plugin.why_not(asked, node)
    return f"filter {plugin.name}"


def _charged(request: PodRequest, node: NodeClass) -> tuple[str, ...]:
    """Flavors that a pod on such a node is charged in."""
    if not request.gpu.count:
        return (node.cpu_flavor or node.flavor,)
    if not (request.cpu_milli or request.memory_mib):
        return (node.flavor,)
    return (node.flavor, node.cpu_flavor or node.flavor)


def _no_device(gpu: GpuRequest, node: NodeClass) -> str:
    if not node.devices:
        return "no GPU"
    if gpu.types and not any(kind in gpu.types for kind, _, _, _ in node.devices):
        return f"GPU is not {' or '.join(gpu.types)}"
    return "GPU memory too small"
