"""Volumes that are chosen with a node: no pod of a gang is bound before all claims are.

Where they are going to run is written on all pods first, so that another scheduler could go on.
Then either the claim is written on a volume that exists, or the node on the claim: Kubernetes'
own controller binds the two, or the claim's provisioner makes the volume. A provisioner that
cannot make it there takes the node off the claim again, and another claim may have got the volume
meanwhile: the gang is put elsewhere then.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from ganglion.worlds.kubernetes.cluster_view.attempt import Attempt, AttemptStage
from ganglion.worlds.kubernetes.cluster_view.cluster_view import ClusterView
from ganglion.worlds.kubernetes.cluster_view.orders import (
    BindPod,
    BindVolume,
    ChooseNode,
    ClaimRef,
    Nominate,
    VolumeRef,
)
from ganglion.worlds.kubernetes.controller_state.controller_state import ControllerState
from ganglion.worlds.kubernetes.feasibility.clauses import meets
from ganglion.worlds.kubernetes.feasibility.pins import pins_of
from ganglion.worlds.kubernetes.feasibility.volume_matching import names_claim
from ganglion.worlds.kubernetes.feasibility.volumes import SELECTED_NODE, is_bound
from ganglion.worlds.kubernetes.types.storage import PersistentVolume, PersistentVolumeClaim


class _Due(Struct, frozen=True):
    """A claim that has to be bound before a pod, to a volume or, without one, to a new one."""

    claim: PersistentVolumeClaim
    pod: BindPod
    volume: PersistentVolume | None


class _Dues(Struct):
    """What has to be bound before some pods.

    Attributes:
        claims: by key.
        flaws: what is wrong with other claims, and may pass.
        unusable: why volumes cannot be used from the nodes of their pods.
    """

    claims: dict[str, _Due] = field(default_factory=dict)
    flaws: list[str] = field(default_factory=list)
    unusable: list[str] = field(default_factory=list)


def are_made(scene: ControllerState, attempt: Attempt, pods: Sequence[BindPod], now: int) -> bool:
    """Whether all claims of these pods are bound; where not, have them bound."""
    site = scene.sites[attempt.cluster]
    dues = _dues(site, attempt, pods)
    due, flaws = dues.claims, (*dues.flaws, *dues.unusable)
    attempt.unusable = next(iter(dues.unusable), "")
    attempt.claims = {key: attempt.claims.get(key, now) for key in (*due, *flaws)}
    if dues.unusable:
        return False
    if due:
        _nominate(scene, attempt, {each.pod.uid: each.node for each in pods})
    for key, each in due.items():
        if not _is_told(site, attempt, key, each):
            scene.orders.append(_order(attempt, key, each))
    return not attempt.claims


def trouble(scene: ControllerState, attempt: Attempt, now: int) -> str:
    """Why the claims of an attempt will not be bound; empty = they may be."""
    site = scene.sites[attempt.cluster]
    if (
        attempt.unusable and attempt.stage is AttemptStage.BINDING
    ):  # one that runs waits for a while
        _nominate(scene, attempt, dict.fromkeys(attempt.pods.values(), ""))
        return attempt.unusable
    for key, since in sorted(attempt.claims.items()):
        claim = site.volumes.claims.get(key)
        node = claim.metadata.annotations.get(SELECTED_NODE, "") if claim else ""
        if node:
            attempt.taken[key] = node
        elif key in attempt.taken and claim and not is_bound(claim):
            node = attempt.taken[key]
            site.volumes.give_up(key, node, now)
            _nominate(scene, attempt, dict.fromkeys(attempt.pods.values(), ""))
            return f"the volume of claim {key} could not be made for node {node}"
        if now - since >= scene.settings.provision_ms:
            return f"the volume of claim {key} was not made in time" if claim else key
    return ""


def _nominate(scene: ControllerState, attempt: Attempt, nodes: Mapping[str, str]) -> None:
    """Write where pods that are not bound are going to run, unless they say so already."""
    site = scene.sites[attempt.cluster]
    pods = {uid: site.pods[uid] for uid in nodes if uid in site.pods and uid not in attempt.bound}
    told = tuple(
        (site.ref(pod), nodes[uid])
        for uid, pod in pods.items()
        if attempt.nominated.get(uid, pod.status.nominated_node_name) != nodes[uid]
    )
    attempt.nominated.update(nodes)
    if told:
        scene.orders.append(Nominate(attempt.gang, told))


def _dues(site: ClusterView, attempt: Attempt, pods: Sequence[BindPod]) -> _Dues:
    """What has to be bound before some pods.

    Claims of pods behind a gate are left to the scheduler that binds the pods.
    """
    dues = _Dues()
    for each in pods:
        pod = site.pods.get(each.pod.uid)
        if pod is None or each.gated or not pod.spec.volumes:
            continue
        pins = pins_of(pod, site.volumes)
        dues.flaws += [pins.trouble] if pins.trouble else []
        chosen = site.crowd.mounted.choose(pins.waiting, each.node)
        for key in pins.waiting:
            claim = site.volumes.claims[key]
            due = dues.claims.setdefault(key, _Due(claim, each, chosen.volumes.get(key)))
            if key == chosen.lacking and not _is_told(site, attempt, key, due):
                dues.unusable.append(f"no volume is left for claim {key} on node {each.node}")
        view = site.fleet.views.get(each.node)
        if view and not pins.waiting and not meets(pins.clauses, view.labels):
            dues.unusable.append(f"pod {pod.key} cannot use its volumes on node {each.node}")
    return dues


def _is_told(site: ClusterView, attempt: Attempt, key: str, due: _Due) -> bool:
    """Whether a claim has a node or a volume, or is about to: what was written is not seen yet."""
    if SELECTED_NODE in due.claim.metadata.annotations or key in attempt.taken:
        return True
    if due.volume and names_claim(due.volume, due.claim):
        return True
    if key not in attempt.chosen:
        return False
    volume, version = attempt.chosen[key]
    seen = site.volumes.volumes.get(volume) if volume else due.claim
    return seen is not None and seen.metadata.resource_version == version


def _order(attempt: Attempt, key: str, due: _Due) -> BindVolume | ChooseNode:
    """What is to be written so that a claim is bound; only if nothing has changed since."""
    meta, pod = due.claim.metadata, due.pod
    claim = ClaimRef(meta.namespace, meta.name, meta.uid, meta.resource_version)
    if due.volume is None:
        attempt.chosen[key] = "", meta.resource_version
        return ChooseNode(attempt.gang, attempt.number, pod.pod, claim, pod.node)
    own = due.volume.metadata
    attempt.chosen[key] = own.name, own.resource_version
    is_reserved = due.volume.spec.claim_ref is not None
    volume = VolumeRef(own.name, own.uid, own.resource_version, is_reserved)
    return BindVolume(attempt.gang, attempt.number, pod.pod, claim, volume)
