"""Where pods that do not exist would start now, or why they would wait."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from ganglion.engine.explain.foretell import Prospect, foretell
from ganglion.engine.state.cluster_state import ClusterState
from ganglion.engine.state.fork import fork
from ganglion.model.errors import InputError, StateError
from ganglion.model.events import NodeAdded
from ganglion.worlds.kubernetes.attempts.admit import beyond_guarantee, gang_for, misfit
from ganglion.worlds.kubernetes.cluster_view.cluster_view import ClusterView
from ganglion.worlds.kubernetes.controller import ClusterController
from ganglion.worlds.kubernetes.controller_state.controller_state import ControllerState
from ganglion.worlds.kubernetes.feasibility_plugin.plugin import TriedGang
from ganglion.worlds.kubernetes.rehearsal.would_be import Body, would_be
from ganglion.worlds.kubernetes.types.meta import Anything, OwnerReference
from ganglion.worlds.kubernetes.types.pod import Pod
from ganglion.worlds.kubernetes.workload_discovery.found import FoundGang
from ganglion.worlds.kubernetes.workload_discovery.grouping import Grouping


class RehearsedObjects(NamedTuple):
    """What would happen to the first gang of objects, and how many gangs they are."""

    prospect: Prospect
    gangs: int


def rehearse(
    controller: ClusterController, objects: Sequence[Body], namespace: str, now: int
) -> RehearsedObjects:
    """Say what would happen to the first gang of objects, by all that the scheduler knows.

    Between turns; the controller and its state are left as they are.

    Args:
        controller: of one cluster.
        objects: Jobs, StatefulSets or Deployments as they would be created, the main one first.
        namespace: of all of them.
        now: the time in ms.

    Raises:
        InputError: an object is malformed, or would never be taken: its queue, what it asks for.
        StateError: the scheduler has several clusters, or does not know yet what is asked for.
    """
    scene = controller.scene
    if len(controller.sites) != 1:
        raise StateError("this scheduler has several clusters, and says nothing of one")
    (site,) = controller.sites.values()
    owners, pods = would_be(objects, namespace)
    founds = _found(site, owners, pods)
    found = founds[0]
    gang_id = site.prefix + found.key
    wrong = found.refused or misfit(scene, site, found) or found.lacking
    if wrong:
        raise InputError(wrong)
    with controller.feasibility.tried(scene, site, gang_id, found, now) as tried:
        gang = gang_for(scene, tried.turn, site, tried.found, now)
        wrong = beyond_guarantee(scene, gang)
        if wrong:
            raise InputError(wrong)
        told = foretell(_state(scene, site, tried, now), gang, now)
    return RehearsedObjects(told, len(founds))


def _found(site: ClusterView, owners: Iterable[Anything], pods: Sequence[Pod]) -> list[FoundGang]:
    """The gangs of pods, the first one first; one at least."""
    known: Mapping[str, Anything] = {each.metadata.uid: each for each in owners}

    def owner(reference: OwnerReference, _namespace: str) -> Anything | None:
        return known.get(reference.uid)

    grouping = Grouping(owner, site.places.meant, instance=site.instance)
    for pod in pods:
        grouping.put(pod)
    founds = [each for key in grouping.all_keys() if (each := grouping.found(key))]
    if not founds:
        raise InputError("none of the pods is one that this scheduler places")
    return sorted(founds, key=lambda each: (each.index, each.key))


def _state(scene: ControllerState, site: ClusterView, tried: TriedGang, now: int) -> ClusterState:
    """The engine's state, with nodes described so that the rules of the gang can be answered."""
    wanted = tried.mentioned
    if not wanted.counted <= site.mentioned.counted:
        names = ", ".join(sorted(wanted.counted - site.mentioned.counted))
        raise StateError(f"no pod has asked for {names} yet, so that it was not counted")
    if site.mentioned.covers(wanted) and tried.barred == site.barred:
        return scene.state
    state = fork(scene.state)
    for name in site.nodes:
        full = site.prefix + name
        if full not in state.fleet.tree.index or state.fleet.tree.is_gone(full):
            continue
        node = state.fleet.tree.node(full)
        labels = site.labels(name, wanted, tried.barred.get(name, frozenset()))
        if labels != node.labels:
            state.apply(NodeAdded(now, replace(node, labels=labels)))
    return state
