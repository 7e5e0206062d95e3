"""Where a pod's volumes let it run."""

from collections.abc import Iterator

from msgspec import Struct

from ganglion.worlds.kubernetes.feasibility.clauses import NODE_NAME, Clause, Clauses
from ganglion.worlds.kubernetes.feasibility.volume_matching import (
    ANYWHERE,
    NONE,
    VolumeCandidates,
    candidates_of,
    reach_of,
)
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
        waiting: claims (`namespace/name`) that wait for their first consumer; the pod is bound
            when they are bound.
    """

    clauses: Clauses = ()
    trouble: str = ""
    waiting: tuple[str, ...] = ()


class Delayed(Struct, frozen=True):
    """How a claim that waits for its first consumer gets a volume.

    Attributes:
        candidates: volumes that exist and suit it.
        made: what a node has to be like for a volume to be made for it; None = none is made.
    """

    candidates: VolumeCandidates
    made: Clauses | None

    def clauses(self) -> Clauses:
        """What a node has to be like for either."""
        there = self.candidates.clause
        if self.made is None:
            return (there,)
        return tuple((*there, *each) for each in self.made)


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
    reach = reach_of(volume)
    return Pins((*((reach,) if reach != ANYWHERE else ()), *_zones_of(volume)))


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
    key, how = claim.metadata.key, delayed(claim, volumes)
    if how is None:
        return Pins(trouble=f"claim {key} is not bound yet")
    if how.made is None and not how.candidates.clause:
        return Pins(trouble=f"no free volume of class {claim.storage_class} suits claim {key}")
    return Pins(how.clauses(), "", (key,))


def delayed(claim: PersistentVolumeClaim, volumes: Volumes) -> Delayed | None:
    """How a claim gets a volume; None = it does not wait for its first consumer.

    The volume of one that names a node already is made there.

    Raises:
        InputError: a size is no quantity.
    """
    key, made_by = claim.metadata.key, volumes.classes.get(claim.storage_class)
    if claim.spec.volume_name or made_by is None:
        return None
    if made_by.volume_binding_mode != "WaitForFirstConsumer":
        return None
    selected, failed = claim.metadata.annotations.get(SELECTED_NODE), volumes.given_up(key)
    there = NONE if selected else candidates_of(claim, volumes)
    if made_by.provisioner in ("", BY_HAND):
        return Delayed(there, None)
    node = (_name("In", (selected,)),) if selected else (_name("NotIn", failed),) if failed else ()
    return Delayed(there, (*node, *_made_where(made_by), *_room_for(claim, made_by, volumes)))


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
