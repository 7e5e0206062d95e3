"""Which whole GPUs the pods of attempts have alone, by node."""

from collections.abc import Iterator
from typing import NamedTuple

from ganglion.model.fleet.node import Node
from ganglion.model.placement import PodPlacement
from ganglion.model.resources import WHOLE
from ganglion.worlds.kubernetes.cluster_view.attempt import Attempt
from ganglion.worlds.kubernetes.controller_state.controller_state import ControllerState


class HeldGpus(NamedTuple):
    """What one attempt has alone on one node.

    Attributes:
        gang: whose attempt it is.
        attempt: its number.
        node: as the engine names it.
        pods: namespaces and names of its pods there.
        gpus: how many GPUs these have.
    """

    gang: str
    attempt: int
    node: str
    pods: frozenset[tuple[str, str]]
    gpus: int


def held_gpus(scene: ControllerState) -> list[HeldGpus]:
    """What the pods of all attempts have that are bound; parts of GPUs are left out."""
    return [held for each in scene.attempts.by_gang.values() for held in _of(scene, each)]


def _of(scene: ControllerState, attempt: Attempt) -> Iterator[HeldGpus]:
    site, nodes = scene.sites.get(attempt.cluster), scene.state.fleet.nodes
    pods, gpus = dict[str, set[tuple[str, str]]](), dict[str, int]()
    for place, uid in attempt.pods.items() if site else ():
        placed, pod = attempt.places.get(place), site.pods.get(uid) if site else None
        if not (placed and pod) or uid not in attempt.bound:
            continue
        if _is_whole(placed, nodes.get(placed.node)):
            meta = pod.metadata
            pods.setdefault(placed.node, set()).add((meta.namespace, meta.name))
            gpus[placed.node] = gpus.get(placed.node, 0) + len(placed.devices)
    for node, names in pods.items():
        yield HeldGpus(attempt.gang, attempt.number, node, frozenset(names), gpus[node])


def _is_whole(placed: PodPlacement, node: Node | None) -> bool:
    """Whether each device of a pod is known to be a GPU that it has alone."""
    if node is None or not placed.devices or placed.milli != WHOLE:
        return False
    parts = node.parts
    return all(device >= len(parts) or parts[device] == WHOLE for device in placed.devices)
