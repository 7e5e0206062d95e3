"""Telling the provisioner of a claim on which node its volume is going to be used."""

from typing import Protocol

from ganglion.worlds.kubernetes.feasibility.volumes import SELECTED_NODE
from ganglion.worlds.kubernetes.http.client import Api
from ganglion.worlds.kubernetes.http.errors import Conflict
from ganglion.worlds.kubernetes.http.patches import Patch
from ganglion.worlds.kubernetes.writes.calls import PACE, Pace, settle
from ganglion.worlds.kubernetes.writes.outcome import Identity, Outcome, Verdict


class Claim(Identity, Protocol):
    """A claim as it was seen."""

    @property
    def version(self) -> str:
        """Its resource version then."""


async def choose_node(api: Api, claim: Claim, node: str, pace: Pace = PACE) -> Outcome:
    """Write the node on a claim that names none.

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
    is_another = False

    async def write() -> None:
        nonlocal is_another
        try:
            await api.patch(path, body, Patch.MERGE)
        except Conflict:
            is_another = True

    async def look() -> Outcome | None:
        return None  # written twice it is refused, as the first time made it another

    outcome = await settle(write, look, pace)
    return Outcome(Verdict.UNCHANGED) if is_another else outcome
