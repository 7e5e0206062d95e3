"""Nodes of the clusters, brought to the engine's notice."""

from collections.abc import Iterator

from msgspec.structs import replace

from ganglion.engine.state.cluster_state import ClusterState
from ganglion.model.events import NodeAdded, NodeLost
from ganglion.model.fleet.node import Node
from ganglion.worlds.kubernetes.cluster_view.cluster_view import ClusterView
from ganglion.worlds.kubernetes.cluster_view.orders import Note
from ganglion.worlds.kubernetes.controller_state.controller_state import ControllerState
from ganglion.worlds.kubernetes.names import SET_APART
from ganglion.worlds.kubernetes.write_rules.series import About


def describe_nodes(scene: ControllerState, now: int) -> None:
    """Send the engine every node whose description may have changed."""
    for site in scene.sites.values():
        site.images.settle()
        # The engine's tree is built anew once after nodes have moved: compare first, then send.
        for event in [*_seen(scene, site, now)]:
            scene.facts.apply(event)
        site.changed_nodes.clear()
        if site.renew_catalog():
            scene.gangs.touched.update(_waiting(scene, site))


def _seen(scene: ControllerState, site: ClusterView, now: int) -> Iterator[NodeAdded | NodeLost]:
    """What has changed about the nodes of a cluster."""
    state = scene.state
    for name in sorted(site.changed_nodes):
        full = site.prefix + name
        node = _described(scene, site, name)
        if node is None:
            if full in state.fleet.tree.index:
                yield NodeLost(now, full)
            continue
        shut = scene.quarantine.reason(full, now)
        node = replace(node, cordoned=node.cordoned or shut) if shut else node
        if not _is_known(state, node):
            yield NodeAdded(now, node)


def _described(scene: ControllerState, site: ClusterView, name: str) -> Node | None:
    """A node; one that cannot be described is closed, and stays what it was as far as is known."""
    full = site.prefix + name
    try:
        node = site.described(name, _ours(scene.state, site, full))
    except Exception as error:
        before = scene.facts.apart.get(("node", full))
        why = scene.facts.failed("node", full, error)
        if why != before:
            _tell(scene, site, name, why)
        return replace(_as_known(scene.state, full), cordoned=f"set apart: {why}")
    scene.facts.understood("node", full)
    return node


def _as_known(state: ClusterState, name: str) -> Node:
    is_known = name in state.fleet.tree.index and not state.fleet.tree.is_gone(name)
    return state.fleet.tree.node(name) if is_known else Node(name, 0, 0)


def _tell(scene: ControllerState, site: ClusterView, name: str, why: str) -> None:
    about = About("v1", "Node", "", name, site.nodes[name].metadata.uid)
    message = f"no pods are placed on it: {why}"
    scene.orders.append(Note(site.name, about, SET_APART, "Evaluating", message, True))


def _waiting(scene: ControllerState, site: ClusterView) -> list[str]:
    """Gangs of a cluster that have no place yet: they may fit other devices than before."""
    return [
        gang
        for gang in scene.gangs.founds
        if gang not in scene.attempts.by_gang and scene.site_of(gang) is site
    ]


def _ours(state: ClusterState, site: ClusterView, node: str) -> dict[int, str]:
    """Devices that our gangs hold or are promised on a node, and what they are asked by."""
    if node not in state.fleet.tree.index:
        return {}
    resources = site.resources(node.removeprefix(site.prefix))
    held = {device for pod in state.holdings.present_on(node) for device in pod.devices}
    return {each: resources[each] if each < len(resources) else "" for each in sorted(held)}


def _is_known(state: ClusterState, node: Node) -> bool:
    name = node.name
    return (
        name in state.fleet.tree.index
        and not state.fleet.tree.is_gone(name)
        and state.fleet.tree.node(name) == node
    )
