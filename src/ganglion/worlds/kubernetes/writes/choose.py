"""Claims that wait for their first consumer: naming their node, or the volume they are to have."""

from collections.abc import Mapping
from typing import Any, Protocol

from ganglion.worlds.kubernetes.feasibility.volumes import BOUND_BY_CONTROLLER, SELECTED_NODE
from ganglion.worlds.kubernetes.http.client import Api
from ganglion.worlds.kubernetes.http.errors import ObjectConflict
from ganglion.worlds.kubernetes.http.patches import Patch
from ganglion.worlds.kubernetes.writes.calls import PACE, RetryPace, settle
from ganglion.worlds.kubernetes.writes.outcome import Identity, WriteOutcome, WriteVerdict


class SeenClaim(Identity, Protocol):
    """A claim as it was seen."""

    @property
    def version(self) -> str:
        """Its resource version then."""


class SeenVolume(Protocol):
    """A volume as it was seen."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def uid(self) -> str:
        """What tells it from those that had its name before."""

    @property
    def version(self) -> str:
        """Its resource version then."""

    @property
    def is_reserved(self) -> bool:
        """Whether it names the claim already, without its UID."""


async def choose_node(
    api: Api, claim: SeenClaim, node: str, pace: RetryPace = PACE
) -> WriteOutcome:
    """Write the node on a claim that names none: its provisioner makes the volume there.

    Args:
        api: the cluster's.
        claim: as it was seen; when it has changed since, nothing is written.
        node: name in the cluster.
        pace: how hard to try.

    Returns:
        DONE; UNCHANGED when the claim is another by now, which the watch of claims will show;
        GONE; REFUSED.
    """
    about = {"uid": claim.uid, "resourceVersion": claim.version}
    body = {"metadata": {**about, "annotations": {SELECTED_NODE: node}}}
    path = f"/api/v1/namespaces/{claim.namespace}/persistentvolumeclaims/{claim.name}"
    return await _change(api, path, body, pace)


async def bind_volume(
    api: Api, volume: SeenVolume, claim: SeenClaim, pace: RetryPace = PACE
) -> WriteOutcome:
    """Write a claim on a volume: Kubernetes' own controller binds the two.

    Args:
        api: the cluster's.
        volume: as it was seen; when it has changed since, nothing is written.
        claim: that is to have it.
        pace: how hard to try.

    Returns:
        DONE; UNCHANGED when the volume is another by now, which the watch of volumes will show;
        GONE; REFUSED.
    """
    meta: dict[str, Any] = {"uid": volume.uid, "resourceVersion": volume.version}
    if not volume.is_reserved:  # the controller takes back what no person wrote
        meta["annotations"] = {BOUND_BY_CONTROLLER: "yes"}
    reference = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "namespace": claim.namespace,
        "name": claim.name,
        "uid": claim.uid,
        "resourceVersion": claim.version,
    }
    body = {"metadata": meta, "spec": {"claimRef": reference}}
    return await _change(api, f"/api/v1/persistentvolumes/{volume.name}", body, pace)


async def _change(api: Api, path: str, body: Mapping[str, Any], pace: RetryPace) -> WriteOutcome:
    """Patch an object that names its version."""
    is_another = False

    async def write() -> None:
        nonlocal is_another
        try:
            await api.patch(path, body, Patch.MERGE)
        except ObjectConflict:
            is_another = True

    async def look() -> WriteOutcome | None:
        return None  # written twice it is refused, as the first time made it another

    outcome = await settle(write, look, pace)
    return WriteOutcome(WriteVerdict.UNCHANGED) if is_another else outcome
