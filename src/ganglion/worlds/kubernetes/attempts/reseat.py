"""Other places for pods whose node does not take them any more, so that none is sent back there.

A pod that was refused, or evicted from a node that is being drained, is made again by its owner.
Its place is kept for it, but not on a node that is closed by then.
"""

from collections.abc import Iterable

from ganglion.engine.upkeep.replace_pods import elsewhere
from ganglion.model.causes import Cause, CauseKind, sentence
from ganglion.model.events import GangResized
from ganglion.worlds.kubernetes.cluster_view.attempt import Attempt, Place
from ganglion.worlds.kubernetes.controller_state.controller_state import ControllerState
from ganglion.worlds.kubernetes.workload_discovery.found import FoundGang


def is_astray(scene: ControllerState, attempt: Attempt, found: FoundGang | None) -> bool:
    """Whether a pod was refused, or another waits for a place on a closed node."""
    if attempt.refused:
        return True
    closed = any(_is_closed(scene, attempt.places[each].node) for each in attempt.vacant)
    return closed and found is not None and _somebody_waits(scene, found)


def reseat(scene: ControllerState, attempt: Attempt, now: int) -> str:
    """Give vacant places on closed nodes up for others.

    A node that refused once may have been busy; it is closed when it has done so repeatedly.
    Where no pod of the gang sits anywhere, all of it is placed anew.

    Returns:
        Why the gang cannot go on as it sits; empty = it can.
    """
    if not attempt.pods:
        refused = _names(attempt, attempt.refused or attempt.vacant)
        return f"its pods may not go back to {', '.join(refused)}"
    lost = {each for each in attempt.vacant if _is_closed(scene, attempt.places[each].node)}
    record = scene.record(attempt.gang)
    if not lost or record is None or record.placement is None:
        return ""
    pods = tuple(pod for pod in record.placement.pods if (pod.pod_set, pod.index) in lost)
    place = elsewhere(scene.state, record, pods)
    cause = Cause(CauseKind.NODES_CLOSED, nodes=_names(attempt, lost))
    if place is None:
        return f"{sentence(cause)}, and there is no other place for those pods alone"
    scene.facts.apply(GangResized(now, attempt.gang, attempt.number, place, cause))
    attempt.resize(place)
    return ""


def _names(attempt: Attempt, places: Iterable[Place]) -> tuple[str, ...]:
    return tuple(sorted({attempt.places[each].node for each in places}))


def _somebody_waits(scene: ControllerState, found: FoundGang) -> bool:
    return any(
        each.pod.metadata.uid not in scene.attempts.seated
        and not each.pod.spec.node_name
        and not each.pod.is_leaving
        for each in found.members
    )


def _is_closed(scene: ControllerState, node: str) -> bool:
    """Lost nodes are not: the engine repairs what was on them."""
    tree = scene.state.fleet.tree
    return node in tree.index and not tree.is_gone(node) and bool(tree.node(node).cordoned)
