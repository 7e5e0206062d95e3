"""Where a pod's volumes let it run."""

from collections.abc import Iterator

from msgspec import Struct

from ganglion.worlds.kubernetes.feasibility.clauses import NODE_NAME, Clause, Clauses, clause_of
from ganglion.worlds.kubernetes.feasibility.volumes import (
    SELECTED_NODE,
    Mount,
    Volumes,
    is_bound,
    mounts_of,
)
from ganglion.worlds.kubernetes.selectors import in_order, selector_of
from ganglion.worlds.kubernetes.types.meta import Requirement
from ganglion.worlds.kubernetes.types.pod import Pod
from ganglion.worlds.kubernetes.types.quantity import units
from ganglion.worlds.kubernetes.types.storage import (
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)

BY_HAND = "kubernetes.io/no-provisioner"
"""Provisioner of classes whose volumes people make."""

_OLD_ZONE = "failure-domain.beta.kubernetes.io/"
_NEW_ZONE = "topology.kubernetes.io/"
_ZONES = tuple(
    f"{prefix}{name}" for prefix in (_OLD_ZONE, _NEW_ZONE) for name in ("zone", "region")
)


class Pins(Struct, frozen=True):
    """What the volumes of a pod demand.

    Attributes:
        clauses: what a node has to be like.
        trouble: why the pod cannot start anywhere now; empty = nothing.
        waiting: claims (`namespace/name`) whose volumes are made once they have the annotation
            `volume.kubernetes.io/selected-node`; the pod is bound when they are bound.
    """

    clauses: Clauses = ()
    trouble: str = ""
    waiting: tuple[str, ...] = ()


def pins_of(pod: Pod, volumes: Volumes) -> Pins:
    """What the volumes of a pod demand now."""
    clauses: list[Clause] = []
    waiting: list[str] = []
    for mount in mounts_of(pod):
        claim = volumes.claims.get(mount.claim)
        trouble = _unusable(pod, mount, claim)
        if not trouble and claim:
            pins = _bound(claim, volumes) if is_bound(claim) else _unbound(claim, volumes)
            clauses.extend(pins.clauses)
            waiting.extend(pins.waiting)
            trouble = pins.trouble
        if trouble:
            return Pins(trouble=trouble)
    return Pins(tuple(clauses), "", tuple(waiting))


def _unusable(pod: Pod, mount: Mount, claim: PersistentVolumeClaim | None) -> str:
    """Why a claim cannot be used, bound or not."""
    if claim is None:
        return f"claim {mount.claim} does not exist"
    if claim.status.phase == "Lost":
        return f"claim {mount.claim} has lost its volume {claim.spec.volume_name}"
    if claim.metadata.deletion_timestamp:
        return f"claim {mount.claim} is being deleted"
    owner = claim.metadata.controller
    if mount.own and (owner is None or owner.uid != pod.metadata.uid):
        return f"claim {mount.claim} belongs to another owner"
    return ""


def _bound(claim: PersistentVolumeClaim, volumes: Volumes) -> Pins:
    volume = volumes.volumes.get(claim.spec.volume_name)
    if volume is None:
        return Pins(trouble=f"volume {claim.spec.volume_name} does not exist")
    affinity = volume.spec.node_affinity
    reach = (clause_of(affinity.required),) if affinity and affinity.required else ()
    return Pins((*reach, *_zones_of(volume)))


def _zones_of(volume: PersistentVolume) -> Iterator[Clause]:
    """Labels of a volume hold for nodes too, unless a node says nothing of zones at all."""
    nowhere = in_order(Requirement(key, "DoesNotExist") for key in _ZONES)
    for key in _ZONES:
        if key in volume.metadata.labels:
            values = tuple(volume.metadata.labels[key].split("__"))
            newer = key.replace(_OLD_ZONE, _NEW_ZONE)
            renamed = (Requirement(key, "DoesNotExist"), Requirement(newer, "In", values))
            yield (nowhere, in_order((Requirement(key, "In", values),)), in_order(renamed))


def _unbound(claim: PersistentVolumeClaim, volumes: Volumes) -> Pins:
    key = claim.metadata.key
    made_by = volumes.classes.get(claim.storage_class)
    waits = made_by is not None and made_by.volume_binding_mode == "WaitForFirstConsumer"
    if made_by is None or not waits or claim.spec.volume_name:
        return Pins(trouble=f"claim {key} is not bound yet")
    if made_by.provisioner in ("", BY_HAND):
        return Pins(
            trouble=f"claim {key} wants a volume that was made by hand, which only the default "
            "scheduler can choose"
        )
    selected, failed = claim.metadata.annotations.get(SELECTED_NODE), volumes.given_up(key)
    node = (_name("In", (selected,)),) if selected else (_name("NotIn", failed),) if failed else ()
    return Pins((*node, *_made_where(made_by), *_room_for(claim, made_by, volumes)), "", (key,))


def _name(operator: str, nodes: tuple[str, ...]) -> Clause:
    return (in_order((Requirement(NODE_NAME, operator, nodes),)),)


def _made_where(made_by: StorageClass) -> Iterator[Clause]:
    """Where the class makes volumes."""
    if made_by.allowed_topologies:
        yield tuple(
            in_order(Requirement(e.key, "In", e.values) for e in term.match_label_expressions)
            for term in made_by.allowed_topologies
        )


def _room_for(
    claim: PersistentVolumeClaim, made_by: StorageClass, volumes: Volumes
) -> Iterator[Clause]:
    """Where there is capacity, for drivers that report it."""
    size = claim.spec.resources.requests.get("storage")
    driver = volumes.drivers.get(made_by.provisioner)
    if size is None or driver is None or not driver.spec.storage_capacity:
        return
    yield tuple(
        selector_of(each.node_topology).requirements
        for _, each in sorted(volumes.capacities.items())
        if each.storage_class_name == made_by.metadata.name
        and each.node_topology is not None
        and _limit(each) >= units(size)
    )


def _limit(capacity: CSIStorageCapacity) -> int:
    """The largest volume that fits, in bytes; -1 = none."""
    for limit in (capacity.maximum_volume_size, capacity.capacity):
        if limit is not None:
            return units(limit)
    return -1
