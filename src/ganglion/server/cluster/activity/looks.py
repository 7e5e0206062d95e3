"""From what exporters say of GPUs to looks at the attempts that have them alone."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from ganglion.lifecycle.workspaces.dcgm import Device
from ganglion.lifecycle.workspaces.gpus import GpuFigures
from ganglion.metering.activity import (
    COUNTER,
    UTILISATION,
    ActivityInterval,
    AttemptLook,
    attempt_look,
)
from ganglion.model.fleet.node import Node
from ganglion.model.placement import PodPlacement
from ganglion.model.resources import WHOLE
from ganglion.worlds.kubernetes.cluster_view.attempt import Attempt
from ganglion.worlds.kubernetes.controller_state.controller_state import ControllerState

Said = Mapping[Device, GpuFigures]
"""What the exporter of a node says, by device."""


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


def looks(held: Iterable[HeldGpus], said: Mapping[str, Said]) -> Iterator[AttemptLook]:
    """What is known of the GPUs that attempts have alone.

    A GPU is an attempt's where its exporter names one pod as its user, and that is one of the
    attempt's. Where an exporter names more GPUs than the pods have, all of them are unknown.

    Args:
        held: what attempts have.
        said: by node, as the engine names it; those that say nothing are left out.
    """
    for each in held:
        found = {
            uuid: figures
            for (uuid, part), figures in said.get(each.node, {}).items()
            if not part and len(figures.pods) == 1 and figures.pods <= each.pods
        }
        if 0 < len(found) <= each.gpus:
            names = (each.gang, each.gang, each.attempt, "", "", each.node)
            of = ActivityInterval(0, 0, "", "", *names)
            yield attempt_look(of, found, UTILISATION, COUNTER)
