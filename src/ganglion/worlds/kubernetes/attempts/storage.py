"""Volumes that are made once a node is chosen: no pod of a gang is bound before all are there.

Where they are going to run is written on all pods first, so that another scheduler could go on.
Then the node is written on each claim, its provisioner makes the volume, and the claim is bound.
A provisioner that cannot make it there takes the node off the claim again: the gang is put
elsewhere then.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from ganglion.worlds.kubernetes.cluster_view.attempt import Attempt
from ganglion.worlds.kubernetes.cluster_view.cluster_view import ClusterView
from ganglion.worlds.kubernetes.cluster_view.context import Context
from ganglion.worlds.kubernetes.cluster_view.orders import BindPod, ChooseNode, ClaimRef, Nominate
from ganglion.worlds.kubernetes.feasibility.pins import pins_of
from ganglion.worlds.kubernetes.feasibility.volumes import SELECTED_NODE, is_bound
from ganglion.worlds.kubernetes.types.storage import PersistentVolumeClaim


class _Due(Struct, frozen=True):
    """A claim that has to be bound before a pod."""

    claim: PersistentVolumeClaim
    pod: BindPod


def are_made(scene: Context, attempt: Attempt, pods: Sequence[BindPod], now: int) -> bool:
    """Whether all volumes of these pods are there; where not, have them made."""
    due, flaws = _due(scene.sites[attempt.cluster], pods)
    attempt.claims = {key: attempt.claims.get(key, now) for key in (*due, *flaws)}
    if due:
        _nominate(scene, attempt, {each.pod.uid: each.node for each in pods})
    for key, each in due.items():
        if _is_to_be_told(attempt, key, each):
            meta = each.claim.metadata
            attempt.chosen[key] = meta.resource_version
            ref = ClaimRef(meta.namespace, meta.name, meta.uid, meta.resource_version)
            order = ChooseNode(attempt.gang, attempt.number, each.pod.pod, ref, each.pod.node)
            scene.orders.append(order)
    return not attempt.claims


def trouble(scene: Context, attempt: Attempt, now: int) -> str:
    """Why the volumes of an attempt will not be made; empty = they may be."""
    site = scene.sites[attempt.cluster]
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


def _nominate(scene: Context, attempt: Attempt, nodes: Mapping[str, str]) -> None:
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


def _due(site: ClusterView, pods: Sequence[BindPod]) -> tuple[dict[str, _Due], list[str]]:
    """Claims that are yet to be bound, and what is wrong with others.

    Those of pods behind a gate are left to the scheduler that binds the pods.
    """
    found: dict[str, _Due] = {}
    flaws: list[str] = []
    for each in pods:
        pod = site.pods.get(each.pod.uid)
        if pod is None or each.gated or not pod.spec.volumes:
            continue
        pins = pins_of(pod, site.volumes)
        flaws += [pins.trouble] if pins.trouble else []
        for key in pins.waiting:
            found.setdefault(key, _Due(site.volumes.claims[key], each))
    return found, flaws


def _is_to_be_told(attempt: Attempt, key: str, due: _Due) -> bool:
    """Whether a claim names no node, and no node was written on its present version."""
    meta = due.claim.metadata
    if SELECTED_NODE in meta.annotations or key in attempt.taken:
        return False
    return attempt.chosen.get(key) != meta.resource_version
