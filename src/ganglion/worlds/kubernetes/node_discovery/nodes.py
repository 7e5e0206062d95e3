"""A node of a cluster as the model sees it."""

from collections.abc import Collection, Iterator, Mapping

from msgspec import Struct

from ganglion.model.fleet.levels import Level
from ganglion.model.fleet.node import Node
from ganglion.worlds.kubernetes.gpu_discovery import dra
from ganglion.worlds.kubernetes.gpu_discovery.devices import DeviceLayout, lay_out
from ganglion.worlds.kubernetes.gpu_discovery.foreign import ForeignUse
from ganglion.worlds.kubernetes.gpu_discovery.kinds import model_of
from ganglion.worlds.kubernetes.gpu_discovery.numbers import amount
from ganglion.worlds.kubernetes.gpu_discovery.stock import WHOLE_GPUS, GpuOffer, offer_of
from ganglion.worlds.kubernetes.node_discovery.openness import why_closed, why_doubtful
from ganglion.worlds.kubernetes.node_discovery.topology import (
    DISCOVERED,
    TopologySources,
    domains_of,
)
from ganglion.worlds.kubernetes.types import node as objects
from ganglion.worlds.kubernetes.types.bounds import CPU_MILLI, MEMORY_MIB, PODS, QUANTITY, within
from ganglion.worlds.kubernetes.types.pod import Quantities
from ganglion.worlds.kubernetes.types.quantity import MIB


class Deficit(Struct, frozen=True):
    """By how much what is in use exceeds what a node has.

    Attributes:
        cpu_milli, memory_mib, pods: taken by others beyond what pods may have.
        gpus: resource -> devices in use, by us or by others, beyond those that work; sorted.
    """

    cpu_milli: int = 0
    memory_mib: int = 0
    pods: int = 0
    gpus: tuple[tuple[str, int], ...] = ()


class Described(Struct, frozen=True):
    """A node, and what its description does not hold.

    Attributes:
        node: what our pods may have of it, in use by them or not.
        resources: for each device, the resource that pods ask for it by.
        deficit: what is missing where too much is in use.
        troubles: what a person should know, in plain words.
    """

    node: Node
    resources: tuple[str, ...] = ()
    deficit: Deficit = Deficit()
    troubles: tuple[str, ...] = ()


def describe(
    node: objects.Node,
    held: ForeignUse,
    ours: Mapping[int, str],
    labels: Mapping[str, str],
    cluster: str = "",
    *,
    sources: TopologySources = DISCOVERED,
    published: dra.Published = dra.NOTHING,
    domains: dict[Level, str] | None = None,
    counted: Collection[str] = (),
) -> Described:
    """Describe a node of a cluster.

    Args:
        node: as the API server has it.
        held: what pods that are not ours take of it.
        ours: index -> resource (as `nvidia.com/gpu`, the default for an empty one) of the
            devices that our pods hold; what is in use stays described whatever becomes of it.
        labels: what the model's node has for labels.
        cluster: name of its cluster; empty = it is the only one.
        sources: where levels of the topology are read from.
        published: devices of dynamic resource allocation in the cluster.
        domains: what `place_of` says, where the caller knows it already.
        counted: extended resources besides GPUs that our pods ask for; no other is described.

    Raises:
        InputError: a quantity of the node is none, or out of bounds.
    """
    name = node.metadata.name
    known = {index: resource or WHOLE_GPUS for index, resource in ours.items()}
    claims = published.counts.get(name, {})
    offer = offer_of(node, held, tuple(known.values()), claims)
    layout = lay_out(offer.stocks, known)
    cpu, memory, pods = _left(node.status.allocatable, held)
    described = Node(
        name=name,
        cpu_milli=max(0, cpu),
        memory_mib=_alike(max(0, memory), amount(node.status.allocatable.get("memory", 0)) // MIB),
        devices=layout.devices,
        domains=place_of(node, cluster, sources, published) if domains is None else domains,
        labels=dict(labels),
        max_pods=max(0, pods),
        cordoned=why_closed(node),
        extras=_extras(node.status.allocatable, held, counted),
        parts=layout.parts,
    )
    deficit = Deficit(max(0, -cpu), max(0, -memory), max(0, -pods), layout.deficit)
    troubles = _troubles(node, offer, layout, deficit, claims)
    return Described(described, layout.resources, deficit, tuple(troubles))


def place_of(
    node: objects.Node,
    cluster: str = "",
    sources: TopologySources = DISCOVERED,
    published: dra.Published = dra.NOTHING,
) -> dict[Level, str]:
    """The domains that a node lies in, as its labels and drivers say."""
    return domains_of(
        published.attributes.get(node.metadata.name, {}) | node.metadata.labels,
        cluster=cluster,
        spans_nodes=model_of(node.metadata.labels).spans_nodes,
        is_azure=node.spec.provider_id.startswith("azure:"),
        sources=sources,
    )


def _left(allocatable: Quantities, held: ForeignUse) -> tuple[int, int, int]:
    """CPU in milli, memory in MiB and pod slots that others leave; negative when they use more."""
    cpu = within("its CPU in milli", amount(allocatable.get("cpu", 0), 1000), CPU_MILLI)
    memory = within("its memory in MiB", amount(allocatable.get("memory", 0)) // MIB, MEMORY_MIB)
    pods = within("its pod slots", amount(allocatable.get("pods", 0)), PODS)
    return cpu - held.ask.cpu_milli, memory - held.ask.memory_mib, pods - held.pods


def _extras(allocatable: Quantities, held: ForeignUse, counted: Collection[str]) -> dict[str, int]:
    """What others leave of extended resources."""
    taken = dict(held.ask.extras)
    left = {name: amount(allocatable.get(name, 0)) - taken.get(name, 0) for name in sorted(counted)}
    return {name: within(name, most, QUANTITY) for name, most in left.items() if most > 0}


def _alike(free: int, total: int) -> int:
    """Round memory down by at most a thousandth of all, to a power of two.

    Equal machines differ by a few MiB, and the engine is quicker the fewer kinds of node it sees.
    """
    grain = 1 << max(0, (total // 1024).bit_length() - 1)
    return free - free % grain


def _troubles(
    node: objects.Node,
    offer: GpuOffer,
    layout: DeviceLayout,
    deficit: Deficit,
    claims: Mapping[str, int],
) -> Iterator[str]:
    name = node.metadata.name
    yield from (f"node {name}: {each}" for each in offer.troubles)
    doubt = why_doubtful(node)
    if doubt:
        yield f"node {name}: {doubt}"
    for resource, missing in layout.deficit:
        yield f"node {name}: {missing} more {resource} in use than work; which have died is unknown"
    for resource in offer.unknown_parts():
        yield f"node {name}: {resource} counts as a whole GPU in usage: its part of one is unknown"
    short = _short(deficit)
    if short:
        yield f"node {name}: others use {short} more than pods may have"
    if claims:
        yield f"node {name}: {dra.told(claims)}"


def _short(deficit: Deficit) -> str:
    parts = [
        f"{deficit.cpu_milli}m CPU" if deficit.cpu_milli else "",
        f"{deficit.memory_mib} MiB of memory" if deficit.memory_mib else "",
        f"{deficit.pods} pod slots" if deficit.pods else "",
    ]
    return ", ".join(part for part in parts if part)
