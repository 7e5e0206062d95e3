"""What the controller asks to be written, and the answers that it gets."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from msgspec import Struct

from ganglion.model.causes import Cause
from ganglion.worlds.kubernetes.workload_discovery.found import GangOwner
from ganglion.worlds.kubernetes.write_rules.series import About


class Seat(Struct, frozen=True):
    """One pod's place within its gang."""

    pod_set: str
    index: int


class PodRef(Struct, frozen=True):
    """A pod as it was seen: one that was made again under its name is another."""

    cluster: str
    namespace: str
    name: str
    uid: str


class BindPod(Struct, frozen=True):
    """Bind one pod.

    Attributes:
        pod: which.
        node: name in the cluster.
        devices: indexes of devices to record; empty = the kubelet's device plugin chooses.
        gated: whether another scheduler binds it once its gate is lifted.
    """

    pod: PodRef
    node: str
    devices: tuple[int, ...] = ()
    gated: bool = False


class Bind(Struct, frozen=True):
    """Bind pods of a gang."""

    gang: str
    attempt: int
    pods: tuple[BindPod, ...]


class ClaimRef(Struct, frozen=True):
    """A claim as it was seen."""

    namespace: str
    name: str
    uid: str
    version: str


class ChooseNode(Struct, frozen=True):
    """Say on a claim for which node its volume is to be made, before its pod is bound.

    Attributes:
        gang: whose claim.
        attempt: of which attempt.
        pod: that mounts it.
        claim: which; only if it is still as it was seen.
        node: name in the cluster.
    """

    gang: str
    attempt: int
    pod: PodRef
    claim: ClaimRef
    node: str


class VolumeRef(Struct, frozen=True):
    """A volume as it was seen.

    Attributes:
        name, uid, version: of the volume.
        is_reserved: whether it names the claim already, without its UID.
    """

    name: str
    uid: str
    version: str
    is_reserved: bool = False


class BindVolume(Struct, frozen=True):
    """Write a claim on the volume that it is to be bound to, before its pod is bound.

    Attributes:
        gang: whose claim.
        attempt: of which attempt.
        pod: that mounts it.
        claim: which.
        volume: which; only if it is still as it was seen.
    """

    gang: str
    attempt: int
    pod: PodRef
    claim: ClaimRef
    volume: VolumeRef


class Nominate(Struct, frozen=True):
    """Say on the pods of a gang where they are going to run; "" = nowhere any more."""

    gang: str
    nodes: tuple[tuple[PodRef, str], ...]


class Evict(Struct, frozen=True):
    """Have pods leave.

    Attributes:
        gang: whose pods.
        attempt: of which attempt.
        pods: which.
        cause: why, as written for the pods' owner.
        beneficiary: gang that gets the place; empty = none.
        owner: suspended meanwhile, where its kind can be.
        grace_s: how long their checkpoint takes; 0 = they have none.
    """

    gang: str
    attempt: int
    pods: tuple[PodRef, ...]
    cause: Cause
    beneficiary: str = ""
    owner: GangOwner | None = None
    grace_s: int = 0


class Spare(Struct, frozen=True):
    """Take the mark of a victim back."""

    gang: str
    pods: tuple[PodRef, ...]


class Unsuspend(Struct, frozen=True):
    """Let the owner of pods that we had suspended make them anew."""

    gang: str
    cluster: str
    owner: GangOwner


class Say(Struct, frozen=True):
    """Say on pods why they wait."""

    gang: str
    pods: tuple[PodRef, ...]
    message: str


class Note(Struct, frozen=True):
    """Record an event about an object."""

    cluster: str
    regarding: About
    reason: str
    action: str
    message: str
    warning: bool = False


class Describe(Struct, frozen=True):
    """Change the status of an object.

    Attributes:
        cluster: where it is.
        path: of the object.
        version: resourceVersion that the change was worked out for; another one is left alone.
        patch: of the status, as a merge patch (RFC 7386).
    """

    cluster: str
    path: str
    version: str
    patch: Mapping[str, Any]


Order = (
    Bind | ChooseNode | BindVolume | Nominate | Evict | Spare | Unsuspend | Say | Note | Describe
)


class How(StrEnum):
    """What became of the binding of one pod."""

    BOUND = "bound"
    GONE = "gone"
    GATED = "gated"
    ELSEWHERE = "elsewhere"
    REFUSED = "refused"
    UNKNOWN = "unknown"


class BindDone(Struct, frozen=True):
    """What became of a `Bind`: pod uid -> (how, message)."""

    gang: str
    attempt: int
    pods: dict[str, tuple[How, str]]


class EvictDone(Struct, frozen=True):
    """All pods of an `Evict` are being evicted, or are gone."""

    gang: str
    attempt: int


class EvictBlocked(Struct, frozen=True):
    """A disruption budget keeps pods from being evicted; it is tried again."""

    gang: str
    attempt: int
    message: str


Answer = BindDone | EvictDone | EvictBlocked


class ObjectChanged(Struct, frozen=True):
    """An object as it is now; `item` None = it is gone."""

    cluster: str
    kind: str
    uid: str
    item: Any
